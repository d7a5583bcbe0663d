/* Adam's epsilon in half. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/adam.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/training/update_fixture.h"

/* Adam's epsilon when weights, gradients and state are all in half, and when they are fp32. */

#define LR 1e-3

static struct hc_adam_run start(struct hc_check *check, enum hc_format format, double beta2,
                                double eps, double w)
{
    return (struct hc_adam_run){.check = check,
                                .op = HC_OP_adam,
                                .params = {.beta2 = beta2, .eps = eps, .arithmetic = format},
                                .lr = LR,
                                .beta1 = 0.9,
                                .w = w};
}

static void say_step(struct hc_check *check, const char *arm, double g, const struct hc_adam_run *r)
{
    hc_say(check, "%-15s step %lld: g %-9.4g m %-9.4g v %-9.4g w %.7g", arm, (long long)r->t, g,
           r->m, r->v, r->w);
}

/* One step of both arms from the same weight: all in half on the backend, held bit for bit to the
   definition; and with fp32 weight and state and eps 1e-8. False if the backend failed. */
static bool two_arms(struct hc_check *check, double g, double beta2, double eps,
                     struct hc_adam_run *half, struct hc_adam_run *single)
{
    double w = half->w;
    struct hc_adam_run want = start(NULL, HC_FP16, beta2, eps, w);
    char arm[32];
    *half = start(check, HC_FP16, beta2, eps, w);
    *single = start(check, HC_FP32, beta2, 1e-8, w);
    hc_adam_run_step(half, g);
    hc_adam_run_step(single, g);
    hc_adam_run_step(&want, g);
    if (half->failed || single->failed)
        return false;
    (void)snprintf(arm, sizeof arm, "half, eps %.0e", eps);
    say_step(check, arm, g, half);
    say_step(check, "fp32, eps 1e-08", g, single);
    hc_claim_value(check, "m in half", want.m, half->m);
    hc_claim_value(check, "v in half", want.v, half->v);
    hc_claim_value(check, "w in half", want.w, half->w);
    return true;
}

/* lr * g / (|g| + eps). With a constant gradient the biases of the averages cancel. */
static double right_step(double g, const char *eps)
{
    struct hc_real *x = hc_real_new(0);
    struct hc_real *y = hc_real_new(fabs(g));
    hc_real_set_text(x, eps);
    hc_real_add(y, y, x);
    hc_real_set(x, g);
    hc_real_div(x, x, y);
    hc_real_set(y, (double)(float)LR);
    hc_real_mul(x, x, y);
    double step = hc_real_double(x);
    hc_real_free(x);
    hc_real_free(y);
    return step;
}

/* The first step from w. Relative to the step fp32 makes at most 12 roundings of u = 2^-24 (m 2, v
   3 of which its root takes half and adds 1, correction 2, eps and its sum 2, quotient 1, step size
   2, product 1), and the subtraction rounds w once. */
static void claim_right_step(struct hc_check *check, const char *what, double w, double g,
                             const char *eps, double got)
{
    double step = right_step(g, eps);
    hc_claim_within(check, what, w - step, got, ldexp(12 * fabs(step) + fabs(w - step), -24));
}

static void zero_gradient(struct hc_check *check)
{
    struct hc_adam_run half = {.w = 0.5};
    struct hc_adam_run single;
    if (!two_arms(check, 0, 0.999, 1e-8, &half, &single))
        return;
    hc_claim_true(check, "half: w is NaN after step 1", isnan(half.w));
    hc_claim_value(check, "fp32: w has not moved", 0.5, single.w);
}

static void tiny_gradient(struct hc_check *check)
{
    const double g = hc_decimal(HC_FP16, "1e-5");
    struct hc_adam_run half = {.w = 0.5};
    struct hc_adam_run single;
    if (!two_arms(check, g, 0.999, 1e-8, &half, &single))
        return;
    hc_claim_value(check, "half: w after step 1", (double)-INFINITY, half.w);
    claim_right_step(check, "fp32: w after step 1", 0.5, g, "1e-8", single.w);
}

