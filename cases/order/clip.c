/* Clipping and penalties, which need gradients unscaled: what the order does. */
#include <math.h>

#include "cases/fixture/amp.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/scaling.h"
#include "cases/fixture/training/update_fixture.h"

/* Clipping a gradient's norm: before and after unscaling. The norm is that of 16 equal elements, 4
   |g|. */

static void both(struct hc_amp *amp, double g)
{
    for (int p = 0; p < HC_AMP_PARAMETERS; p++)
        hc_amp_backward(amp, 0, p, g);
}

/* The clipped gradient is g most / (norm + 1e-6). In fp32, relative: 16 squares, one sum in some
   order, 16 u, of which the root takes half; the root, its sum with 1e-6, the reciprocal, its
   product with the limit and that with g, u each: 13 u, and u for what is of second order. */
enum { SQUARES = 16, ROUNDINGS = 14 };
static const double norm_error = (SQUARES / 2.0 + 1) * 0x1p-24; /* relative */

static double clipped(double g, double most)
{
    return g * fmin(1, most / (4 * fabs(g) + (double)1e-6F));
}

static void after(struct hc_check *check)
{
    static const double gradients[] = {0.7, 0.1, 1e-5, -0.7};
    for (size_t i = 0; i < sizeof gradients / sizeof gradients[0]; i++) {
        struct hc_amp amp;
        double g = hc_amp_rounded(1024, gradients[i]);
        hc_amp_open(&amp, check, 1024, 2000);
        both(&amp, gradients[i]);
        (void)hc_amp_unscale(&amp, 0);
        double norm = hc_amp_clip(&amp, 0, 1);
        hc_amp_holds(&amp, "step", hc_amp_step(&amp, 0) == HC_OK);
        hc_amp_within(&amp, "the norm", 4 * fabs(g), norm, norm_error * 4 * fabs(g));
        hc_amp_claim_moved(&amp, "the weight", 0, 0, clipped(g, 1), ROUNDINGS);
    }
}

/* S = 65536 / 8, |g| = 1/8, norm 1/2: nothing should be clipped at 1, but the scaled norm is
   4096. */
static void before(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 8192, 2000);
    both(&amp, 0.125);
    double norm = hc_amp_clip(&amp, 0, 1);
    (void)hc_amp_unscale(&amp, 0);
    double g = hc_amp_gradient(&amp, 0, 0);
    hc_amp_within(&amp, "buggy arm: the norm that clipping saw", 4096, norm, 4096 * norm_error);
    hc_amp_within(&amp, "buggy arm: a gradient of 1/8 is left as", clipped(1024, 1) / 8192, g,
                  ROUNDINGS * 0x1p-24 * 0.25 / 8192);
    hc_say(check, "clipped before unscaling: norm %.3g instead of 0.5, too small by %.5g", 4 * g,
           0.125 / g);
    /* divided by the norm and 1e-6, which is less than u of it */
    hc_amp_within(&amp, "buggy arm: too small by", 4096, 0.125 / g,
                  (ROUNDINGS + 1) * 0x1p-24 * 4096);

    hc_amp_open(&amp, check, 8192, 2000);
    both(&amp, 0.125);
    (void)hc_amp_unscale(&amp, 0);
    (void)hc_amp_clip(&amp, 0, 1);
    hc_amp_claim(&amp, "fixed arm: it stays", 0.125, hc_amp_gradient(&amp, 0, 0));
}

/* One factor both clips and unscales, on gradients that are unscaled already. */
static void divided_twice(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 65536, 2000);
    both(&amp, 0.5);
    (void)hc_amp_unscale(&amp, 0);
    (void)hc_amp_clip(&amp, 0, 1.0 / 65536);
    hc_amp_within(&amp, "buggy arm: 1/65536 of the clipped gradient", clipped(0.5, 1) / 65536,
                  hc_amp_gradient(&amp, 0, 0), ROUNDINGS * 0x1p-24 * 0.25 / 65536);
    hc_amp_open(&amp, check, 65536, 2000);
    both(&amp, 0.5);
    (void)hc_amp_unscale(&amp, 0);
    (void)hc_amp_clip(&amp, 0, 1);
    hc_amp_within(&amp, "fixed arm: the clipped gradient", clipped(0.5, 1),
                  hc_amp_gradient(&amp, 0, 0), ROUNDINGS * 0x1p-24 * 0.25);
}

