/* Clipping a gradient's norm: before and after unscaling. The norm is that of 16 equal elements, 4
   |g|. */
#include "cases/fixture/amp.h"

#include <math.h>

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

static const struct hc_case cases[] = {
    {.name = "order/clip-after-unscale",
     .title = "unscale, clip, step: the norm of what is applied is the smaller of its own and the "
              "limit",
     .source = "pytorch docs, Automatic Mixed Precision examples, 'Gradient clipping'",
     .run = after},
    {.name = "order/clip-before-unscale",
     .title = "clipping the scaled gradients leaves them too small, by the scale's own order",
     .source = "https://github.com/Lightning-AI/pytorch-lightning/issues/9599, 'Clip norm after "
               "scaler.unscale_ in native fp16 training'",
     .run = before},
    {.name = "order/clip-divides-again",
     .title = "a clip factor that divides by the scale, on unscaled gradients, leaves 1/S of them",
     .source = "https://github.com/NVIDIA/apex/pull/1512, 'Fix bug with grad clipping and "
               "distributed Adam'",
     .run = divided_twice},
    {.name = "order/clip-infinite-norm",
     .title = "clipping at an infinite norm makes finite gradients 0 and infinite ones NaN; the "
              "step is skipped for what unscale found before",
     .source = "https://github.com/pytorch/pytorch/issues/46849, 'clip_grad_norm_ silently passes "
               "when not finite'",
     .run = infinite},
};

HC_CASES(order_clip, cases);