static void explodes(struct hc_check *check)
{
    const double g = hc_decimal(HC_FP16, "5e-3");
    struct hc_adam_run half = {.w = 1};
    struct hc_adam_run single;
    if (!two_arms(check, g, 0.999, 1e-7, &half, &single))
        return;
    hc_claim_within(check, "half: w as claimed, about -41", -41, half.w, 0.5);
    claim_right_step(check, "fp32: w after step 1", 1, g, "1e-8", single.w);
}

/* From w = 0, so that w shows all bits of the step. "10x" and "0.1x" are held to half a unit of
   their last digit. */
static void not_neutral(struct hc_check *check)
{
    static const struct {
        const char *g;
        double times;
        double unit;
    } rows[] = {{"1e-3", 10, 1}, {"1e-5", 0.1, 0.01}};
    for (int i = 0; i < 2; i++) {
        const double g = hc_decimal(HC_FP16, rows[i].g);
        struct hc_adam_run half = {.w = 0};
        struct hc_adam_run single;
        if (!two_arms(check, g, 0.99, 1e-4, &half, &single))
            return;
        hc_claim_true(check, "half: no NaN", !isnan(half.w));
        hc_claim_within(check, "half: step / right step", rows[i].times, half.w / single.w,
                        rows[i].unit / 2);
        claim_right_step(check, "fp32: w after step 1", 0, g, "1e-8", single.w);
    }
}

/* eps 1e-4 is not neutral in fp32 either: g = 1e-5 gets g / (g + eps) of its step. */
static void shrinks_in_single(struct hc_check *check)
{
    const double g = hc_decimal(HC_FP32, "1e-5");
    struct hc_adam_run small = start(check, HC_FP32, 0.99, 1e-8, 0);
    struct hc_adam_run large = start(check, HC_FP32, 0.99, 1e-4, 0);
    hc_adam_run_step(&small, g);
    hc_adam_run_step(&large, g);
    if (small.failed || large.failed)
        return;
    say_step(check, "fp32, eps 1e-08", g, &small);
    say_step(check, "fp32, eps 1e-04", g, &large);
    claim_right_step(check, "w with eps 1e-8", 0, g, "1e-8", small.w);
    claim_right_step(check, "w with eps 1e-4", 0, g, "1e-4", large.w);
    hc_claim_within(check, "step / step at eps 1e-8, in %", 9.1, 100 * large.w / small.w, 0.05);
}

/* fp32 state, eps 1e-8: t steps with one gradient against w - t lr g / (|g| + eps). Over the steps
   the averages collect 6 roundings each, so step t is off by at most (12 + 6 t) u of itself, and
   every subtraction rounds w once: in all u (12 T + 3 T (T + 1)) steps + T u max |w|. */
static void single_is_right(struct hc_check *check)
{
    static const char *const gradients[] = {"1e-12", "1e-8", "1e-5", "1e-3", "5e-3", "1", "100"};
    enum { STEPS = 100 };
    for (size_t i = 0; i < sizeof gradients / sizeof gradients[0]; i++) {
        struct hc_adam_run run = start(check, HC_FP32, 0.999, 1e-8, 0);
        double g = hc_decimal(HC_FP32, gradients[i]);
        double step = right_step(g, "1e-8");
        double roundings = 12 * STEPS + 3 * STEPS * (STEPS + 1) + STEPS * STEPS;
        char what[48];
        for (int t = 0; t < STEPS; t++)
            hc_adam_run_step(&run, g);
        if (run.failed)
            return;
        (void)snprintf(what, sizeof what, "w after %d steps of g = %s", STEPS, gradients[i]);
        hc_claim_within(check, what, -STEPS * step, run.w, ldexp(step * roundings, -24));
    }
}

