#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "num/bits.h"
#include "num/format.h"
#include "num/mpfr_test.h"
#include "num/rng.h"
#include "num/ulp.h"

static uint64_t correct(enum hc_format format, double value, double lo, enum hc_direction direction,
                        bool saturate)
{
    mpfr_t x;
    mpfr_init2(x, 2400);
    mpfr_set_d(x, value, MPFR_RNDN);
    mpfr_add_d(x, x, lo, MPFR_RNDN);
    if (mpfr_zero_p(x))
        mpfr_setsign(x, x, signbit(value), MPFR_RNDN);
    saturate ? mpfr_saturate_into(x, format, direction) : mpfr_round_into(x, format, direction);
    uint64_t nan = hc_encode(format, copysign((double)NAN, value), 0, HC_NEAREST);
    uint64_t bits = mpfr_bits(x, format, nan);
    mpfr_clear(x);
    return bits;
}

/* In every direction, saturating and not, and with lo on either side. */
static void holds_at(enum hc_format format, double value)
{
    double tiny = isfinite(value) ? ldexp(hc_ulp(HC_FP64, value), -9) : 0;
    for (int side = -1; side <= 1; side++)
        for (int d = 0; d < 2 * HC_DIRECTION_COUNT; d++) {
            enum hc_direction direction = (enum hc_direction)(d / 2);
            bool saturate = d % 2;
            uint64_t want = correct(format, value, side * tiny, direction, saturate);
            uint64_t got =
                (saturate ? hc_encode_saturated : hc_encode)(format, value, side * tiny, direction);
            cr_assert_eq(want, got, "%s %s%s: %a with %d: want %#llx, got %#llx",
                         hc_formats[format].name, hc_direction_names[direction],
                         saturate ? " saturated" : "", value, side, (unsigned long long)want,
                         (unsigned long long)got);
        }
}

static void holds_around(enum hc_format format, double value)
{
    holds_at(format, value);
    holds_at(format, -value);
    if (isfinite(value)) {
        holds_at(format, nextafter(value, INFINITY));
        holds_at(format, -nextafter(value, INFINITY));
        holds_at(format, nextafter(value, 0));
        holds_at(format, -nextafter(value, 0));
    }
}

/* Codes 0, 1, ... of the positive half: every value, and half and a quarter of the way to the
   next. */
static void every_code(enum hc_format format, uint64_t step)
{
    const struct hc_format_info *f = &hc_formats[format];
    int shift = hc_format_shift(f);
    uint64_t end = (hc_encode_saturated(format, (double)INFINITY, 0, HC_NEAREST) >> shift) + 1;
    for (uint64_t code = 0; code <= end; code += step) {
        double value = hc_decode(format, code << shift);
        double ulp = hc_ulp(format, value);
        holds_around(format, value);
        if (!isfinite(value))
            continue;
        holds_around(format, value + ulp / 2);
        holds_around(format, value + ulp / 4);
    }
}

Test(format, encoding_is_mpfrs_rounding_at_every_boundary_of_the_formats_below_half)
{
    every_code(HC_E4M3, 1);
    every_code(HC_E5M2, 1);
    every_code(HC_E4M3FNUZ, 1);
    every_code(HC_E5M2FNUZ, 1);
    every_code(HC_E2M3, 1);
    every_code(HC_E3M2, 1);
    every_code(HC_E2M1, 1);
    every_code(HC_E8M0, 1);
    every_code(HC_UE4M3, 1);
}

Test(format, encoding_is_mpfrs_rounding_at_every_other_boundary_of_the_16_bit_formats)
{
    every_code(HC_FP16, 61);
    every_code(HC_BF16, 61);
}

Test(format, encoding_is_mpfrs_rounding_at_boundaries_of_the_wider_formats)
{
    every_code(HC_TF32, 1031);
    every_code(HC_FP32, 8388593);
    every_code(HC_FP64, 4503599627370449);
}

Test(format, encoding_is_mpfrs_rounding_on_random_values)
{
    for (uint64_t i = 0; i < 40000; i++) {
        enum hc_format format = (enum hc_format)(i % HC_I32);
        holds_at(format, hc_fp64_value(hc_random(1, 0, i)));
        const struct hc_format_info *f = &hc_formats[format];
        int exponent = f->emin - f->precision - 2 +
                       (int)(hc_random_uniform(1, 1, i) * (f->emax - f->emin + f->precision + 4));
        holds_at(format, ldexp(1 + hc_random_uniform(1, 2, i), exponent));
    }
}

