/* axpy, scale, unscale. Scalars are taken as fp32 before the real arithmetic begins. */
#include <math.h>

#include "reference/split.h"

hc_reference hc_reference_axpy;
void hc_reference_axpy(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t alpha;
    mpfr_t x;
    mpfr_t y;
    mpfr_inits2(hc_exact_precision(HC_FP32, precision), alpha, x, y, (mpfr_ptr)0);
    mpfr_set_flt(alpha, (float)call->params.axpy.alpha, MPFR_RNDN);
    hc_load_real(x, &call->in[0], e->index);
    hc_load_real(y, &call->in[1], e->index);
    mpfr_fma(x, alpha, x, y, MPFR_RNDN);
    hc_split(x, want);
    mpfr_clears(alpha, x, y, (mpfr_ptr)0);
}

hc_reference hc_reference_scale;
void hc_reference_scale(const struct hc_element *e, long precision, struct hc_exact *want)
{
    mpfr_t x;
    mpfr_t s;
    mpfr_inits2(precision, x, s, (mpfr_ptr)0);
    hc_load_real(x, &e->call->in[0], e->index);
    hc_load_real(s, &e->call->in[1], 0);
    mpfr_mul(x, x, s, MPFR_RNDN);
    hc_split(x, want);
    mpfr_clears(x, s, (mpfr_ptr)0);
}

static double found_inf(const struct hc_call *call)
{
    int found = call->in[2].data && hc_tensor_get(&call->in[2], 0) != 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[0]); i++)
        found |= !isfinite(hc_tensor_get(&call->in[0], i));
    return found;
}

hc_reference hc_reference_unscale;
void hc_reference_unscale(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t x;
    mpfr_t s;
    mpfr_inits2(precision, x, s, (mpfr_ptr)0);
    hc_load_real(x, &call->in[0], e->out == 0 ? e->index : 0);
    hc_load_real(s, &call->in[1], 0);
    if (call->params.unscale.reciprocal) {
        /* The contract's r: rounded into fp64, then into fp32. */
        mpfr_d_div(s, 1, s, MPFR_RNDN);
        mpfr_set_flt(s, (float)mpfr_get_d(s, MPFR_RNDN), MPFR_RNDN);
        mpfr_mul(x, x, s, MPFR_RNDN);
    } else {
        mpfr_div(x, x, s, MPFR_RNDN);
    }
    if (e->out == 1)
        mpfr_set_d(x, found_inf(call), MPFR_RNDN);
    else if (call->in[3].data && call->in[2].data && hc_tensor_get(&call->in[2], 0) != 0)
        hc_load_real(x, &call->in[3], e->index);
    hc_split(x, want);
    mpfr_clears(x, s, (mpfr_ptr)0);
}