/* sqrt(v) + eps against sqrt(v + eps) at sqrt(v) = 1e-6; in half v + 1e-8 is v + 0. */
static void inside_or_outside(struct hc_check *check)
{
    const double g = hc_decimal(HC_FP32, "1e-6");
    struct hc_adam_run outside = start(check, HC_FP32, 0.999, 1e-8, 0);
    struct hc_adam_run inside = start(check, HC_FP32, 0.999, 1e-8, 0);
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    inside.params.eps_inside = true;
    hc_adam_run_step(&outside, g);
    hc_adam_run_step(&inside, g);
    double v = hc_decimal(HC_FP16, "1e-6");
    double sum = hc_scalar_add(&half, v, hc_decimal(HC_FP16, "1e-8"));
    if (outside.failed || inside.failed || half.failed)
        return;
    say_step(check, "sqrt(v) + eps", g, &outside);
    say_step(check, "sqrt(v + eps)", g, &inside);
    struct hc_real *x = hc_real_new(g);
    struct hc_real *y = hc_real_new(0);
    hc_real_set_text(y, "1e-8");
    hc_real_mul(x, x, x);
    hc_real_add(x, x, y);
    hc_real_sqrt(x, x);
    hc_real_set(y, (double)(float)LR);
    hc_real_div(y, y, x);
    hc_real_set(x, -g);
    hc_real_mul(y, y, x);
    claim_right_step(check, "eps outside: w", 0, g, "1e-8", outside.w);
    hc_claim_within(check, "eps inside: w", hc_real_double(y), inside.w,
                    ldexp(13 * fabs(hc_real_double(y)), -24));
    hc_claim_within(check, "outside / inside, 99-fold", 99, outside.w / inside.w, 0.5);
    hc_claim_value(check, "half: v + 1e-8 is v", v, sum);
    hc_real_free(x);
    hc_real_free(y);
}

static const char forum[] = "PyTorch forums 1765, 'Adam+Half Precision = NaNs?'";

/* AdamW all in half with eps 1e-8, in the two ways that PyTorch computes it: as a loop over
   tensors, where the denominator is a half tensor in which eps is 0; and fused, in fp32 on numbers
   stored in half. */

static const double lr = 1e-3;
static const double beta1 = 0.9;

/* Three weights of 0.5 under fp16-pure-fused or in the other order, after a step with the gradients
   0, 1e-5, 5e-3 and after another step without gradients. */
static bool two_steps(struct hc_check *check, enum hc_adam_order order, double w[2][3])
{
    static const double g[3] = {0, 1e-5, 5e-3};
    struct hc_recipe recipe = *hc_recipe_by_name("fp16-pure-fused");
    struct hc_fixture fixture;
    recipe.weight_decay = 0;
    recipe.order = order;
    if (order == HC_ORDER_TORCH_LOOP)
        recipe.arithmetic = HC_FP16;
    hc_fixture_open_weights(&fixture, check, &recipe, 3, 0.5);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 3; i++)
            hc_fixture_gradient(&fixture, 0, i, step == 0 ? g[i] : 0);
        hc_fixture_step(&fixture, lr, beta1);
        for (int i = 0; i < 3; i++)
            w[step][i] = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, i);
        hc_say(check, "%-11s step %d: g = %-13s make w = %.7g, %.7g, %.7g",
               hc_adam_order_names[order], step + 1, step == 0 ? "0, 1e-5, 5e-3" : "0, 0, 0",
               w[step][0], w[step][1], w[step][2]);
    }
    return hc_fixture_close(&fixture);
}

/* Half of an ulp of half below 0.5, and what fp32 adds. */
static const double half_ulp = 0x1p-13 + 0x1p-22;

static void orders(struct hc_check *check)
{
    double w[2][3];
    if (!two_steps(check, HC_ORDER_TORCH_LOOP, w))
        return;
    hc_claim_true(check, "loop: g = 0 gives 0 / 0", isnan(w[0][0]));
    hc_claim_value(check, "loop: g = 1e-5, whose square is 0", (double)-INFINITY, w[0][1]);
    /* A tolerance of a tenth separates such a step from none and from an infinite one, and no more
       is claimed. */
    hc_claim_within(check, "loop: g = 5e-3 makes a step of about lr", 0.5 - lr, w[0][2], 0.1 * lr);
    if (!two_steps(check, HC_ORDER_TORCH_FUSED, w))
        return;
    hc_claim_value(check, "fused: g = 0 moves nothing", 0.5, w[0][0]);
    for (int i = 1; i < 3; i++)
        hc_claim_within(check, "fused: a step of lr, to eps / g", 0.5 - lr, w[0][i],
                        half_ulp + 1e-3 * lr);
}

