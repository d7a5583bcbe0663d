/* Weight decay: its order, its factor, and what it does to masters and model. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/adam.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/training/update_fixture.h"

/* Weight decay: before or after unscaling, in the gradient or decoupled, and for which
   parameters. */

/* How much one SGD step of lr 1 at zero gradient, decay 5e-4, takes off w = 1: the decay that the
   weight really got. */
static bool effective(struct hc_check *check, float scale, enum hc_decay decay, double *got)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    struct hc_fixture fixture;
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 5e-4;
    recipe.decay = decay;
    recipe.scaler.initial = scale;
    hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
    hc_fixture_gradients(&fixture, 0);
    hc_fixture_step(&fixture, 1, 0);
    *got = hc_fixture_get(&fixture, HC_STATE_M, 0, 0);
    return hc_fixture_close(&fixture);
}

/* The third arm: a hook multiplies its decay by S to survive a division that has already happened:
   g + S wd w. */
static bool multiplied(struct hc_check *check, double scale, double *got)
{
    struct hc_call call = {.op = HC_OP_axpy, .params.axpy.alpha = scale * 5e-4};
    call.in[HC_X] = hc_check_vector(check, HC_FP32, 1);
    call.in[HC_Y] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_OUT] = hc_check_vector(check, HC_FP32, 1);
    hc_tensor_set(&call.in[HC_X], 0, 1);
    if (hc_do(check, &call) != HC_OK)
        return false;
    *got = hc_tensor_get(&call.out[HC_OUT], 0);
    return true;
}

/* wd, S wd and wd / S as real numbers, one rounding of 2^-24 each for the decay and the product;
   wd / S passes through half as half(wd), 2^-11. */
static void before_unscaling(struct hc_check *check)
{
    static const float scales[] = {512, 65536};
    struct hc_real *wd = hc_real_new(0);
    hc_real_set_text(wd, "5e-4");
    double real = hc_real_double(wd);
    hc_real_free(wd);
    hc_say(check, "decay that reaches the weight, wd = 5e-4");
    hc_say(check, "S        added before unscaling  added after unscaling  S wd added after");
    for (int i = 0; i < 2; i++) {
        double scale = (double)scales[i];
        double before;
        double after;
        double times;
        if (!effective(check, scales[i], HC_DECAY_SCALED, &before) ||
            !effective(check, scales[i], HC_DECAY_L2, &after) || !multiplied(check, scale, &times))
            return;
        char what[3][48];
        (void)snprintf(what[0], sizeof what[0], "S = %g, before: wd / S", scale);
        (void)snprintf(what[1], sizeof what[1], "S = %g, after: wd", scale);
        (void)snprintf(what[2], sizeof what[2], "S = %g, S wd after: S wd", scale);
        hc_say(check, "%-7g  %-22.7g  %-21.7g  %.7g", scale, before, after, times);
        hc_claim_within(check, what[0], real / scale, before, real / scale * ldexp(1, -11));
        hc_claim_within(check, what[1], real, after, real * ldexp(1, -23));
        hc_claim_within(check, what[2], real * scale, times, real * scale * ldexp(1, -23));
    }
}

/* A hundred steps of zero gradients, lr 1e-3, wd 1e-2. Adam divides wd w by its own root mean
   square: steps of lr, whatever wd is. The averages of a gradient that falls from wd to 0.9 wd lie
   in between, so each step is lr times something in [0.9, 1 / 0.9]. AdamW: (1 - 1e-5)^100, 2^-24
   for keep's rounding and each product's. */
