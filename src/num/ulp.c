#include "num/ulp.h"

#include <assert.h>
#include <math.h>

double hc_ulp(enum hc_format format, double value)
{
    assert((unsigned)format < HC_FORMAT_COUNT);
    const struct hc_format_info *f = &hc_formats[format];
    if (isnan(value))
        return (double)NAN;
    if (hc_is_integer(f))
        return 1;
    int exponent = f->emin;
    if (isinf(value))
        exponent = f->emax;
    else if (value != 0)
        exponent = ilogb(value);
    if (exponent < f->emin)
        exponent = f->emin;
    if (exponent > f->emax)
        exponent = f->emax;
    return ldexp(1, exponent - f->precision + 1);
}

double hc_half_ulp(enum hc_format format, double value)
{
    double ulp = hc_ulp(format, value);
    return ulp > 0x1p-1074 ? ulp / 2 : ulp;
}

/* Maps sign and magnitude to integers, so that neighbours of the format differ by one. */
static int64_t place_of_bits(enum hc_format format, uint64_t bits)
{
    const struct hc_format_info *f = &hc_formats[format];
    if (hc_is_integer(f))
        return (int64_t)hc_decode(format, bits);
    bits >>= hc_format_shift(f);
    int64_t magnitude = (int64_t)(bits & (((uint64_t)1 << (f->bits - f->sign)) - 1));
    return f->sign && bits >> (f->bits - 1) & 1 ? -magnitude : magnitude;
}

uint64_t hc_ulp_distance(enum hc_format format, uint64_t want, uint64_t got)
{
    int want_nan = isnan(hc_decode(format, want));
    int got_nan = isnan(hc_decode(format, got));
    if (want_nan || got_nan)
        return want_nan && got_nan ? 0 : UINT64_MAX;
    int64_t a = place_of_bits(format, want);
    int64_t b = place_of_bits(format, got);
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}
