/* Leaky ReLU. The slope is rounded to fp32 first. */
#include "reference/split.h"

static void leak(mpfr_t x, const struct hc_call *call)
{
    const struct hc_leaky *p = &call->params.leaky;
    mpfr_mul_d(x, x, hc_single(p->slope, p->as_given), MPFR_RNDN);
}

hc_reference hc_reference_leaky_relu;
void hc_reference_leaky_relu(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t x;
    mpfr_init2(x, precision);
    hc_load_real(x, &call->in[HC_LEAKY_X], e->index);
    if (!(hc_tensor_get(&call->in[HC_LEAKY_X], e->index) > 0))
        leak(x, call);
    hc_split(x, want);
    mpfr_clear(x);
}

hc_reference hc_reference_leaky_relu_bwd;
void hc_reference_leaky_relu_bwd(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t dy;
    mpfr_init2(dy, precision);
    hc_load_real(dy, &call->in[HC_LEAKY_BWD_DY], e->index);
    if (!(hc_tensor_get(&call->in[HC_LEAKY_BWD_Y], e->index) > 0))
        leak(dy, call);
    hc_split(dy, want);
    mpfr_clear(dy);
}