static void l2_and_decoupled(struct hc_check *check)
{
    const struct hc_adam params = {
        .beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2, .arithmetic = HC_FP32};
    struct hc_adam_run l2 = {
        .check = check, .op = HC_OP_adam, .params = params, .lr = 1e-3, .beta1 = 0.9, .w = 1};
    struct hc_adam_run decoupled = l2;
    struct hc_adam_run want_l2 = l2;
    decoupled.op = HC_OP_adamw;
    want_l2.check = NULL;
    struct hc_adam_run want_decoupled = decoupled;
    want_decoupled.check = NULL;
    hc_say(check, "step  Adam with wd in the gradient   AdamW");
    for (int step = 1; step <= 100; step++) {
        hc_adam_run_step(&l2, 0);
        hc_adam_run_step(&decoupled, 0);
        hc_adam_run_step(&want_l2, 0);
        hc_adam_run_step(&want_decoupled, 0);
        if (step == 1 || step % 20 == 0)
            hc_say(check, "%4d  %-28.8g   %.8g", step, l2.w, decoupled.w);
    }
    if (l2.failed || decoupled.failed)
        return;
    hc_claim_value(check, "Adam, bit for bit", want_l2.w, l2.w);
    hc_claim_value(check, "AdamW, bit for bit", want_decoupled.w, decoupled.w);
    hc_claim_true(check, "Adam: every step takes about lr", l2.w < 0.91 && l2.w > 1 - 0.1 / 0.9);
    hc_claim_within(check, "AdamW: (1 - lr wd)^100", hc_decayed(1e-3, 1e-2, 100), decoupled.w,
                    100 * ldexp(1, -24));
}

/* Ten AdamW steps of zero gradients at lr 0.1, decay 0.1. A parameter that decays follows 0.99^10;
   one that does not keeps its bytes; with flat masters and with separate ones. */
static void groups_once(struct hc_check *check, bool norms, bool flat)
{
    static const enum hc_role roles[] = {HC_ROLE_WEIGHT, HC_ROLE_BIAS, HC_ROLE_NORM};
    static const char *const names[] = {"weight", "bias", "gamma"};
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    struct hc_fixture fixture;
    recipe.weight_decay = 0.1;
    recipe.decay_norm = norms;
    recipe.apart = !flat;
    recipe.flat = flat;
    hc_fixture_open(&fixture, check);
    for (int i = 0; i < 3; i++)
        hc_fixture_add(&fixture, names[i], roles[i], 3, 1);
    hc_fixture_start(&fixture, &recipe);
    for (int step = 0; step < 10; step++) {
        hc_fixture_gradients(&fixture, 0);
        hc_fixture_step(&fixture, 0.1, 0.9);
    }
    hc_say(check, "%-6s norms and biases %-7s weight %.5f, bias %.5f, gamma %.5f",
           flat ? "flat," : "apart,",
           norms ? "decay:" : "do not:", hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
           hc_fixture_get(&fixture, HC_STATE_MASTER, 1, 0),
           hc_fixture_get(&fixture, HC_STATE_MASTER, 2, 0));
    for (int i = 0; i < 3; i++)
        for (int e = 0; e < 3; e++) {
            double got = hc_fixture_get(&fixture, HC_STATE_MASTER, i, e);
            bool decays = i == 0 || norms;
            if (fixture.failed)
                break;
            hc_claim_within(check, names[i], decays ? hc_decayed(0.1, 0.1, 10) : 1, got,
                            decays ? 10 * ldexp(1, -24) : 0);
        }
    hc_fixture_close(&fixture);
}

static void groups(struct hc_check *check)
{
    for (int arm = 0; arm < 4; arm++)
        groups_once(check, arm & 1, arm & 2);
}

/* The factor 1 - lr * wd in half, and where it is applied. */

enum { STEPS = 10000 };

/* 1 - 1e-3 * 1e-2 as a real number, rounded once. */
static double factor(enum hc_format format)
{
    return hc_decimal(format, "0.99999");
}

/* The weight is multiplied 10^4 times. In fp32 the factor is off by at most 2^-25 and each product
   by 2^-25 of a number below 1. */
