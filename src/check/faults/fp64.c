/* Arithmetic of fp64 that passes through fp32 somewhere. */
#include <math.h>

#include "check/selftest/change.h"

/* The sum is taken in fp64. What stands around it, alpha and beta C, is scaled and added in fp32,
   where the call scales or adds at all. */
static enum hc_status scaled_in_fp32(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    struct hc_call sum = *call;
    if (!hc_call_fp64(call) || (p->alpha == 1 && p->beta == 0))
        return site->right(queue, call);
    sum.params.gemm.alpha = 1;
    sum.params.gemm.beta = 0;
    enum hc_status status = site->right(queue, &sum);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(out); i++) {
        int64_t at = c->rank == 1 ? i % out->shape[1] : i;
        float x = (float)p->alpha * (float)hc_tensor_get(out, i);
        if (p->beta != 0)
            x += (float)p->beta * (float)hc_tensor_get(c, at);
        hc_tensor_set(out, i, (double)x);
    }
    return status;
}

static const struct hc_fault faults[] = {
    {"gemm-fp64-scaled-in-single", "a matrix product in fp64 is scaled in fp32", HC_FAULT_ROUNDING,
     "gemm", "op/gemm/fp64/*scaled*/* op/gemm/fp64/*added*/*", .wrong = scaled_in_fp32,
     .place = HC_PLACE_HOST},
};

HC_FAULTS(fp64, faults);
