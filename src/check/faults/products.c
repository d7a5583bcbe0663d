/* Defects of sums of products: inputs cut to tf32 where fp32 is meant, sums in half where single
   is. */
#include <assert.h>
#include <stdlib.h>

#include "check/selftest/fault.h"
#include "num/bits.h"

static enum hc_status as_tf32(const struct hc_fault_site *planted, struct hc_queue *queue,
                              const struct hc_call *call)
{
    struct hc_call bad = *call;
    float *copy[2] = {NULL, NULL};
    enum hc_status status = HC_OK;
    if (call->in[HC_FIRST].format != HC_FP32)
        return planted->right(queue, call);
    for (int slot = 0; slot < 2 && status == HC_OK; slot++) {
        const float *from = call->in[slot].data;
        int64_t n = hc_tensor_count(&call->in[slot]);
        assert(n == 0 || from);
        copy[slot] = malloc((size_t)(n + 1) * sizeof(float));
        if (!copy[slot])
            status = hc_fail(HC_NO_MEMORY, "no memory for a fault's inputs");
        for (int64_t i = 0; copy[slot] && i < n; i++)
            copy[slot][i] = hc_tf32_round(from[i]);
        bad.in[slot].data = copy[slot];
    }
    if (status == HC_OK)
        status = planted->right(queue, &bad);
    free(copy[0]);
    free(copy[1]);
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