static void is_one_in_half(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32};
    struct hc_real *x = hc_real_new(0);
    hc_real_set_text(x, "0.99999");
    hc_real_pow(x, x, STEPS);
    double real = hc_real_double(x);
    hc_real_free(x);
    double w[3];
    struct hc_comparisons tally = {0};
    for (int f = 0; f < 3; f++) {
        struct hc_scalar got = {.check = check, .format = formats[f]};
        struct hc_scalar definition = {.format = formats[f]};
        double want = 1;
        double keep = factor(formats[f]);
        w[f] = 1;
        for (int step = 1; step <= STEPS; step++) {
            want = hc_scalar_mul(&definition, want, keep);
            w[f] = hc_scalar_mul(&got, w[f], keep);
            hc_running_tally_note(&tally, step, want, w[f]);
            if (step % 2500 == 0)
                hc_say(check, "%s step %5d: 1 - lr wd = %.9g, w = %.7g",
                       hc_formats[formats[f]].name, step, keep, w[f]);
        }
        if (got.failed)
            return;
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "half: w after 10^4 steps", 1, w[0]);
    hc_claim_value(check, "bf16: w after 10^4 steps", 1, w[1]);
    hc_claim_within(check, "the real value, as claimed", 0.9048, real, 0.5e-4);
    hc_claim_within(check, "fp32: w after 10^4 steps", real, w[2], STEPS * ldexp(1, -24));
}

/* A hundred steps of zero gradients at lr 0.1, decay 0.1. Buggy arm: the model's copy decays, and
   is overwritten from the masters. Fixed arm: the masters decay by 0.99 each step; the factor and
   each product are off by at most 2^-25. */
static void on_the_copy(struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    double real = hc_decayed(0.1, 0.1, 100);
    recipe.weight_decay = 0.1;
    for (int fixed = 0; fixed < 2; fixed++) {
        struct hc_fixture fixture;
        recipe.decay = fixed ? HC_DECAY_DECOUPLED : HC_DECAY_MODEL;
        hc_fixture_open_weights(&fixture, check, &recipe, 1, 1);
        for (int step = 1; step <= 100; step++) {
            hc_fixture_gradients(&fixture, 0);
            hc_fixture_step(&fixture, 0.1, 0.9);
            if (hc_running_tally_row(step))
                hc_say(check, "decay on the %s, step %3d: master %.8g, model %.8g",
                       fixed ? "masters" : "copy   ", step,
                       hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0));
        }
        double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        double model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
        if (!hc_fixture_close(&fixture))
            return;
        if (fixed)
            hc_claim_within(check, "decay on the masters", real, master, 100 * ldexp(1, -24));
        else
            hc_claim_value(check, "decay on the model's copy: model", 1, model);
    }
}

/* Do masters and model fall out of sync when only the masters decay? */

enum { STEPS_SYNC = 1000, WEIGHTS = 24, NORMS = 8 };

/* How many elements of the model's copy are not the master rounded once into their format. */
static int64_t out_of_sync(struct hc_fixture *fixture, struct hc_comparisons *tally, int64_t step)
{
    int64_t before = tally->wrong;
    for (int i = 0; i < fixture->n; i++) {
        enum hc_format format = hc_update_tensor(fixture->update, HC_STATE_MODEL, i).format;
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++) {
            double master = hc_fixture_get(fixture, HC_STATE_MASTER, i, e);
            double model = hc_fixture_get(fixture, HC_STATE_MODEL, i, e);
            hc_running_tally_note(tally, step, hc_round(format, master), model);
        }
    }
    return tally->wrong - before;
}

/* 1000 steps of AdamW. The forum's code decays the masters. The other arm decays the half copy
   after it was made, which is what it would take to fall out of sync; it uses lr 1e-2 and decay
   0.1, since the factor of lr 1e-3 and decay 1e-2 is 1 in half. */
