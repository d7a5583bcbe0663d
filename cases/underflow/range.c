/* Which gradients get through half precision at a loss scale. */
#include "cases/fixture/scaling.h"
#include "cases/fixture/running_tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The gradient that the optimizer gets after an fp32 gradient was scaled, stored in half and
   unscaled. */
static bool through(struct hc_check *check, double g, double scale, double *kept)
{
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, 1);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 1);
    struct hc_tensor master = hc_check_vector(check, HC_FP32, 1);
    bool found;
    hc_tensor_set(&gradient, 0, g);
    if (hc_scale_into(check, &gradient, scale, &half) != HC_OK ||
        hc_unscale_into(check, &half, scale, false, &master, &found) != HC_OK)
        return false;
    *kept = hc_tensor_get(&master, 0);
    hc_say(check, "g = %-12.7g S = %-4g half(S g) = %-12.7g unscaled %.7g",
           hc_tensor_get(&gradient, 0), scale, hc_tensor_get(&half, 0), *kept);
    return true;
}

/* Buggy arm: scale 1. Fixed arm: scale 512, which loses only the rounding of half(S g), a subnormal
   number: 2^-25 / 512. */
static void lost(struct hc_check *check)
{
    const double at = ldexp(1, -25);
    const double above = (double)nextafterf((float)at, 1);
    static const char *const small[] = {"2e-8", "1e-9"};
    double kept;
    if (!through(check, at, 1, &kept))
        return;
    hc_claim_value(check, "2^-25 at scale 1", 0, kept);
    if (!through(check, above, 1, &kept))
        return;
    hc_claim_value(check, "the next number above at scale 1", ldexp(1, -24), kept);
    for (int i = 0; i < 2; i++) {
        double g = strtod(small[i], NULL);
        if (!through(check, g, 1, &kept))
            return;
        hc_claim_value(check, "at scale 1", 0, kept);
        if (!through(check, g, 512, &kept))
            return;
        hc_claim_true(check, "at scale 512 it is not lost", kept > 0);
        hc_claim_within(check, "at scale 512", g, kept, ldexp(1, -34));
    }
}

/* Half keeps 2^-25 < |S g| < 65520, so 512 keeps 2^-34 < |g| < 127.96875. The neighbours of both
   ends in fp32, against those exact numbers and against the claim's digits. */
static void static_512(struct hc_check *check)
{
    const float low = 0x1p-34f;
    const float high = 127.96875f;
    const float g[4] = {low, nextafterf(low, 1), nextafterf(high, 0), high};
    const double want[4] = {0, ldexp(1, -24), 65504, (double)INFINITY};
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, 4);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 4);
    for (int i = 0; i < 4; i++)
        hc_tensor_set(&gradient, i, (double)g[i]);
    if (hc_scale_into(check, &gradient, 512, &half) != HC_OK)
        return;
    for (int i = 0; i < 4; i++) {
        char what[48];
        (void)snprintf(what, sizeof what, "half(512 g), g = %.10g", (double)g[i]);
        hc_claim_value(check, what, want[i], hc_tensor_get(&half, i));
    }
    hc_claim_within(check, "lost up to, as claimed", 5.8e-11, (double)low, 0.05e-11);
    hc_claim_within(check, "infinite from, as claimed", 127.97, (double)high, 0.005);
}

/* Scale 8 moves the smallest half, 2^-24, down to 2^-27: every gradient from there on is kept, and
   the next smaller power of two, 2^-28, is lost. Without a scale those in [2^-27, 2^-25] are
   zeros. */
static void scale_8(struct hc_check *check)
{
    enum { COUNT = 4096 };
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, COUNT);
    struct hc_tensor plain = hc_check_vector(check, HC_FP16, COUNT);
    struct hc_tensor scaled = hc_check_vector(check, HC_FP16, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double at = hc_random_uniform(hc_check_seed(check), 3, (uint64_t)i);
        hc_tensor_set(&gradient, i, i == 0 ? ldexp(1, -28) : exp2(-27 + 3 * at));
    }
    hc_tensor_set(&gradient, 1, ldexp(1, -27));
    if (hc_scale_into(check, &gradient, 1, &plain) != HC_OK ||
        hc_scale_into(check, &gradient, 8, &scaled) != HC_OK)
        return;
    int zeros = 0;
    struct hc_comparisons kept = {0};
    for (int i = 0; i < COUNT; i++) {
        double g = hc_tensor_get(&gradient, i);
        zeros += hc_tensor_get(&plain, i) == 0;
        hc_running_tally_note(&kept, i, hc_round(HC_FP16, 8 * g), hc_tensor_get(&scaled, i));
        if (i && hc_tensor_get(&scaled, i) == 0)
            hc_claim_true(check, "scale 8 keeps every gradient from 2^-27 on", false);
    }
    hc_say(check, "of %d gradients in [2^-27, 2^-24) %d are 0 without a scale, none at 8",
           COUNT - 1, zeros);
    hc_claim_comparisons(check, &kept);
    hc_claim_value(check, "2^-28 at scale 8", 0, hc_tensor_get(&scaled, 0));
    hc_claim_value(check, "2^-27 at scale 8", ldexp(1, -24), hc_tensor_get(&scaled, 1));
    hc_claim_value(check, "2^-27 without a scale", 0, hc_tensor_get(&plain, 1));
}

static const struct hc_case cases[] = {
    {.name = "underflow/lost-below-2-to-minus-25",
     .title = "a gradient up to 2^-25 is lost in half; a loss scale of 512 keeps it",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: 'Your gradients may "
               "be replaced by 0 because they are too low'",
     .run = lost},
    {.name = "underflow/static-512-range",
     .title = "a loss scale of 512 keeps gradients between 5.8e-11 and 127.97",
     .source =
         "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: loss_scale:float=512.; "
         "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic "
         "Mixed Precision': 'in some cases won't get you as far as dynamic loss scaling'",
     .run = static_512},
    {.name = "underflow/scale-8-keeps-2-to-minus-27",
     .title = "scale 8 is enough to keep all gradients from 2^-27 on",
     .source =
         "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, section 3.2",
     .run = scale_8},
};

HC_CASES(underflow_range, cases);
