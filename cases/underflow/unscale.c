/* Unscaling: exact in fp32 by a power of two, lossy in half, rounding otherwise. */
#include "cases/fixture/scaling.h"
#include "cases/fixture/running_tally.h"

#include <math.h>
#include <stdio.h>

/* Every half, unscaled into fp32 by 2^0 to 2^24, by division and by the reciprocal. h / S is a
   multiple of 2^-48 with at most 11 bits, which fp32 holds. An infinity or NaN is found. */
static void exact_by_power_of_two(struct hc_check *check)
{
    enum { COUNT = 65536 };
    struct hc_tensor half = hc_check_vector(check, HC_FP16, COUNT);
    struct hc_tensor single = hc_check_vector(check, HC_FP32, COUNT);
    struct hc_comparisons tally = {0};
    bool found;
    for (int i = 0; i < COUNT; i++) /* those that are infinite or NaN stay zeros */
        hc_tensor_set_bits(&half, i, (i & 0x7c00) == 0x7c00 ? 0 : (uint64_t)i);
    for (int log2 = 0; log2 <= 24; log2 += 3)
        for (int reciprocal = 0; reciprocal < 2; reciprocal++) {
            double scale = ldexp(1, log2);
            if (hc_unscale_into(check, &half, scale, reciprocal, &single, &found) != HC_OK)
                return;
            hc_claim_true(check, "no infinity or NaN is found in finite gradients", !found);
            for (int i = 0; i < COUNT; i++)
                hc_running_tally_note(&tally, i, ldexp(hc_tensor_get(&half, i), -log2),
                                      hc_tensor_get(&single, i));
        }
    hc_claim_comparisons(check, &tally);
    hc_tensor_set_bits(&half, COUNT / 2 + 1, 0xfc00);
    if (hc_unscale_into(check, &half, 512, false, &single, &found) == HC_OK)
        hc_claim_true(check, "one infinity among 65536 is found", found);
}

/* g = 1e-9 at S = 65536. Buggy arm: the quotient goes back into half. Fixed arm: into fp32. */
static void lost_in_half(struct hc_check *check)
{
    struct hc_tensor g = hc_check_vector(check, HC_FP32, 1);
    struct hc_tensor scaled = hc_check_vector(check, HC_FP16, 1);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 1);
    struct hc_tensor single = hc_check_vector(check, HC_FP32, 1);
    bool found;
    hc_tensor_set(&g, 0, 1e-9);
    if (hc_scale_into(check, &g, 65536, &scaled) != HC_OK ||
        hc_unscale_into(check, &scaled, 65536, false, &half, &found) != HC_OK ||
        hc_unscale_into(check, &scaled, 65536, false, &single, &found) != HC_OK)
        return;
    double want = hc_round(HC_FP16, 65536 * hc_tensor_get(&g, 0)) / 65536;
    hc_say(check, "g = 1e-9, half(65536 g) = %.9g", hc_tensor_get(&scaled, 0));
    hc_claim_value(check, "divided in half", 0, hc_tensor_get(&half, 0));
    hc_claim_value(check, "divided in fp32", want, hc_tensor_get(&single, 0));
    hc_claim_within(check, "divided in fp32, as claimed", 1.0004e-9, hc_tensor_get(&single, 0),
                    0.5e-13);
}

/* fp32 gradients scaled and unscaled in fp32 keep their bits at S = 1024 and not at S = 1000. How
   many change is compared with MPFR's two roundings. */
static int64_t moved(struct hc_check *check, const struct hc_tensor *g, double scale,
                     struct hc_comparisons *tally)
{
    int64_t n = hc_tensor_count(g);
    struct hc_tensor scaled = hc_check_vector(check, HC_FP32, n);
    struct hc_tensor back = hc_check_vector(check, HC_FP32, n);
    struct hc_real *s = hc_real_new(scale);
    struct hc_real *x = hc_real_new(0);
    int64_t count = 0;
    bool found;
    if (hc_scale_into(check, g, scale, &scaled) == HC_OK &&
        hc_unscale_into(check, &scaled, scale, false, &back, &found) == HC_OK)
        for (int64_t i = 0; i < n; i++) {
            hc_real_set(x, hc_tensor_get(g, i));
            hc_real_mul(x, x, s);
            hc_real_set(x, hc_decode(HC_FP32, hc_real_bits(x, HC_FP32, HC_NEAREST)));
            hc_real_div(x, x, s);
            double want = hc_decode(HC_FP32, hc_real_bits(x, HC_FP32, HC_NEAREST));
            hc_running_tally_note(tally, i, want, hc_tensor_get(&back, i));
            count += hc_tensor_get(&back, i) != hc_tensor_get(g, i);
        }
    hc_real_free(s);
    hc_real_free(x);
    hc_say(check, "S = %-5g moves %lld of %lld gradients", scale, (long long)count, (long long)n);
    return count;
}

static void other_scales(struct hc_check *check)
{
    struct hc_tensor g = hc_log_normal(check, 4096, -20, 4);
    struct hc_comparisons tally = {0};
    int64_t power = moved(check, &g, 1024, &tally);
    int64_t other = moved(check, &g, 1000, &tally);
    if (tally.checked != 2 * hc_tensor_count(&g))
        return;
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "moved by 1024", 0, (double)power);
    hc_claim_true(check, "1000 moves some", other > 0);
}

static const struct hc_case cases[] = {
    {.name = "underflow/unscale-power-of-two-exact",
     .title = "unscaling in fp32 by a power of two is exact for every half",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: gradients are "
               "copied to fp32, then divided by the scale",
     .run = exact_by_power_of_two},
    {.name = "underflow/unscale-in-half-loses",
     .title = "g = 1e-9 at scale 65536: unscaled in half 0, in fp32 1.0004e-9",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb has the right order; "
               "the other arm swaps it",
     .run = lost_in_half},
    {.name = "underflow/scale-no-power-of-two",
     .title = "a scale that is no power of two rounds: 1000 moves gradients that 1024 keeps",
     .source = "op/elementwise.h: scale and unscale round once each",
     .run = other_scales},
};

HC_CASES(underflow_unscale, cases);