/* An infinite norm gives the factor 0: finite gradients become 0, infinite ones NaN. */
static void infinite(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_backward(&amp, 0, 0, 0.5);
    hc_amp_backward(&amp, 0, 1, 128);
    (void)hc_amp_unscale(&amp, 0);
    double norm = hc_amp_clip(&amp, 0, 1);
    hc_amp_holds(&amp, "the norm is infinite", isinf(norm));
    hc_amp_claim(&amp, "a finite gradient is now", 0, hc_amp_gradient(&amp, 0, 0));
    hc_amp_holds(&amp, "an infinite one is NaN", isnan(hc_amp_gradient(&amp, 0, 1)));
    hc_amp_holds(&amp, "step", hc_amp_step(&amp, 0) == HC_OK);
    hc_amp_claim(&amp, "found before clipping: the weight stays", 0, hc_amp_moved(&amp, 0, 0));
    hc_amp_claim(&amp, "the other too", 0, hc_amp_moved(&amp, 0, 1));

    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_backward(&amp, 0, 0, 0.5);
    hc_amp_backward(&amp, 0, 1, 128);
    amp.guarded = false;
    (void)hc_amp_clip(&amp, 0, 1);
    amp.optimizer[0].stage = HC_AMP_UNSCALED;
    hc_amp_holds(&amp, "step without a look", hc_amp_step(&amp, 0) == HC_OK);
    hc_amp_holds(&amp, "buggy arm, no overflow check: the weight is NaN",
                 isnan(hc_amp_moved(&amp, 0, 1)));
}

/* Clipping in the trainer: between unscaling and the optimizer, over all gradients or over each
   group of parameters. The optimizer is SGD without momentum or decay, whose m is the gradient that
   it gets. */

enum { PARAMETERS = 2 * HC_FIXTURE_LAYERS };

static const float garbage = -431602080; /* bytes of 0xcd, the engine's uninitialised memory */

static struct hc_recipe plain(const char *name, double clip)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    recipe.clip = clip;
    if (recipe.scaler.rule != HC_SCALER_NONE)
        recipe.scaler.initial = 256;
    return recipe;
}

static bool weight(int i)
{
    return i % 2 == 0;
}

/* Weights of 2, norms and biases of 2^-6: every sum of their squares is exact in fp32. */
static double gradient(int i)
{
    return weight(i) ? 2 : 0x1p-6;
}

static void fill(struct hc_fixture *fixture)
{
    for (int i = 0; i < fixture->n && !fixture->failed; i++)
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++)
            hc_fixture_gradient(fixture, i, e, gradient(i));
}

/* The definition, each operation rounded by MPFR: (1 / (sqrt(s) + 1e-6)) * max, 1 where that is
   more. */
static double factor(double squares, double most)
{
    struct hc_scalar scalar = {.format = HC_FP32};
    double d = hc_scalar_add(&scalar, hc_scalar_sqrt(&scalar, squares), (double)1e-6F);
    return fmin(1, hc_scalar_mul(&scalar, hc_scalar_div(&scalar, 1, d), hc_round(HC_FP32, most)));
}

static double clipped_updates(double g, double by)
{
    struct hc_scalar scalar = {.format = HC_FP32};
    return hc_scalar_mul(&scalar, g, by);
}

/* Four layers in three layer groups, counted by hand: floor(3 l / 4). */
static bool together(const struct hc_recipe *r, int i, int k)
{
    static const int part_of[HC_FIXTURE_LAYERS] = {0, 0, 1, 2};
    if (!r->clip_groups)
        return true;
    bool layers = r->group_rates.n == 0 || part_of[i / 2] == part_of[k / 2];
    return layers && (!r->split_bn_bias || weight(i) == weight(k));
}

static double squares_with(struct hc_fixture *fixture, const struct hc_recipe *r, int i)
{
    double sum = 0;
    for (int k = 0; k < PARAMETERS; k++)
        if (together(r, i, k))
            sum += (double)hc_parameter_count(&fixture->parameter[k]) * gradient(k) * gradient(k);
    return sum;
}

