/* axpy, scale, unscale. alpha is rounded to fp32 before the real arithmetic begins. */
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
    hc_load_real(x, &call->in[HC_X], e->index);
    hc_load_real(y, &call->in[HC_Y], e->index);
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
    hc_load_real(x, &e->call->in[HC_SCALE_X], e->index);
    hc_load_real(s, &e->call->in[HC_SCALE_S], 0);
    mpfr_mul(x, x, s, MPFR_RNDN);
    hc_split(x, want);
    mpfr_clears(x, s, (mpfr_ptr)0);
}

static bool found_inf(const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++)
        found |= !isfinite(hc_tensor_get(&call->in[HC_UNSCALE_X], i));
    return found;
}

hc_reference hc_reference_unscale;
void hc_reference_unscale(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t x;
    mpfr_t s;
    mpfr_inits2(precision, x, s, (mpfr_ptr)0);
    hc_load_real(x, &call->in[HC_UNSCALE_X], e->out == HC_UNSCALE_OUT ? e->index : 0);
    hc_load_real(s, &call->in[HC_UNSCALE_SCALE], 0);
    if (call->params.unscale.reciprocal) {
        /* The contract's r: rounded to fp64, then to fp32. */
        mpfr_d_div(s, 1, s, MPFR_RNDN);
        mpfr_set_flt(s, (float)mpfr_get_d(s, MPFR_RNDN), MPFR_RNDN);
        mpfr_mul(x, x, s, MPFR_RNDN);
    } else {
        mpfr_div(x, x, s, MPFR_RNDN);
    }
    if (e->out == HC_UNSCALE_NEW_FOUND_INF)
        mpfr_set_d(x, found_inf(call), MPFR_RNDN);
    else if (call->in[HC_UNSCALE_OVERRIDE].data && hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]))
        hc_load_real(x, &call->in[HC_UNSCALE_OVERRIDE], e->index);
    hc_split(x, want);
    mpfr_clears(x, s, (mpfr_ptr)0);
}
