/* The operations of IEEE 754, and the casts: the real result, which the caller rounds. */
#include "reference/split.h"

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