static bool clips(struct hc_check *check, const struct hc_recipe *recipe, int *touched)
{
    struct hc_fixture fixture;
    double norm[2] = {0};
    *touched = 0;
    hc_fixture_open_layers(&fixture, check, recipe);
    for (int step = 0; step < 2; step++) {
        fill(&fixture);
        hc_fixture_step(&fixture, 1e-3, 0);
    }
    for (int i = 0; i < fixture.n && !fixture.failed; i++) {
        double squares = squares_with(&fixture, recipe, i);
        double want = clipped_updates(gradient(i), factor(squares, recipe->clip));
        double got = hc_fixture_get(&fixture, HC_STATE_M, i, 0);
        if (i < 2)
            norm[i] = sqrt(squares);
        hc_claim_value(check, "the gradient that the optimizer gets at step 2", want, got);
        *touched += got != gradient(i);
    }
    hc_say(check, "%-18s  %-16s  %-9s  %-12.6g  %.6g", recipe->name,
           recipe->clip_groups ? "each group" : "all together", recipe->group_rates.n ? "3" : "1",
           norm[0], norm[1]);
    return hc_fixture_close(&fixture);
}

/* Clipped over all, and by group. Norms and biases alone are below the limit, and above it together
   with the weights. */
static void by_group(struct hc_check *check)
{
    static const char *const names[] = {"fastai-1.0.61-clip", "amp", "fp32", "apex-O2",
                                        "fastai-004b-flat"};
    hc_say(check, "recipe              clipped to 0.1    layers in  norm that     norm that");
    hc_say(check, "                                      groups     clips weight  clips gamma");
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (int way = 0; way < 3; way++) {
            struct hc_recipe recipe = plain(names[k], 0.1);
            int touched;
            recipe.clip_groups = way > 0;
            recipe.split_bn_bias = way > 0;
            recipe.group_rates = (struct hc_per_layer_group){way == 2 ? 3 : 0, {1, 1, 1}};
            if (!clips(check, &recipe, &touched))
                return;
            hc_claim_value(check, "parameters whose gradient is not what it was",
                           way ? PARAMETERS / 2 : PARAMETERS, touched);
        }
}

/* S = 4096, one gradient of 1/8 in 16 elements, norm 1/2: nothing should be clipped at 1. */
static void norm_before(struct hc_check *check)
{
    double got[2];
    for (int buggy = 0; buggy < 2; buggy++) {
        struct hc_recipe recipe = plain("amp", 1);
        struct hc_fixture fixture;
        recipe.scaler.initial = 4096;
        recipe.clip_scaled = buggy != 0;
        hc_fixture_open_weights(&fixture, check, &recipe, 16, 1);
        hc_fixture_gradients(&fixture, 0.125);
        hc_fixture_step(&fixture, 1e-3, 0);
        got[buggy] = hc_fixture_get(&fixture, HC_STATE_M, 0, 0);
        if (!hc_fixture_close(&fixture))
            return;
    }
    double half = hc_round(HC_FP16, clipped_updates(512, factor(16.0 * 512 * 512, 1)));
    hc_claim_value(check, "fixed arm: the gradient stays", 0.125, got[0]);
    hc_claim_value(check, "buggy arm: clipped as the scaled one", half / 4096, got[1]);
    hc_claim_true(check, "buggy arm: too small by more than 2000", got[1] < 0.125 / 2000);
}

/* fastai does not clip the gradients that it steps on after an overflow. At scale 1 it overlooks
   overflows, so it copies and clips: that group's norm is infinite. Recipes without an overflow
   check do the same. */
