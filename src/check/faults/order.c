/* Defects that an order of operations shows. */
#include "check/fault.h"
#include "num/format.h"

static enum hc_status steps_on_found(hc_kernel *right, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.in[4] = (struct hc_tensor){.format = HC_FP32};
    return right(queue, &bad);
}

static enum hc_status rate_outside(hc_kernel *right, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hc_call bad = *call;
    bad.params.sgd.rate_inside = false;
    return right(queue, &bad);
}

static enum hc_status scale_in_half(hc_kernel *right, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    struct hc_call bad = *call;
    float s = (float)hc_round(HC_FP16, hc_tensor_get(&call->in[1], 0));
    bad.in[1] = hc_tensor1(HC_FP32, 1, &s);
    return right(queue, &bad);
}

static const struct hc_fault faults[] = {
    {"sgd-ignores-found", "SGD steps on infinities and NaNs", "order/*", HC_OP_sgd, steps_on_found},
    {"sgd-rate-outside", "a velocity that should hold the rate is of plain gradients",
     "underflow/*", HC_OP_sgd, rate_outside},
    {"unscale-by-a-half", "unscale takes its scale from half, where 65536 is infinite", "order/*",
     HC_OP_unscale, scale_in_half},
};

const struct hc_fault_table hc_faults_order;
const struct hc_fault_table hc_faults_order = {faults, sizeof faults / sizeof faults[0]};
