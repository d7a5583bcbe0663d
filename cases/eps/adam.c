/* Adam's epsilon when weights, gradients and state are all in half, and when they are fp32. */
#include "cases/fixture/adam.h"
#include "cases/fixture/scalar.h"

#include <math.h>
#include <stdio.h>

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

static const struct hc_case cases[] = {
    {.name = "eps/adam-in-half-zero-gradient",
     .title =
         "Adam all in half: a zero gradient gives 0/0 = NaN at step 1; with fp32 state nothing "
         "moves",
     .source = "optax issue 1754, 'Adam-family optimizers produce NaN on float16 zero-gradient "
               "steps'; vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision'",
     .run = zero_gradient},
    {.name = "eps/adam-in-half-tiny-gradient",
     .title = "Adam all in half: g = 1e-5 gives w = -inf at step 1; with fp32 state one step of lr",
     .source = forum,
     .run = tiny_gradient},
    {.name = "eps/adam-in-half-eps-1e-7",
     .title = "Adam all in half, eps 1e-7 ('can still be handled'): g = 5e-3 moves w from 1 to "
              "about -41",
     .source = forum,
     .run = explodes},
    {.name = "eps/adam-in-half-eps-1e-4",
     .title = "Adam all in half, eps 1e-4 ('the fix'): no NaN, but steps of 10x and 0.1x the right "
              "size",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision': AdamW16 with eps=1e-4; PyTorch issue 8860, 'NaN loss "
               "when using half precision'",
     .run = not_neutral},
    {.name = "eps/adam-fp32-eps-1e-4-shrinks",
     .title = "in fp32, eps 1e-4 leaves 9.1 % of the step for g = 1e-5",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision': AdamW16 with eps=1e-4",
     .run = shrinks_in_single},
    {.name = "eps/adam-fp32-eps-1e-8",
     .title = "with fp32 weights and state, eps 1e-8 is right for gradients from 1e-12 to 100",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision'; Kingma and Ba, arXiv 1412.6980",
     .run = single_is_right},
    {.name = "eps/inside-or-outside-the-root",
     .title = "eps inside or outside the square root: 99-fold at sqrt(v) = 1e-6",
     .source =
         "keras-radam issue 29, 'epsilon not compatible with Adam'; vxlabs.com 2019, 'Improving "
         "fastai's mixed precision support with NVIDIA's Automatic Mixed Precision'",
     .run = inside_or_outside},
};

HC_CASES(eps_adam, cases);