static struct hc_comparisons train(struct hc_check *check, bool on_copy, double lr, double wd,
                                   bool *failed)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    struct hc_comparisons tally = {0};
    struct hc_fixture fixture;
    uint64_t seed = hc_check_seed(check);
    recipe.weight_decay = on_copy ? 0 : wd;
    hc_fixture_open(&fixture, check);
    hc_fixture_add(&fixture, "conv", HC_ROLE_WEIGHT, WEIGHTS, 0);
    hc_fixture_add(&fixture, "gamma", HC_ROLE_NORM, NORMS, 1);
    for (int e = 0; e < WEIGHTS; e++)
        hc_fixture_set_parameter(&fixture, 0, e, 0.1 * hc_random_normal(seed, 9, (uint64_t)e));
    hc_fixture_start(&fixture, &recipe);
    for (int64_t step = 1; step <= STEPS_SYNC && !fixture.failed; step++) {
        hc_fixture_gradients(&fixture, 1e-3 * hc_random_normal(seed, 10, (uint64_t)step));
        hc_fixture_step(&fixture, lr, 0.9);
        for (int e = 0; step == 1 && e < WEIGHTS && !fixture.failed; e++)
            hc_claim_within(check, "Adam's first step is of the rate's size",
                            0.1 * hc_random_normal(seed, 9, (uint64_t)e),
                            hc_fixture_get(&fixture, HC_STATE_MASTER, 0, e), 4 * lr);
        for (int e = 0; on_copy && e < WEIGHTS; e++)
            hc_fixture_set(&fixture, HC_STATE_MODEL, 0, e,
                           hc_fixture_get(&fixture, HC_STATE_MODEL, 0, e) * (1 - lr * wd));
        int64_t apart = fixture.failed ? 0 : out_of_sync(&fixture, &tally, step);
        if (hc_running_tally_power(step))
            hc_say(check, "%-18s %4lld  %-13.8g %-13.8g %lld of %d",
                   on_copy ? "the copy" : "the masters", (long long)step,
                   hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
                   hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0), (long long)apart,
                   WEIGHTS + NORMS);
    }
    *failed = !hc_fixture_close(&fixture);
    return tally;
}

static void in_sync(struct hc_check *check)
{
    bool failed;
    hc_say(check, "decay on           step  master        model         copies that differ");
    struct hc_comparisons masters = train(check, false, 1e-3, 1e-2, &failed);
    if (failed)
        return;
    struct hc_comparisons copy = train(check, true, 1e-2, 0.1, &failed);
    if (failed)
        return;
    hc_claim_comparisons(check, &masters);
    hc_claim_true(check, "decay on the copy would be seen", copy.wrong > 0);
}

static const struct hc_case cases[] = {
    {"decay/before-unscaling-is-divided",
     "decay added to the scaled gradient before unscaling is divided by the scale; decay scaled "
     "and added after it is multiplied",
     "Chainer issue 7335, 'Grad is wrong when using WeightDecay of Optimizer Hook and loss "
     "scaling'",
     .run = before_unscaling},
    {"decay/groups", "parameter groups: norms and biases decay or do not, weights always do",
     "fastai's bn_wd; fast.ai forums, 'I think to_fp16 behaves in a weird way internally': "
     "OptimWrapper.step",
     .run = groups},
    {"decay/l2-is-not-decoupled-under-adam",
     "Adam with decay in the gradient takes lr a step, AdamW lr wd: 0.9 against 0.999 after 100 "
     "steps",
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision': AdamW16 = partial(torch.optim.Adam, ...); Loshchilov and Hutter, arXiv "
     "1711.05101",
     .run = l2_and_decoupled},
    {"decay/factor-is-one-in-half",
     "1 - 1e-2 * 1e-3 is 1 in half and bf16: 10^4 steps leave 1.0 instead of 0.9048 (fp32 makes it "
     "0.9047)",
     "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': p.data.mul_(1 - wd*lr); "
     "OneTrainer issue 996, 'No weight decay with Adam, bf16 and stochastic rounding'",
     .run = is_one_in_half},
    {"decay/on-the-model-copy-vanishes",
     "decay on the model's copy is overwritten from the masters",
     "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': 'any updates you make "
     "outside of this will be overwritten at on_step_end'",
     .run = on_the_copy},
    {"decay/model-is-half-of-master",
     "with decay on the masters, model == half(master) after each of 1000 steps: the forum's fear "
     "is unfounded",
     "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': 'it will slowly fall "
     "out of sync with the fp16 model'",
     .run = in_sync},
};

HC_CASES(decay_order, cases);
