/* Overflow detectors, and traces whose infinities and NaNs lie in gradients. */
#include "cases/fixture/replay.h"
#include "cases/fixture/scaling.h"

#include <math.h>

static enum hc_status sum(struct hc_check *check, const struct hc_tensor *half, enum hc_format into,
                          double *got)
{
    struct hc_call call = {
        .op = HC_OP_sum, .in = {[HC_REDUCE_X] = *half}, .params.reduce = {HC_FP32}};
    call.out[HC_REDUCE_OUT] = hc_check_vector(check, into, 1);
    enum hc_status status = hc_do(check, &call);
    *got = hc_tensor_get(&call.out[HC_REDUCE_OUT], 0);
    return status;
}

/* The detector of fastai and Apex: float(gradient.float().sum()). n halves of at most 65504 cannot
   overflow fp32 below n = 2^112, and nothing removes an infinity or a NaN from a sum. A sum in
   half, as gradient.sum() is, can overflow: two gradients of 40,000 raise a false alarm. */
static void by_sum(struct hc_check *check)
{
    static const struct {
        const char *name;
        double a;
        double b;
        bool found; /* some element is infinite or NaN */
        bool alarm; /* the sum in half is infinite or NaN */
    } rows[] = {
        {"finite", 1, -3, false, false},
        {"two large ones", 40000, 40000, false, true},
        {"two that cancel", 65504, -65504, false, false},
        {"an infinity", (double)INFINITY, -65504, true, true},
        {"two infinities that cancel", (double)INFINITY, -(double)INFINITY, true, true},
        {"a NaN", (double)NAN, 1, true, true},
        {"a NaN and an infinity", (double)NAN, (double)INFINITY, true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_tensor half = hc_check_vector(check, HC_FP16, 1000);
        double single;
        double narrow;
        hc_tensor_set(&half, 3, rows[i].a);
        hc_tensor_set(&half, 997, rows[i].b);
        if (sum(check, &half, HC_FP32, &single) != HC_OK ||
            sum(check, &half, HC_FP16, &narrow) != HC_OK)
            return;
        hc_say(check, "%-28s sum in fp32 %-8g in half %g", rows[i].name, single, narrow);
        hc_claim_true(check, rows[i].name, isfinite(single) != rows[i].found);
        hc_claim_true(check, "summed into half", isfinite(narrow) != rows[i].alarm);
    }
}

/* Five gradients a step; the last one is what step s says. */
static double planted(int64_t s)
{
    switch (s % 11) {
    case 3:
        return (double)NAN;
    case 4:
        return (double)INFINITY;
    case 9:
        return -(double)INFINITY;
    default:
        return 65504;
    }
}

/* Sends half gradients with a NaN, an infinity or the largest number through unscale, whose flag
   goes into the rule. */
static void from_gradients(struct hc_check *check)
{
    enum { STEPS = 220 };
    unsigned char *found = hc_check_memory(check, STEPS);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 5);
    struct hc_tensor out = hc_check_vector(check, HC_FP32, 5);
    int64_t wrong = 0;
    for (int64_t s = 1; s <= STEPS; s++) {
        bool flag;
        hc_tensor_set(&half, 4, planted(s));
        if (hc_unscale_into(check, &half, 512, s % 2 == 0, &out, &flag) != HC_OK)
            return;
        found[s - 1] = flag;
        wrong += flag != !isfinite(planted(s));
    }
    hc_claim_sweep(check, "steps", STEPS, wrong,
                   wrong ? "found where there is nothing, or not" : NULL);
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++)
        hc_replay_claim(check, hc_scalers[rule].name, (enum hc_scaler_rule)rule, 5, found, STEPS);
}

static const struct hc_case cases[] = {
    {.name = "scaler/detector-by-sum",
     .title =
         "the fp32 sum of half gradients overlooks no infinity or NaN and raises no false alarm; "
         "summed into half, two gradients of 40,000 do",
     .source =
         "fastai 1.0.61 fastai/callbacks/fp16.py, grad_overflow; NVIDIA/apex @2fa4dbaf "
         "apex/fp16_utils/loss_scaler.py: 'Stopgap until upstream fixes sum() on HalfTensors'",
     .run = by_sum},
    {.name = "scaler/from-gradients",
     .title =
         "NaNs and infinities of both signs in half gradients reach every rule through unscale, "
         "and nothing else does",
     .source = "contract in src/op/elementwise.h",
     .run = from_gradients},
};

HC_CASES(scaler_found_inf, cases);