Test(format, every_code_of_every_narrow_format_survives_decoding_and_encoding)
{
    static const enum hc_format narrow[] = {HC_TF32, HC_BF16,     HC_FP16,     HC_E4M3,
                                            HC_E5M2, HC_E4M3FNUZ, HC_E5M2FNUZ, HC_E2M3,
                                            HC_E3M2, HC_E2M1,     HC_E8M0,     HC_UE4M3};
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
        const struct hc_format_info *f = &hc_formats[narrow[i]];
        int shift = hc_format_shift(f);
        for (uint64_t code = 0; code < (uint64_t)1 << f->bits; code++) {
            double value = hc_decode(narrow[i], code << shift);
            for (int d = 0; d < HC_DIRECTION_COUNT && !isnan(value); d++)
                cr_assert_eq(hc_encode(narrow[i], value, 0, (enum hc_direction)d), code << shift);
        }
    }
}

Test(format, decoding_is_the_definition_of_the_encoding)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        int biased = (int)(bits >> 10 & 31);
        int fraction = (int)(bits & 1023);
        double magnitude = biased == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                           : biased == 0 ? fraction * 0x1p-24
                                         : (1024 + fraction) * ldexp(1, biased - 25);
        double want = bits >> 15 ? -magnitude : magnitude;
        double got = hc_decode(HC_FP16, bits);
        cr_assert(isnan(want) ? isnan(got) : hc_fp64_bits(want) == hc_fp64_bits(got));
        float wide = hc_fp32_value(bits << 16);
        got = hc_decode(HC_BF16, bits);
        cr_assert(isnan(wide) ? isnan(got) : hc_fp64_bits((double)wide) == hc_fp64_bits(got));
    }
    cr_assert_eq(hc_decode(HC_E4M3, 0x7e), 448);
    cr_assert(isnan(hc_decode(HC_E4M3, 0x7f)));
    cr_assert_eq(hc_decode(HC_E5M2, 0x7b), 57344);
    cr_assert_eq(hc_decode(HC_E5M2, 0xfc), -INFINITY);
    cr_assert_eq(hc_decode(HC_FP64, hc_fp64_bits(0x1.23456789abcdep-1060)),
                 0x1.23456789abcdep-1060);
}

Test(format, integers_round_like_mpfrs_and_saturate)
{
    for (uint64_t i = 0; i < 100000; i++) {
        int32_t half = (int32_t)hc_random(2, 0, i) >> (i % 32);
        double value = half * 0.5;
        double lo = (double)((int)(i % 3) - 1) * 0x1p-40;
        for (int d = 0; d < HC_DIRECTION_COUNT; d++) {
            mpfr_t x;
            mpfr_init2(x, 120);
            mpfr_set_d(x, value, MPFR_RNDN);
            mpfr_add_d(x, x, lo, MPFR_RNDN);
            int64_t want = mpfr_get_si(x, mpfr_direction[d]);
            mpfr_clear(x);
            int64_t got = (int32_t)(uint32_t)hc_encode(HC_I32, value, lo, (enum hc_direction)d);
            cr_assert_eq(want, got, "%s: %a%+g", hc_direction_names[d], value, lo);
            int64_t byte = want < 0 ? 0 : want > 255 ? 255 : want;
            got = (int64_t)hc_encode(HC_U8, value, lo, (enum hc_direction)d);
            cr_assert_eq(byte, got, "u8 %s: %a%+g", hc_direction_names[d], value, lo);
        }
    }
    cr_assert_eq(hc_encode(HC_I32, 1e10, 0, HC_NEAREST), 0x7fffffff);
    cr_assert_eq(hc_encode(HC_I32, -INFINITY, 0, HC_NEAREST), 0x80000000u);
    cr_assert_eq(hc_encode(HC_I32, (double)NAN, 0, HC_NEAREST), 0);
    cr_assert_eq(hc_encode(HC_U8, INFINITY, 0, HC_NEAREST), 255);
    for (uint64_t code = 0; code < 256; code++) {
        cr_assert_eq(hc_decode(HC_U8, code), (double)code);
        cr_assert_eq(hc_encode(HC_U8, (double)code, 0, HC_NEAREST), code);
        cr_assert_eq(hc_ulp_distance(HC_U8, code, 255), 255 - code);
    }
    cr_assert_eq(hc_format_max(HC_I32), INT32_MAX);
    cr_assert_eq(hc_format_max(HC_U8), 255);
    cr_assert_eq(hc_format_tiny(HC_U8), 1);
}