static void infinite_norm(struct hc_check *check)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = plain("fastai-1.0.61-flat", 0.1);
    hc_fixture_open_layers(&fixture, check, &recipe);
    fill(&fixture);
    hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
    hc_fixture_step(&fixture, 1e-3, 0);
    if (!fixture.failed) {
        double m = hc_fixture_get(&fixture, HC_STATE_M, 2, 0);
        hc_claim_true(check, "held: the step on what lay in memory is taken", m != 0);
        hc_claim_value(check, "held: what lay in memory is not clipped", (double)garbage, m);
    }
    hc_fixture_close(&fixture);
    for (int unseen = 0; unseen < 2; unseen++) {
        recipe = plain(unseen ? "fastai-004b" : "fastai-1.0.61-clip", 0.1);
        recipe.scaler.initial = 1;
        hc_fixture_open_layers(&fixture, check, &recipe);
        fill(&fixture);
        hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
        hc_fixture_step(&fixture, 1e-3, 0);
        for (int i = 0; i < fixture.n && !fixture.failed; i++) {
            double got = hc_fixture_get(&fixture, HC_STATE_M, i, 0);
            if (i == 0)
                hc_claim_true(check, "the infinity is NaN", isnan(got));
            else
                hc_claim_value(check, "a finite gradient of its norm is 0, another's stays",
                               weight(i) || unseen ? 0 : gradient(i), got);
        }
        hc_say(check, "%-18s inf in a.filter makes the gradient of %s %g", recipe.name,
               fixture.parameter[1].name, hc_fixture_get(&fixture, HC_STATE_M, 1, 0));
        hc_fixture_close(&fixture);
    }
}

/* Gradients in an arena have gaps between them. A NaN must leave nothing there for the next
   step. */
static void after_nan(struct hc_check *check)
{
    for (int scaled = 0; scaled < 2; scaled++) {
        struct hc_recipe recipe = plain("amp", 100);
        struct hc_fixture fixture;
        recipe.clip_scaled = scaled != 0;
        recipe.clip = scaled ? 1e4 : 100;
        hc_fixture_open_layers(&fixture, check, &recipe);
        fill(&fixture);
        hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 0, (double)NAN);
        hc_fixture_step(&fixture, 1e-3, 0);
        fill(&fixture);
        hc_fixture_step(&fixture, 1e-3, 0);
        if (!fixture.failed) {
            struct hc_counters counters = hc_fixture_counters(&fixture);
            hc_say(check, "amp, clipped %-6s unscaling: %d step skipped, %d taken",
                   scaled ? "before" : "after", counters.skipped, counters.taken);
            hc_claim_value(check, "steps skipped", 1, counters.skipped);
            hc_claim_value(check, "steps taken", 1, counters.taken);
            hc_claim_value(check, "the gradient of the second", 2,
                           hc_fixture_get(&fixture, HC_STATE_M, 0, 0));
        }
        hc_fixture_close(&fixture);
    }
}

/* A gradient penalty under a loss scale. What is not linear in the gradient needs it unscaled. */

/* (||g|| - 1)^2, each operation in the format. */
static enum hc_status penalty(struct hc_check *check, const struct hc_tensor *g, double *got)
{
    enum hc_format format = g->format;
    struct hc_tensor t = hc_check_vector(check, format, 1);
    struct hc_tensor one = hc_check_vector(check, format, 1);
    struct hc_call dot = {.op = HC_OP_dot,
                          .in = {[HC_REDUCE_X] = *g, [HC_DOT_Y] = *g},
                          .out = {[HC_REDUCE_OUT] = t},
                          .params.reduce = {HC_FP32}};
    struct hc_call root = {.op = HC_OP_sqrt, .in = {[HC_X] = t}, .out = {[HC_OUT] = t}};
    struct hc_call less = {
        .op = HC_OP_sub, .in = {[HC_X] = t, [HC_Y] = one}, .out = {[HC_OUT] = t}};
    struct hc_call square = {
        .op = HC_OP_mul, .in = {[HC_X] = t, [HC_Y] = t}, .out = {[HC_OUT] = t}};
    hc_tensor_set(&one, 0, 1);
    enum hc_status status = hc_do(check, &dot);
    if (status == HC_OK)
        status = hc_do(check, &root);
    if (status == HC_OK)
        status = hc_do(check, &less);
    if (status == HC_OK)
        status = hc_do(check, &square);
    *got = hc_tensor_get(&t, 0);
    return status;
}

/* Four gradients of 1/2 have norm 1 and no penalty; at S = 65536 the penalty is 65535^2, infinite
   in half. */
