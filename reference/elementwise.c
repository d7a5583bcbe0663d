/* One element of each operand makes one of the result, which the caller rounds. */
#include <math.h>

#include "reference/split.h"

/* The operations of IEEE 754, and the casts. */
static void binary(const struct hc_element *e, long precision, struct hc_exact *want,
                   int (*operation)(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t))
{
    const struct hc_call *call = e->call;
    mpfr_t x;
    mpfr_t y;
    mpfr_inits2(hc_exact_precision(call->in[HC_X].format, precision), x, y, (mpfr_ptr)0);
    hc_load_real(x, &call->in[HC_X], e->index);
    hc_load_real(y, &call->in[HC_Y], e->index);
    operation(x, x, y, MPFR_RNDN);
    hc_split(x, want);
    mpfr_clears(x, y, (mpfr_ptr)0);
}

hc_reference hc_reference_add;
void hc_reference_add(const struct hc_element *e, long precision, struct hc_exact *want)
{
    binary(e, precision, want, mpfr_add);
}

hc_reference hc_reference_sub;
void hc_reference_sub(const struct hc_element *e, long precision, struct hc_exact *want)
{
    binary(e, precision, want, mpfr_sub);
}

hc_reference hc_reference_mul;
void hc_reference_mul(const struct hc_element *e, long precision, struct hc_exact *want)
{
    binary(e, precision, want, mpfr_mul);
}

hc_reference hc_reference_div;
void hc_reference_div(const struct hc_element *e, long precision, struct hc_exact *want)
{
    binary(e, precision, want, mpfr_div);
}

hc_reference hc_reference_sqrt;
void hc_reference_sqrt(const struct hc_element *e, long precision, struct hc_exact *want)
{
    mpfr_t x;
    mpfr_init2(x, precision);
    hc_load_real(x, &e->call->in[HC_X], e->index);
    mpfr_sqrt(x, x, MPFR_RNDN);
    hc_split(x, want);
    mpfr_clear(x);
}

hc_reference hc_reference_fma;
void hc_reference_fma(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t x;
    mpfr_t y;
    mpfr_t z;
    mpfr_inits2(hc_exact_precision(call->in[HC_X].format, precision), x, y, z, (mpfr_ptr)0);
    hc_load_real(x, &call->in[HC_X], e->index);
    hc_load_real(y, &call->in[HC_Y], e->index);
    hc_load_real(z, &call->in[HC_Z], e->index);
    /* The sum may span thousands of bits. If some are cut off, one bit is set below the last one:
       otherwise the caller would see a tie where there is none. */
    if (mpfr_fma(x, x, y, z, MPFR_RNDZ) != 0) {
        mpfr_prec_round(x, precision + 2, MPFR_RNDN);
        if (mpfr_sgn(x) > 0)
            mpfr_nextabove(x);
        else
            mpfr_nextbelow(x);
    }
    hc_split(x, want);
    mpfr_clears(x, y, z, (mpfr_ptr)0);
}

hc_reference hc_reference_cast;
void hc_reference_cast(const struct hc_element *e, long precision, struct hc_exact *want)
{
    mpfr_t x;
    mpfr_init2(x, precision);
    hc_load_real(x, &e->call->in[HC_X], e->index);
    hc_split(x, want);
    mpfr_clear(x);
}

hc_reference hc_reference_master_to_model;
void hc_reference_master_to_model(const struct hc_element *e, long precision, struct hc_exact *want)
{
    hc_reference_cast(e, precision, want);
}

/* axpy, scale, unscale. alpha is rounded to fp32 before the real arithmetic begins. */
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

/* Leaky ReLU. The slope is rounded to fp32 first. */
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

/* stochastic_cast (op/quant.h): |x| is cut to units of 2^-k of the last place that the format has
   at x, the random bits are added to these units, and the sum is cut to that last place. What is
   too large is the caller's. */
hc_reference hc_reference_stochastic_cast;
void hc_reference_stochastic_cast(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_format_info *f = &hc_formats[call->out[HC_STOCHASTIC_OUT].format];
    long k = call->params.stochastic_cast.bits;
    unsigned long word = (unsigned long)hc_tensor_bits(&call->in[HC_STOCHASTIC_WORDS], e->index);
    mpfr_t x;
    mpfr_init2(x, precision);
    hc_load_real(x, &call->in[HC_STOCHASTIC_X], e->index);
    if (mpfr_regular_p(x)) {
        long exponent = (long)mpfr_get_exp(x) - 1;
        long last = (exponent < f->emin ? f->emin : exponent) - f->precision + 1;
        int sign = mpfr_signbit(x);
        mpfr_abs(x, x, MPFR_RNDN);
        mpfr_mul_2si(x, x, k - last, MPFR_RNDN);
        mpfr_floor(x, x);
        mpfr_add_ui(x, x, word & ((1UL << k) - 1), MPFR_RNDN);
        mpfr_div_2si(x, x, k, MPFR_RNDN);
        mpfr_floor(x, x);
        mpfr_mul_2si(x, x, last, MPFR_RNDN);
        mpfr_setsign(x, x, sign, MPFR_RNDN);
    }
    hc_split(x, want);
    mpfr_clear(x);
}
