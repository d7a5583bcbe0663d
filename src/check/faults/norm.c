/* Defects of batch norm and leaky ReLU in one op. */
#include "check/selftest/fault.h"

#include <stdlib.h>

/* A copy of t in fp32, its memory to be freed. */
static enum hc_status widened(const struct hc_tensor *t, struct hc_tensor *wide)
{
    *wide = *t;
    wide->format = HC_FP32;
    wide->data = malloc(hc_tensor_bytes(wide) + 1);
    if (!wide->data)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's tensor");
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(wide, i, hc_tensor_get(t, i));
    return HC_OK;
}

static enum hc_status slope_first(const struct hc_fault_site *planted, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    struct hc_call bad = *call;
    enum hc_status status = widened(&call->out[HC_BN_Y], &bad.out[HC_BN_Y]);
    if (status == HC_OK)
        status = planted->right(queue, &bad);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->out[HC_BN_Y]); i++)
        hc_tensor_set(&call->out[HC_BN_Y], i, hc_tensor_get(&bad.out[HC_BN_Y], i));
    free(bad.out[HC_BN_Y].data);
    return status;
}

static void sign_of_x(struct hc_call *call, double number)
{
    (void)number;
    call->in[HC_BN_LEAKY_BWD_Y] = call->in[HC_BN_LEAKY_BWD_X];
}

static void slope_forgotten(struct hc_call *call, double number)
{
    (void)number;
    call->params.bn.slope = 1;
}

static const struct hc_fault faults[] = {
    {"leaky-before-the-rounding", "leaky ReLU takes batch norm's result before it is rounded",
     HC_FAULT_ROUNDING, "bn_leaky_infer", "batchnorm/*", .wrong = slope_first},
    {"leaky-by-the-sign-of-x", "the gradient of leaky ReLU goes by the sign of x, not of y",
     HC_FAULT_FORMULA, "bn_leaky_bwd", "batchnorm/*", .change = sign_of_x},
    {"leaky-slope-forgotten", "the gradient of leaky ReLU is dy everywhere", HC_FAULT_PARAMETER,
     "bn_leaky_bwd", "op/bn_leaky_bwd/*", .change = slope_forgotten},
};

HC_FAULTS(norm, faults);
