/* Defects of batch norm and leaky ReLU in one op. */
#include "check/selftest/fault.h"

#include <stdlib.h>

/* The op writes into an fp32 tensor, which is rounded afterwards. */
static enum hc_status slope_first(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    struct hc_call bad = *call;
    struct hc_tensor *wide = &bad.out[HC_BN_Y];
    wide->format = HC_FP32;
    wide->data = malloc(hc_tensor_bytes(wide) + 1);
    if (!wide->data)
        return hc_fail(HC_NO_MEMORY, "no memory for a fault's tensor");
    enum hc_status status = site->right(queue, &bad);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(y); i++)
        hc_tensor_set(y, i, hc_tensor_get(wide, i));
    free(wide->data);
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
