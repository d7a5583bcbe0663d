/* Defects of sums of products: inputs cut to tf32 where fp32 is meant, sums in half where fp32 is
   meant. */
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/bits.h"

static enum hc_status as_tf32(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    struct hc_call bad = *call;
    if (call->in[HC_FIRST].format != HC_FP32)
        return site->right(queue, call);
    for (int slot = HC_FIRST; slot <= HC_FIRST + 1; slot++) {
        float *x = bad.in[slot].data = hc_fault_copy(&call->in[slot]);
        for (int64_t i = 0; i < hc_tensor_count(&call->in[slot]); i++)
            x[i] = hc_tf32_round(x[i]);
    }
    enum hc_status status = site->right(queue, &bad);
    free(bad.in[HC_FIRST].data);
    free(bad.in[HC_FIRST + 1].data);
    return status;
}

static void summed_in_half(struct hc_call *call, double number)
{
    (void)number;
    call->params.gemm.half_accumulator = call->in[HC_GEMM_A].format == HC_FP16;
}

static const struct hc_fault faults[] = {
    {"tf32-creeps-into-gemm", "a matrix product in fp32 rounds its inputs to tf32",
     HC_FAULT_ACCUMULATOR, "gemm", "products/gemm-in-fp32", .wrong = as_tf32},
    {"tf32-creeps-into-conv2d", "a convolution in fp32 rounds its inputs to tf32",
     HC_FAULT_ACCUMULATOR, "conv2d", "products/conv2d-in-fp32", .wrong = as_tf32},
    {"tf32-creeps-into-conv2d-bwd-data", "a convolution's data gradient rounds its inputs to tf32",
     HC_FAULT_ACCUMULATOR, "conv2d_bwd_data", "products/conv2d-bwd-data-in-fp32", .wrong = as_tf32},
    {"tf32-creeps-into-conv2d-bwd-filter",
     "a convolution's filter gradient rounds its inputs to tf32", HC_FAULT_ACCUMULATOR,
     "conv2d_bwd_filter", "products/conv2d-bwd-filter-in-fp32", .wrong = as_tf32},
    {"half-sums-in-gemm", "a matrix product of halves is summed in half", HC_FAULT_ACCUMULATOR,
     "gemm", "products/half-summed-in-single", .change = summed_in_half},
};

HC_FAULTS(products, faults);
