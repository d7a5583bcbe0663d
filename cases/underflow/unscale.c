/* Where gradients are unscaled, and what small ones leave in a velocity. */
#include <math.h>

#include "cases/fixture/defined.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/scaling.h"

/* Unscaling: exact in fp32 by a power of two, lossy in half, rounding otherwise. */

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

/* SGD's velocity in half: a sum of gradients (torch.optim.SGD), or of gradients times the rate. */

static const char source[] =
    "davidcpage/cifar10-fast torch_backend.py, nesterov_update: dw.add_(weight_decay, "
    "w).mul_(-lr); v.mul_(momentum).add_(dw); dawn.py: rate 0.4 / 512, momentum 0.9; "
    "torch.optim.SGD: the velocity is of plain gradients";

static const char *const rule[2] = {"velocity of gradients", "velocity that holds the rate"};

/* One step of n weights in place, all in the weights' format. */
static bool step(struct hc_check *check, bool inside, bool nesterov, const struct hc_tensor *w,
                 const struct hc_tensor *g, const struct hc_tensor *v)
{
    struct hc_call call = {
        .op = HC_OP_sgd,
        .in = {[HC_SGD_W] = *w,
               [HC_SGD_G] = *g,
               [HC_SGD_MOMENTUM] = *v,
               [HC_SGD_HYPER] = hc_hyper_tensor(check, (double)0.4F / 512, (double)0.9F, 1)},
        .out = {[HC_SGD_NEW_W] = *w, [HC_SGD_NEW_MOMENTUM] = *v},
        .params.sgd = {.nesterov = nesterov, .rate_inside = inside, .arithmetic = w->format}};
    return hc_do(check, &call) == HC_OK;
}

/* half(0.4 / 512) is 1638 2^-21. Its product with k 2^-24 is at most 2^-25, and so 0, up to k =
   640: 640 * 1638 = 1048320 <= 2^20 < 641 * 1638. */
static void first_step(struct hc_check *check)
{
    enum { LOST = 640, HALVES = 0x7bff };
    const double rate = ldexp(1638, -21);
    struct hc_tensor g = hc_check_vector(check, HC_FP16, HALVES);
    struct hc_tensor w[2];
    struct hc_tensor v[2];
    for (int i = 0; i < HALVES; i++)
        hc_tensor_set_bits(&g, i, (uint64_t)i + 1);
    for (int r = 0; r < 2; r++) {
        int zeros = 0;
        struct hc_comparisons velocity = {0};
        struct hc_comparisons weight = {0};
        w[r] = hc_check_vector(check, HC_FP16, HALVES);
        v[r] = hc_check_vector(check, HC_FP16, HALVES);
        if (!step(check, r == 1, false, &w[r], &g, &v[r]))
            return;
        for (int i = 0; i < HALVES; i++) {
            double plain = hc_tensor_get(&g, i);
            double update = hc_round(HC_FP16, rate * plain);
            hc_running_tally_note(&velocity, i, r == 1 ? update : plain, hc_tensor_get(&v[r], i));
            hc_running_tally_note(&weight, i, 0 - update, hc_tensor_get(&w[r], i));
            zeros += hc_tensor_get(&v[r], i) == 0;
        }
        hc_say(check, "%s: 0 for %d of the %d positive gradients", rule[r], zeros, HALVES);
        hc_claim_comparisons(check, &velocity);
        hc_claim_comparisons(check, &weight);
        hc_claim_value(check, rule[r], r == 1 ? LOST : 0, zeros);
    }
    hc_claim_value(check, "the largest gradient that is lost", 0, hc_tensor_get(&v[1], LOST - 1));
    hc_claim_value(check, "the next", ldexp(1, -24), hc_tensor_get(&v[1], LOST));
}

/* The step in half, each operation by its definition. */
static void define(bool inside, double g, double *w, double *v)
{
    struct hc_scalar half = {.format = HC_FP16};
    double rate = hc_decimal(HC_FP16, "0.00078125");
    double beta1 = hc_decimal(HC_FP16, "0.9");
    double d = inside ? hc_scalar_mul(&half, rate, g) : g;
    *v = hc_scalar_add(&half, hc_scalar_mul(&half, beta1, *v), d);
    double along = hc_scalar_add(&half, d, hc_scalar_mul(&half, beta1, *v));
    *w = hc_scalar_sub(&half, *w, inside ? along : hc_scalar_mul(&half, rate, along));
}

