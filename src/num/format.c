#include "num/format.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "num/encode.h"
#include "num/ulp.h"

/* e4m3 and e5m2 are those of OCP's OFP8 1.0; e2m3, e3m2, e2m1 and e8m0 those of OCP's MX 1.0; the
   FNUZ formats, whose bias is one more than that of IEEE's pattern, are AMD's (MI300). ue4m3 is
   e4m3 without a sign, for NVFP4's scales. */
const struct hc_format_info hc_formats[HC_FORMAT_COUNT] = {
    [HC_FP64] = {"fp64", 53, -1022, 1023, 8, 64, 1, HC_SPECIAL_IEEE},
    [HC_FP32] = {"fp32", 24, -126, 127, 4, 32, 1, HC_SPECIAL_IEEE},
    [HC_TF32] = {"tf32", 11, -126, 127, 4, 19, 1, HC_SPECIAL_IEEE},
    [HC_BF16] = {"bf16", 8, -126, 127, 2, 16, 1, HC_SPECIAL_IEEE},
    [HC_FP16] = {"fp16", 11, -14, 15, 2, 16, 1, HC_SPECIAL_IEEE},
    [HC_E4M3] = {"e4m3", 4, -6, 8, 1, 8, 1, HC_SPECIAL_FN},
    [HC_E5M2] = {"e5m2", 3, -14, 15, 1, 8, 1, HC_SPECIAL_IEEE},
    [HC_E4M3FNUZ] = {"e4m3fnuz", 4, -7, 7, 1, 8, 1, HC_SPECIAL_FNUZ},
    [HC_E5M2FNUZ] = {"e5m2fnuz", 3, -15, 15, 1, 8, 1, HC_SPECIAL_FNUZ},
    [HC_E2M3] = {"e2m3", 4, 0, 2, 1, 6, 1, HC_SPECIAL_NONE},
    [HC_E3M2] = {"e3m2", 3, -2, 4, 1, 6, 1, HC_SPECIAL_NONE},
    [HC_E2M1] = {"e2m1", 2, 0, 2, 1, 4, 1, HC_SPECIAL_NONE},
    [HC_E8M0] = {"e8m0", 1, -127, 127, 1, 8, 0, HC_SPECIAL_E8M0},
    [HC_UE4M3] = {"ue4m3", 4, -6, 8, 1, 7, 0, HC_SPECIAL_FN},
    [HC_I32] = {"i32", 31, 0, 30, 4, 32, 1, HC_SPECIAL_INTEGER},
    [HC_U8] = {"u8", 8, 0, 7, 1, 8, 0, HC_SPECIAL_INTEGER},
};

const char *const hc_direction_names[HC_DIRECTION_COUNT] = {
    [HC_NEAREST] = "nearest",
    [HC_TOWARD_ZERO] = "toward-zero",
    [HC_UPWARD] = "upward",
    [HC_DOWNWARD] = "downward",
};

/* HC_FORMAT_COUNT, which hc_format_by_name may have given, is no format. */
static const struct hc_format_info *info_of(enum hc_format format)
{
    assert((unsigned)format < HC_FORMAT_COUNT);
    return &hc_formats[format];
}

enum hc_format hc_format_by_name(const char *name)
{
    int f = 0;
    assert(name);
    while (f < HC_FORMAT_COUNT && strcmp(hc_formats[f].name, name) != 0)
        f++;
    return (enum hc_format)f;
}

/* The definition is compiled once for each format, since the compiler then knows the layout. It is
   the same text for all of them. */
#ifdef __GNUC__
#define HC_FLATTEN __attribute__((flatten))
#else
#define HC_FLATTEN
#endif
#define HC_EACH_FORMAT(row)                                                                        \
    row(HC_FP64) row(HC_FP32) row(HC_TF32) row(HC_BF16) row(HC_FP16) row(HC_E4M3) row(HC_E5M2)     \
        row(HC_E4M3FNUZ) row(HC_E5M2FNUZ) row(HC_E2M3) row(HC_E3M2) row(HC_E2M1) row(HC_E8M0)      \
            row(HC_UE4M3) row(HC_I32) row(HC_U8)
#define HC_ONE_MORE(f) f,
enum { LISTED = sizeof((int[]){HC_EACH_FORMAT(HC_ONE_MORE)}) / sizeof(int) };
_Static_assert(LISTED == (int)HC_FORMAT_COUNT, "one is missing");

static inline uint64_t encode(enum hc_format format, double hi, double lo,
                              enum hc_direction direction, int saturate)
{
    assert((unsigned)direction < HC_DIRECTION_COUNT);
    switch (format) {
#define HC_FORMAT_ROW(f)                                                                           \
    case f:                                                                                        \
        return hc_encode_as(&hc_formats[f], hi, lo, direction, saturate);
        HC_EACH_FORMAT(HC_FORMAT_ROW)
#undef HC_FORMAT_ROW
    default:
        return hc_encode_as(info_of(format), hi, lo, direction, saturate);
    }
}

HC_FLATTEN uint64_t hc_encode(enum hc_format format, double hi, double lo,
                              enum hc_direction direction)
{
    return encode(format, hi, lo, direction, 0);
}

HC_FLATTEN uint64_t hc_encode_saturated(enum hc_format format, double hi, double lo,
                                        enum hc_direction direction)
{
    return encode(format, hi, lo, direction, 1);
}

HC_FLATTEN double hc_decode(enum hc_format format, uint64_t bits)
{
    switch (format) {
#define HC_FORMAT_ROW(f)                                                                           \
    case f:                                                                                        \
        return hc_decode_as(&hc_formats[f], bits);
        HC_EACH_FORMAT(HC_FORMAT_ROW)
#undef HC_FORMAT_ROW
    default:
        return hc_decode_as(info_of(format), bits);
    }
}

double hc_round(enum hc_format format, double value)
{
    return hc_decode(format, hc_encode(format, value, 0, HC_NEAREST));
}

/* ldexp(1, exponent) for an exponent of fp64. */
static inline double power_of_two(int exponent)
{
    return exponent >= -1022 ? hc_fp64_value((uint64_t)(exponent + 1023) << 52)
                             : ldexp(1, exponent);
}

double hc_format_max(enum hc_format format)
{
    const struct hc_format_info *f = info_of(format);
    if (hc_is_integer(f))
        return ldexp(1, f->precision) - 1;
    struct hc_layout l = hc_layout_of(f);
    return hc_decode(format, l.largest << l.shift);
}

double hc_format_tiny(enum hc_format format)
{
    const struct hc_format_info *f = info_of(format);
    return hc_is_integer(f) ? 1 : power_of_two(f->emin - f->precision + 1);
}

double hc_format_unit(enum hc_format format)
{
    return power_of_two(-info_of(format)->precision);
}

double hc_ulp(enum hc_format format, double value)
{
    const struct hc_format_info *f = info_of(format);
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
    return power_of_two(exponent - f->precision + 1);
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
