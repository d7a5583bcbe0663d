/* Defects that show only at extremes: no terms at all, counts beyond what fp32 holds, sums whose
   accumulator is as narrow as the terms. They are in all backends. */
#include "check/selftest/fault.h"

#include "num/format.h"
#include "op/counts.h"

/* -0 where there is no term and alpha is negative. */
static enum hc_status alpha_times_nothing(const struct hc_fault_site *site, struct hc_queue *queue,
                                          const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_gemm *p = &call->params.gemm;
    bool signed_zero = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1] == 0 && p->alpha < 0;
    for (int64_t i = 0;
         status == HC_OK && signed_zero && i < hc_tensor_count(&call->out[HC_GEMM_OUT]); i++)
        if (hc_tensor_get(&call->out[HC_GEMM_OUT], i) == 0)
            hc_tensor_set(&call->out[HC_GEMM_OUT], i, -0.0);
    return status;
}

/* The count is rounded before 1 is added. */
static enum hc_status t_rounded_twice(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    double taken = hc_round(HC_FP32, hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_TAKEN));
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_RATES_HYPER], 2, taken + 1);
    return status;
}

/* Products are added to a narrow sum unrounded. */
static enum hc_status products_kept(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    enum hc_format f = call->params.reduce.accumulator;
    double sum = 0;
    if (f == HC_FP32)
        return site->right(queue, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_REDUCE_X]); i++)
        sum = hc_round(f, sum + hc_tensor_get(&call->in[HC_REDUCE_X], i) *
                                    hc_tensor_get(&call->in[HC_DOT_Y], i));
    hc_tensor_set(&call->out[HC_REDUCE_OUT], 0, sum);
    return HC_OK;
}

static const struct hc_fault faults[] = {
    {"common-empty-sum", "an empty sum times a negative alpha is -0 in all backends",
     HC_FAULT_COMMON, "gemm", "products/no-terms", .wrong = alpha_times_nothing,
     .place = HC_PLACE_BOTH},
    {"common-t-rounded-twice", "Adam's t is rounded before 1 is added in all backends",
     HC_FAULT_COMMON, "rates", "scaler/large-counts", .wrong = t_rounded_twice,
     .place = HC_PLACE_BOTH},
    {"common-products-kept", "sums in sixteen bits do not round their products in all backends",
     HC_FAULT_COMMON, "dot", "products/sums-in-sixteen-bits", .wrong = products_kept,
     .place = HC_PLACE_BOTH},
};

HC_FAULTS(ends, faults);