/* The largest gradient that is lost, a hundred times. The velocity of plain gradients grows to ten
   of them, whose product with the rate is no longer lost. Each update is off by half of half's
   smallest number, 2^-25, and by the roundings of the rate, the momentum (1 / (1 - half(0.9)) is
   9.990) and the velocity, together below 1/256 of it. */
static void many_steps(struct hc_check *check)
{
    enum { STEPS = 100 };
    const enum hc_format formats[3] = {HC_FP16, HC_FP16, HC_FP32};
    const double gradient = ldexp(640, -24);
    struct hc_tensor w[3];
    struct hc_tensor g[3];
    struct hc_tensor v[3];
    double want[2][2] = {{0}};
    struct hc_comparisons tally = {0};
    for (int r = 0; r < 3; r++) {
        w[r] = hc_check_vector(check, formats[r], 1);
        g[r] = hc_check_vector(check, formats[r], 1);
        v[r] = hc_check_vector(check, formats[r], 1);
        hc_tensor_set(&g[r], 0, gradient);
    }
    hc_say(check, "step  %-21s  %-28s  the same, fp32", rule[0], rule[1]);
    for (int64_t t = 1; t <= STEPS; t++) {
        for (int r = 0; r < 3; r++)
            if (!step(check, r > 0, true, &w[r], &g[r], &v[r]))
                return;
        for (int r = 0; r < 2; r++) {
            define(r == 1, gradient, &want[r][0], &want[r][1]);
            hc_running_tally_note(&tally, t, want[r][0], hc_tensor_get(&w[r], 0));
            hc_running_tally_note(&tally, t, want[r][1], hc_tensor_get(&v[r], 0));
        }
        if (hc_running_tally_row(t))
            hc_say(check, "%4lld  w = %-17.7g  w = %-24.7g  w = %.7g", (long long)t,
                   hc_tensor_get(&w[0], 0), hc_tensor_get(&w[1], 0), hc_tensor_get(&w[2], 0));
    }
    double single = hc_tensor_get(&w[2], 0);
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "the velocity that holds the rate", 0, hc_tensor_get(&v[1], 0));
    hc_claim_value(check, "its weight", 0, hc_tensor_get(&w[1], 0));
    hc_claim_within(check, "the weight of plain gradients' velocity", single,
                    hc_tensor_get(&w[0], 0), STEPS * ldexp(1, -25) - single / 256);
    hc_claim_true(check, "fp32's weight moves by more than that may be off",
                  -single > 2 * STEPS * ldexp(1, -25));
}

static const struct hc_case cases[] = {
    {"underflow/unscale-power-of-two-exact",
     "unscaling in fp32 by a power of two is exact for every half",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: gradients are copied to fp32, "
     "then divided by the scale",
     .run = exact_by_power_of_two},
    {"underflow/unscale-in-half-loses",
     "g = 1e-9 at scale 65536: unscaled in half 0, in fp32 1.0004e-9",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb has the right order; the other "
     "arm swaps it",
     .run = lost_in_half},
    {"underflow/scale-no-power-of-two",
     "a scale that is no power of two rounds: 1000 moves gradients that 1024 keeps",
     "op/elementwise.h: scale and unscale round once each", .run = other_scales},
    {"underflow/velocity-holds-the-rate",
     "in half a velocity that holds the rate 0.4 / 512 is 0 for gradients up to 640 2^-24, where "
     "that of the gradients is not; the first update, not Nesterov's, is the same",
     source, .run = first_step},
    {"underflow/velocity-stays-0",
     "a gradient of 640 2^-24 a hundred times: in half a velocity that holds the rate stays 0 and "
     "so does the weight, that of the gradients moves it as fp32 does",
     source, .run = many_steps},
};

HC_CASES(underflow_unscale, cases);