Test(format, the_facts_of_each_format_agree_with_each_other)
{
    static const double most[] = {
        DBL_MAX, (double)FLT_MAX, 0x1.ffcp127, 0x1.fep127, 65504, 448,     57344,
        240,     57344,           7.5,         28,         6,     0x1p127, 448};
    static const double least[] = {0x1p-1074, 0x1p-149, 0x1p-136, 0x1p-133, 0x1p-24,
                                   0x1p-9,    0x1p-16,  0x1p-10,  0x1p-17,  0x1p-3,
                                   0x1p-4,    0x1p-1,   0x1p-127, 0x1p-9};
    for (int f = 0; f < HC_I32; f++) {
        enum hc_format format = (enum hc_format)f;
        cr_assert_eq(hc_format_max(format), most[f]);
        cr_assert_eq(hc_format_tiny(format), least[f]);
        cr_assert_eq(hc_format_unit(format), hc_ulp(format, 1) / 2);
        cr_assert_eq(hc_format_by_name(hc_formats[f].name), format);
        cr_assert_eq(hc_decode(format, hc_encode(format, least[f], 0, HC_NEAREST)), least[f]);
        cr_assert_eq(hc_decode(format, hc_encode(format, most[f], 0, HC_NEAREST)), most[f]);
        cr_assert_eq(hc_ulp_distance(format, hc_encode(format, 1, 0, HC_NEAREST),
                                     hc_encode(format, 2, 0, HC_NEAREST)),
                     (uint64_t)1 << (hc_formats[f].precision - 1));
    }
    cr_assert_eq(hc_format_by_name("fp17"), HC_FORMAT_COUNT);
}

Test(format, the_named_claims_of_half_precision)
{
    cr_assert_eq(hc_encode(HC_FP16, 65519, 0, HC_NEAREST), 0x7bff);
    cr_assert_eq(hc_encode(HC_FP16, 65520, 0, HC_NEAREST), 0x7c00);
    cr_assert_eq(hc_encode(HC_FP16, 65520, -1e-12, HC_NEAREST), 0x7bff);
    cr_assert_eq(hc_encode(HC_FP16, 0x1p-25, 0, HC_NEAREST), 0);
    cr_assert_eq(hc_encode(HC_FP16, 0x1p-25, 1e-30, HC_NEAREST), 1);
    cr_assert_eq(hc_encode(HC_FP16, 0, -1e-300, HC_DOWNWARD), 0x8001);
    cr_assert_eq(hc_encode(HC_E4M3, 464, 0, HC_NEAREST), 0x7e);
    cr_assert_eq(hc_encode(HC_E4M3, 465, 0, HC_NEAREST), 0x7f);
}

/* Each dies of its assertion, and reads no table past its end. */
static void take_format(int function, enum hc_format format, enum hc_direction direction)
{
    volatile double used = 0;
    switch (function) {
    case 0:
        used = (double)hc_encode(format, 1, 0, direction);
        break;
    case 1:
        used = (double)hc_encode_saturated(format, 1, 0, direction);
        break;
    case 2:
        used = hc_decode(format, 0);
        break;
    case 3:
        used = hc_round(format, 1);
        break;
    case 4:
        used = hc_format_max(format);
        break;
    case 5:
        used = hc_format_tiny(format);
        break;
    case 6:
        used = hc_format_unit(format);
        break;
    case 7:
        used = hc_ulp(format, 1);
        break;
    case 8:
        used = hc_half_ulp(format, 1);
        break;
    case 9:
        used = (double)hc_ulp_distance(format, 0, 1);
        break;
    default:
        used = hc_format_by_name(NULL);
    }
    (void)used;
}

