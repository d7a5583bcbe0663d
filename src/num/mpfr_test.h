/* For tests alone: the correctly rounded encoding according to MPFR, which shares nothing with
   num/format.c but the table of formats. */
#ifndef HC_NUM_MPFR_TEST_H
#define HC_NUM_MPFR_TEST_H

#include <mpfr.h>
#include <stdbool.h>

#include "num/format.h"

static const mpfr_rnd_t mpfr_direction[HC_DIRECTION_COUNT] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDU,
                                                              MPFR_RNDD};

/* The largest numbers of the formats without infinities, of which OCP's and AMD's texts speak. */
static const double mpfr_most[HC_FORMAT_COUNT] = {
    [HC_E4M3] = 448, [HC_E4M3FNUZ] = 240, [HC_E5M2FNUZ] = 57344, [HC_E2M3] = 7.5,
    [HC_E3M2] = 28,  [HC_E2M1] = 6,       [HC_E8M0] = 0x1p127,   [HC_UE4M3] = 448,
};

/* What is too large, or infinite, in a format without infinities: NaN, or the largest number where
   there is no NaN, or in a direction that leads back. */
static inline void mpfr_end(mpfr_t x, enum hc_format format, mpfr_rnd_t rnd, bool finite)
{
    mpfr_t most;
    mpfr_init2(most, 53);
    mpfr_set_d(most, mpfr_most[format], MPFR_RNDN);
    if (mpfr_cmpabs(x, most) > 0) {
        bool back =
            finite && (rnd == MPFR_RNDZ || rnd == (mpfr_signbit(x) ? MPFR_RNDU : MPFR_RNDD));
        mpfr_setsign(most, most, mpfr_signbit(x), MPFR_RNDN);
        if (back || hc_formats[format].special == HC_SPECIAL_NONE)
            (void)mpfr_set(x, most, MPFR_RNDN);
        else
            mpfr_set_nan(x);
    }
    mpfr_clear(most);
}

/* Rounds x in place as MPFR does it with the format's precision and exponents. In a format without
   infinities the exponent is not limited, and mpfr_end limits what comes. A format without a sign
   takes magnitudes, and e8m0, which has no zero, its smallest number instead. At its precision of 1
   MPFR rounds ties up: of the truncated significand, 1, and the next one, 2, the latter is even. */
static inline void mpfr_round_into(mpfr_t x, enum hc_format format, enum hc_direction direction)
{
    const struct hc_format_info *f = &hc_formats[format];
    mpfr_exp_t emin = mpfr_get_emin();
    mpfr_exp_t emax = mpfr_get_emax();
    mpfr_rnd_t rnd = mpfr_direction[direction];
    bool finite = mpfr_number_p(x) != 0;
    if (!f->sign)
        mpfr_abs(x, x, MPFR_RNDN);
    mpfr_set_emin(f->emin - f->precision + 2);
    if (mpfr_most[format] == 0)
        mpfr_set_emax(f->emax + 1);
    int ternary = mpfr_prec_round(x, f->precision, rnd);
    ternary = mpfr_check_range(x, ternary, rnd);
    mpfr_subnormalize(x, ternary, rnd);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    if (mpfr_most[format] != 0 && !mpfr_nan_p(x))
        mpfr_end(x, format, rnd, finite);
    if (f->special == HC_SPECIAL_FNUZ && mpfr_zero_p(x))
        mpfr_setsign(x, x, 0, MPFR_RNDN);
    if (f->special == HC_SPECIAL_E8M0 && mpfr_zero_p(x))
        mpfr_set_ui_2exp(x, 1, f->emin, MPFR_RNDN);
}

/* The same, but what became infinite, or NaN without having been one, is the largest number. */
static inline void mpfr_saturate_into(mpfr_t x, enum hc_format format, enum hc_direction direction)
{
    const struct hc_format_info *f = &hc_formats[format];
    bool nan = mpfr_nan_p(x) != 0;
    int sign = f->sign && mpfr_signbit(x);
    mpfr_round_into(x, format, direction);
    if (nan || mpfr_number_p(x))
        return;
    mpfr_set_d(x, mpfr_most[format], MPFR_RNDN);
    if (mpfr_most[format] == 0) { /* 2^p - 1 units in the last place */
        mpfr_set_ui_2exp(x, 1, f->precision, MPFR_RNDN);
        mpfr_sub_ui(x, x, 1, MPFR_RNDN);
        mpfr_mul_2si(x, x, f->emax - f->precision + 1, MPFR_RNDN);
    }
    mpfr_setsign(x, x, sign, MPFR_RNDN);
}

/* The bits of x, which is a value of the format (`nan` is returned for NaN). */
static inline uint64_t mpfr_bits(mpfr_srcptr x, enum hc_format format, uint64_t nan)
{
    const struct hc_format_info *f = &hc_formats[format];
    int shift = hc_format_shift(f);
    int fraction = f->precision - 1;
    uint64_t sign = (uint64_t)(mpfr_signbit(x) != 0) << (f->bits - 1 + shift);
    if (mpfr_nan_p(x))
        return nan;
    uint64_t ones = ((uint64_t)1 << (f->bits - 1 - fraction)) - 1;
    if (mpfr_inf_p(x))
        return sign | ones << fraction << shift;
    if (mpfr_zero_p(x))
        return sign;
    mpz_t z;
    mpz_init(z);
    mpfr_exp_t e = mpfr_get_z_2exp(z, x);
    long exponent = e + (long)mpz_sizeinbase(z, 2) - 1;
    long lsb = (exponent < f->emin ? f->emin : exponent) - fraction;
    if (e >= lsb)
        mpz_mul_2exp(z, z, (mp_bitcnt_t)(e - lsb));
    else
        mpz_tdiv_q_2exp(z, z, (mp_bitcnt_t)(lsb - e));
    uint64_t integer = mpz_get_ui(z); /* of |z| */
    mpz_clear(z);
    uint64_t biased = exponent < f->emin ? 0 : (uint64_t)(exponent - f->emin);
    if (f->special == HC_SPECIAL_E8M0) /* whose codes are the exponents */
        return biased;
    return sign | ((biased << fraction) + integer) << shift;
}

#endif
