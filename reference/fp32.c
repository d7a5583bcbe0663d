#include "reference/fp32.h"

#include "reference/split.h"

static double rounded(mpfr_t x)
{
    struct hc_exact exact;
    hc_split(x, &exact);
    return hc_decode(HC_FP32, hc_encode(HC_FP32, exact.hi, exact.lo, HC_NEAREST));
}

double hc_fp32_quotient(double x, double y)
{
    mpfr_t q;
    mpfr_init2(q, HC_REFERENCE_PRECISION);
    mpfr_set_d(q, x, MPFR_RNDN);
    mpfr_div_d(q, q, y, MPFR_RNDN);
    double fp32 = rounded(q);
    mpfr_clear(q);
    return fp32;
}

double hc_fp32_product(double x, double y)
{
    mpfr_t p;
    mpfr_init2(p, HC_REFERENCE_PRECISION);
    mpfr_set_d(p, x, MPFR_RNDN);
    mpfr_mul_d(p, p, y, MPFR_RNDN);
    double fp32 = rounded(p);
    mpfr_clear(p);
    return fp32;
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
