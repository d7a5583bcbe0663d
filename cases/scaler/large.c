/* Counts beyond 2^24, where fp32 does not hold every integer. Adam's t is the count of steps taken
   plus one, rounded once; the counts themselves go on one by one. */
#include "case.h"

static const int32_t counts[] = {0,
                                 65535,
                                 (1 << 24) - 2,
                                 (1 << 24) - 1,
                                 1 << 24,
                                 (1 << 24) + 1,
                                 (1 << 24) + 2,
                                 (1 << 24) + 3,
                                 (1 << 25) + 1,
                                 (1 << 25) + 3,
                                 (1 << 30) + 33,
                                 INT32_MAX - 2};

/* The hyperparameters of a step after that many. */
static bool rates_after(struct hc_check *check, int32_t count)
{
    struct hc_call call = {.op = HC_OP_rates};
    struct hc_tensor table = hc_check_vector(check, HC_FP32, 6);
    for (int i = 0; i < 6; i++)
        hc_tensor_set(&table, i, i + 1);
    call.in[HC_RATES_TABLE] = hc_tensor2(HC_FP32, 3, 2, table.data);
    call.in[HC_RATES_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
    call.out[HC_RATES_HYPER] = hc_check_vector(check, HC_FP32, HC_HYPER_COUNT);
    hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_STEPS, count);
    hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_TAKEN, count);
    if (hc_do(check, &call) != HC_OK)
        return false;
    hc_claim_value(check, "rate", count ? 5 : 1,
                   hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_LR));
    hc_claim_value(check, "momentum", count ? 6 : 2,
                   hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_BETA1));
    hc_claim_value(check, "t", hc_round(HC_FP32, (double)count + 1),
                   hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_STEP));
    return true;
}

/* Takes a step after that many. */
static bool update_after(struct hc_check *check, int32_t count)
{
    struct hc_call call = {
        .op = HC_OP_scaler_update,
        .params.scaler = {.growth = 2, .backoff = 0.5F, .min_checked_scale = -1}};
    call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
    call.in[HC_SCALER_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
    call.out[HC_SCALER_NEW_SCALE] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_SCALER_NEW_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
    call.in[HC_SCALER_FOUND_INF] = (struct hc_tensor){.format = HC_FP32};
    hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, 8);
    hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_STEPS, count);
    hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_TAKEN, count);
    hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_CLEAN, count);
    if (hc_do(check, &call) != HC_OK)
        return false;
    hc_claim_value(check, "scale", 8, hc_tensor_get(&call.out[HC_SCALER_NEW_SCALE], 0));
    hc_claim_value(check, "steps", (double)count + 1,
                   hc_tensor_get(&call.out[HC_SCALER_NEW_COUNTS], HC_COUNT_STEPS));
    hc_claim_value(check, "taken", (double)count + 1,
                   hc_tensor_get(&call.out[HC_SCALER_NEW_COUNTS], HC_COUNT_TAKEN));
    hc_claim_value(check, "clean", (double)count + 1,
                   hc_tensor_get(&call.out[HC_SCALER_NEW_COUNTS], HC_COUNT_CLEAN));
    return true;
}

static void large(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (!rates_after(check, counts[i]) || !update_after(check, counts[i]))
            return;
}

static const struct hc_case cases[] = {
    {.name = "scaler/large-counts",
     .title = "beyond 2^24 steps Adam's t is the count and one, rounded once, and counts go on",
     .source = "contracts in src/op/control.h",
     .level = HC_QUICK,
     .run = large},
};

HC_CASES(scaler_large, cases);
