/* Weight decay: before or after unscaling, in the gradient or decoupled, and for which
   parameters. */
#include "cases/fixture/adam.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>
#include <stdio.h>

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

static const struct hc_case cases[] = {
    {.name = "decay/before-unscaling-is-divided",
     .title = "decay added to the scaled gradient before unscaling is divided by the scale; decay "
              "scaled and added after it is multiplied",
     .source = "Chainer issue 7335, 'Grad is wrong when using WeightDecay of Optimizer Hook and "
               "loss scaling'",
     .run = before_unscaling},
    {.name = "decay/groups",
     .title = "parameter groups: norms and biases decay or do not, weights always do",
     .source = "fastai's bn_wd; fast.ai forums, 'I think to_fp16 behaves in a weird way "
               "internally': OptimWrapper.step",
     .run = groups},
    {.name = "decay/l2-is-not-decoupled-under-adam",
     .title = "Adam with decay in the gradient takes lr a step, AdamW lr wd: 0.9 against 0.999 "
              "after 100 steps",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision': AdamW16 = partial(torch.optim.Adam, ...); Loshchilov "
               "and Hutter, arXiv 1711.05101",
     .run = l2_and_decoupled},
};

HC_CASES(decay_order, cases);