/* The signal that a child dies of, or 0. */
static int dies_of(int function, enum hc_format format, enum hc_direction direction)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        take_format(function, format, direction);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Test(format, what_is_no_format_or_direction_ends_in_an_assertion)
{
    enum { FUNCTIONS = 10 };
    const enum hc_format none[] = {HC_FORMAT_COUNT, hc_format_by_name("fp61"), (enum hc_format) - 1,
                                   (enum hc_format)1000};
    for (int f = 0; f < FUNCTIONS; f++) {
        cr_expect_eq(dies_of(f, HC_BF16, HC_NEAREST), 0, "function %d", f);
        for (size_t i = 0; i < sizeof none / sizeof *none; i++)
            cr_expect_eq(dies_of(f, none[i], HC_NEAREST), SIGABRT, "function %d", f);
    }
    for (int f = 0; f < 2; f++) {
        cr_expect_eq(dies_of(f, HC_FP16, HC_DIRECTION_COUNT), SIGABRT);
        cr_expect_eq(dies_of(f, HC_E2M1, (enum hc_direction) - 1), SIGABRT);
    }
    cr_expect_eq(dies_of(FUNCTIONS, HC_FP16, HC_NEAREST), SIGABRT);
}

Test(ulp, is_the_gap_to_the_next_value_away_from_zero)
{
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        double value = hc_decode(HC_FP16, bits);
        cr_assert_eq(hc_ulp(HC_FP16, value), hc_decode(HC_FP16, bits + 1) - value);
        cr_assert_eq(hc_ulp(HC_FP16, -value), hc_ulp(HC_FP16, value));
    }
    for (uint32_t bits = 0; bits < 0x7f7f; bits++) {
        double value = hc_decode(HC_BF16, bits);
        cr_assert_eq(hc_ulp(HC_BF16, value), hc_decode(HC_BF16, bits + 1) - value);
    }
    for (uint32_t bits = 0; bits < 0x7e; bits++)
        cr_assert_eq(hc_ulp(HC_E4M3, hc_decode(HC_E4M3, bits)),
                     hc_decode(HC_E4M3, bits + 1) - hc_decode(HC_E4M3, bits));
}

Test(ulp, has_an_answer_beyond_the_format)
{
    cr_assert_eq(hc_ulp(HC_FP16, 65504), 32);
    cr_assert_eq(hc_ulp(HC_FP16, 1e9), 32);
    cr_assert_eq(hc_ulp(HC_FP16, INFINITY), 32);
    cr_assert_eq(hc_ulp(HC_FP16, 1e-30), 0x1p-24);
    cr_assert_eq(hc_ulp(HC_FP32, 0x1p-140), 0x1p-149);
    cr_assert(isnan(hc_ulp(HC_FP16, NAN)));
    cr_assert_eq(hc_ulp(HC_I32, 12345), 1);
}

Test(ulp, half_of_it_is_0_nowhere)
{
    cr_assert_eq(hc_half_ulp(HC_FP32, 1), 0x1p-24);
    cr_assert_eq(hc_half_ulp(HC_FP32, 0), 0x1p-150);
    cr_assert_eq(hc_half_ulp(HC_FP64, 1), 0x1p-53);
    cr_assert_eq(hc_half_ulp(HC_FP64, 0x1p-1021), 0x1p-1074);
    cr_assert_eq(hc_half_ulp(HC_FP64, 0), 0x1p-1074);
    cr_assert(isnan(hc_half_ulp(HC_FP64, NAN)));
}

Test(ulp, neighbours_are_one_apart)
{
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        cr_assert_eq(hc_ulp_distance(HC_FP16, bits, bits + 1), 1);
        cr_assert_eq(hc_ulp_distance(HC_FP16, bits | 0x8000, bits + 1 + 0x8000), 1);
        cr_assert_eq(hc_ulp_distance(HC_FP16, bits, bits), 0);
    }
    cr_assert_eq(hc_ulp_distance(HC_TF32, 0x3f800000, 0x3f802000), 1);
    cr_assert_eq(hc_ulp_distance(HC_FP64, hc_fp64_bits(1), hc_fp64_bits(nextafter(1, 2))), 1);
    cr_assert_eq(hc_ulp_distance(HC_I32, 0xffffffffu, 1), 2);
}

Test(ulp, distance_across_zero_infinity_and_nan)
{
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0, 0x8000), 0);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 1, 0x8001), 2);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7bff, 0x7c00), 1);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7c00, 0xfc00), 0xf800);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7e00, 0xfc01), 0);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0x7e00, 0x7c00), UINT64_MAX);
    cr_assert_eq(hc_ulp_distance(HC_FP16, 0, 0x7e00), UINT64_MAX);
    cr_assert_eq(hc_ulp_distance(HC_FP64, hc_fp64_bits(INFINITY), hc_fp64_bits(-INFINITY)),
                 0xffe0000000000000u);
}