static void scaled(struct hc_check *check)
{
    static const double scales[] = {1, 2, 256, 65536};
    for (int i = 0; i < 4; i++) {
        struct hc_tensor g = hc_check_vector(check, HC_FP32, 4);
        struct hc_tensor s = hc_check_vector(check, HC_FP32, 4);
        struct hc_tensor u = hc_check_vector(check, HC_FP32, 4);
        struct hc_tensor half = hc_check_vector(check, HC_FP16, 4);
        double wrong;
        double narrow;
        double right;
        bool found;
        for (int e = 0; e < 4; e++) {
            hc_tensor_set(&g, e, 0.5);
            hc_tensor_set(&half, e, scales[i] * 0.5);
        }
        if (hc_scale_into(check, &g, scales[i], &s) != HC_OK ||
            hc_unscale_into(check, &s, scales[i], true, &u, &found) != HC_OK ||
            penalty(check, &s, &wrong) != HC_OK || penalty(check, &half, &narrow) != HC_OK ||
            penalty(check, &u, &right) != HC_OK)
            return;
        double want = (scales[i] - 1) * (scales[i] - 1);
        hc_say(check, "S = %-6g penalty on S g: %-12.6g in half %-10.6g unscaled first: %g",
               scales[i], wrong, narrow, right);
        hc_claim_within(check, "buggy arm: (S - 1)^2", want, wrong, 0x1p-22 * want);
        hc_claim_true(check, "buggy arm in half: infinite where S is not small",
                      isinf(narrow) == (scales[i] >= 256));
        hc_claim_value(check, "fixed arm: 0", 0, right);
    }
}

static const struct hc_case cases[] = {
    {"order/clip-after-unscale",
     "unscale, clip, step: the norm of what is applied is the smaller of its own and the limit",
     "pytorch docs, Automatic Mixed Precision examples, 'Gradient clipping'", .run = after},
    {"order/clip-before-unscale",
     "clipping the scaled gradients leaves them too small, by the scale's own order",
     "https://github.com/Lightning-AI/pytorch-lightning/issues/9599, 'Clip norm after "
     "scaler.unscale_ in native fp16 training'",
     .run = before},
    {"order/clip-divides-again",
     "a clip factor that divides by the scale, on unscaled gradients, leaves 1/S of them",
     "https://github.com/NVIDIA/apex/pull/1512, 'Fix bug with grad clipping and distributed Adam'",
     .run = divided_twice},
    {"order/clip-infinite-norm",
     "clipping at an infinite norm makes finite gradients 0 and infinite ones NaN; the step is "
     "skipped for what unscale found before",
     "https://github.com/pytorch/pytorch/issues/46849, 'clip_grad_norm_ silently passes when not "
     "finite'",
     .run = infinite},
    {"order/update-clips-by-group",
     "the trainer clips the unscaled gradients bit for bit as torch defines it: all to one norm, "
     "or as fastai 1.0.61 does each group to its own",
     "fastai1 fastai/callbacks/fp16.py @1.0.61, on_backward_end: for group in self.master_params: "
     "nn.utils.clip_grad_norm_(group, self.clip)",
     .run = by_group},
    {"order/update-clips-before-unscale",
     "a trainer that clips scaled gradients leaves them too small, by the scale's own order",
     "https://github.com/Lightning-AI/pytorch-lightning/issues/9599, 'Clip norm after "
     "scaler.unscale_ in native fp16 training'",
     .run = norm_before},
    {"order/update-clips-infinite-norm",
     "where an infinity is overlooked, clipping makes NaN of it and 0 of the finite gradients of "
     "its norm; gradients that were not copied are not clipped",
     "https://github.com/pytorch/pytorch/issues/46849, 'clip_grad_norm_ silently passes when not "
     "finite'; fastai1 fastai/callbacks/fp16.py @1.0.61, on_backward_end",
     .run = infinite_norm},
    {"order/update-clips-after-a-nan",
     "a skipped step whose norm was NaN leaves nothing that clips the next one",
     "pytorch 2.15.0 torch/amp/grad_scaler.py: zero_grad and the next backward start anew",
     .run = after_nan},
    {"order/gradient-penalty",
     "a penalty (|g| - 1)^2 on scaled gradients is (S - 1)^2 where it should be 0, and infinite in "
     "half; on unscaled gradients it is 0",
     "https://github.com/NVIDIA/apex/issues/654; pytorch docs, Automatic Mixed Precision examples, "
     "'Gradient penalty'",
     .run = scaled},
};

HC_CASES(order_clip, cases);
