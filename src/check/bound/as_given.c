/* Parameters that the contract takes as fp32, as they were given. */
#include <math.h>

#include "check/bound/rules.h"

/* What a number that is a parameter changes if it is taken as it was given, and not as its fp32
   rounding, of which the result is a multiple. */
static double off_fp32(double parameter)
{
    return fabs(parameter - (double)(float)parameter);
}

static double parts_off_fp32(double parameter)
{
    return parameter == 0 ? 0 : off_fp32(parameter) / fabs(parameter) * (1 + 0x1p-20);
}

/* The whole result is a sum of multiples of alpha and beta, whose magnitudes add up to want's; a
   leaked number is a multiple of the slope; an average over ranks is one of both reciprocals. Where
   axpy's rule owes no rounding, since the product with alpha as fp32 is held and so is the sum,
   rounding what lies d beside one of them errs by d at most: two roundings make 4 d. The eps of
   batch norm meets less than a rounding of the root, and its momentum is a coefficient:
   any_inverse_root and any_blended have those. In fp64 all of this is far more than the roundings,
   so that there a call has two readings, each with its own results (hc_call_take_as_given). */
double hc_bound_taken_as_given(const struct hc_element *e, const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm *gemm = &call->params.gemm;
    const struct hc_all_reduce *all_reduce = &call->params.all_reduce;
    if (hc_call_fp64(call))
        return 0;
    switch (call->op) {
    case HC_OP_axpy:
        return 4 * off_fp32(call->params.axpy.alpha) *
               fabs(hc_tensor_get(&call->in[HC_X], e->index));
    case HC_OP_gemm:
        return fmax(parts_off_fp32(gemm->alpha), parts_off_fp32(gemm->beta)) * want->magnitude;
    case HC_OP_leaky_relu:
        return hc_tensor_get(&call->in[HC_LEAKY_X], e->index) > 0
                   ? 0
                   : parts_off_fp32(call->params.leaky.slope) * fabs(want->hi);
    case HC_OP_leaky_relu_bwd:
        return hc_tensor_get(&call->in[HC_LEAKY_BWD_Y], e->index) > 0
                   ? 0
                   : parts_off_fp32(call->params.leaky.slope) * fabs(want->hi);
    case HC_OP_all_reduce:
        return fabs(want->hi) *
               (parts_off_fp32(all_reduce->before) + parts_off_fp32(all_reduce->after)) *
               (1 + 0x1p-20);
    default:
        return 0;
    }
}
