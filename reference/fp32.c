#include "reference/fp32.h"

#include "reference/split.h"

static double rounded(mpfr_t x)
{
    struct hc_exact exact;
    hc_split(x, &exact);
    return hc_decode(HC_FP32, hc_encode(HC_FP32, exact.hi, exact.lo, HC_NEAREST));
}

/* What MPFR's function of an mpfr_t and a double gives, rounded to fp32. */
static double of_both(double x, double y,
                      int (*function)(mpfr_ptr, mpfr_srcptr, double, mpfr_rnd_t))
{
    mpfr_t z;
    mpfr_init2(z, HC_REFERENCE_PRECISION);
    mpfr_set_d(z, x, MPFR_RNDN);
    (void)function(z, z, y, MPFR_RNDN);
    double fp32 = rounded(z);
    mpfr_clear(z);
    return fp32;
}

double hc_fp32_quotient(double x, double y)
{
    return of_both(x, y, mpfr_div_d);
}

double hc_fp32_product(double x, double y)
{
    return of_both(x, y, mpfr_mul_d);
}

double hc_fp32_log2(double x)
{
    mpfr_t l;
    mpfr_init2(l, HC_REFERENCE_PRECISION);
    mpfr_set_d(l, x, MPFR_RNDN);
    mpfr_log2(l, l, MPFR_RNDN);
    double fp32 = rounded(l);
    mpfr_clear(l);
    return fp32;
}
