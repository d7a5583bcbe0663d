/* SGD's velocity in half: a sum of gradients (torch.optim.SGD), or of gradients times the rate. */
#include "cases/fixture/running_tally.h"
#include "cases/fixture/defined.h"
#include "cases/fixture/scalar.h"

#include <math.h>

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
    {.name = "underflow/velocity-holds-the-rate",
     .title = "in half a velocity that holds the rate 0.4 / 512 is 0 for gradients up to 640 "
              "2^-24, where that of the gradients is not; the first update, not Nesterov's, is the "
              "same",
     .source = source,
     .run = first_step},
    {.name = "underflow/velocity-stays-0",
     .title = "a gradient of 640 2^-24 a hundred times: in half a velocity that holds the rate "
              "stays 0 and so does the weight, that of the gradients moves it as fp32 does",
     .source = source,
     .run = many_steps},
};

HC_CASES(underflow_velocity, cases);