/* m is 17 2^-24, which 1e-6 is in half; v is 0: u = lr / (1 - 0.9^2) * 0.9 m / eps. In fp32, whose
   v is 1e-12, it would be below lr. */
static void jumps(struct hc_check *check)
{
    double m = beta1 * 17 * 0x1p-24;
    double u = lr / (1 - beta1 * beta1) * m / 1e-8;
    double w[2][3];
    if (!two_steps(check, HC_ORDER_TORCH_FUSED, w))
        return;
    hc_claim_value(check, "no gradient in two steps moves nothing", 0.5, w[1][0]);
    hc_claim_within(check, "a weight whose v is 0 in half goes by m / eps", w[0][1] - u, w[1][1],
                    half_ulp);
    hc_claim_within(check, "a weight whose v half holds makes a step of less than lr",
                    w[0][2] - lr / 2, w[1][2], lr / 2);
}

static const struct hc_case cases[] = {
    {"eps/adam-in-half-zero-gradient",
     "Adam all in half: a zero gradient gives 0/0 = NaN at step 1; with fp32 state nothing moves",
     "optax issue 1754, 'Adam-family optimizers produce NaN on float16 zero-gradient steps'; "
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision'",
     .run = zero_gradient},
    {"eps/adam-in-half-tiny-gradient",
     "Adam all in half: g = 1e-5 gives w = -inf at step 1; with fp32 state one step of lr", forum,
     .run = tiny_gradient},
    {"eps/adam-in-half-eps-1e-7",
     "Adam all in half, eps 1e-7 ('can still be handled'): g = 5e-3 moves w from 1 to about -41",
     forum, .run = explodes},
    {"eps/adam-in-half-eps-1e-4",
     "Adam all in half, eps 1e-4 ('the fix'): no NaN, but steps of 10x and 0.1x the right size",
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision': AdamW16 with eps=1e-4; PyTorch issue 8860, 'NaN loss when using half precision'",
     .run = not_neutral},
    {"eps/adam-fp32-eps-1e-4-shrinks", "in fp32, eps 1e-4 leaves 9.1 % of the step for g = 1e-5",
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision': AdamW16 with eps=1e-4",
     .run = shrinks_in_single},
    {"eps/adam-fp32-eps-1e-8",
     "with fp32 weights and state, eps 1e-8 is right for gradients from 1e-12 to 100",
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision'; Kingma and Ba, arXiv 1412.6980",
     .run = single_is_right},
    {"eps/inside-or-outside-the-root",
     "eps inside or outside the square root: 99-fold at sqrt(v) = 1e-6",
     "keras-radam issue 29, 'epsilon not compatible with Adam'; vxlabs.com 2019, 'Improving "
     "fastai's mixed precision support with NVIDIA's Automatic Mixed Precision'",
     .run = inside_or_outside},
    {"eps/loop-is-nan-fused-is-not",
     "AdamW in half with eps 1e-8: as a loop over tensors a gradient of 0 gives NaN and a small "
     "one -inf, fused both are right",
     "pytorch 2.15.0 torch/optim/adam.py, _single_tensor_adam, and "
     "aten/src/ATen/native/cpu/FusedAdamKernel.cpp, 2.4; PyTorch forums 1765",
     .level = HC_QUICK, .run = orders},
    {"eps/fused-in-half-jumps",
     "fused AdamW on state in half has no NaN, but where v underflows and the gradient goes the "
     "weight jumps by 500 times its step",
     "pytorch aten/src/ATen/native/cpu/FusedAdamKernel.cpp, 2.4: exp_avg_sq is stored in the "
     "parameter's format",
     .level = HC_QUICK, .run = jumps},
};

HC_CASES(eps_adam, cases);
