/* Floating-point formats as plain data. Functions assert that format and direction exist. */
#ifndef HC_NUM_FORMAT_H
#define HC_NUM_FORMAT_H

#include <stdint.h>

#include "num/inline.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hc_format {
    HC_FP64,
    HC_FP32,
    HC_TF32,
    HC_BF16,
    HC_FP16,
    HC_E4M3,
    HC_E5M2,
    HC_E4M3FNUZ,
    HC_E5M2FNUZ,
    HC_E2M3,
    HC_E3M2,
    HC_E2M1,
    HC_E8M0,
    HC_UE4M3,
    HC_I32,
    HC_U8,
    HC_FORMAT_COUNT
};

enum hc_direction {
    HC_NEAREST, /* ties to even */
    HC_TOWARD_ZERO,
    HC_UPWARD,
    HC_DOWNWARD,
    HC_DIRECTION_COUNT
};

/* Which codes are no numbers, and with that what a value beyond the largest finite number, M,
   becomes when it is rounded to nearest without saturation. */
enum hc_special {
    HC_SPECIAL_IEEE,   /* the largest exponent field: infinity where the fraction is 0, else NaN */
    HC_SPECIAL_FN,     /* OCP's e4m3: all ones but the sign is NaN; what is too large becomes NaN */
    HC_SPECIAL_FNUZ,   /* AMD's: the sign bit alone is NaN; no -0; what is too large becomes NaN */
    HC_SPECIAL_NONE,   /* MX's elements: no NaN, no infinity; what is too large becomes M with its
                        sign, and NaN becomes +M, as CUDA's conversions have it */
    HC_SPECIAL_E8M0,   /* a power of two: no sign, no zero; 0 becomes the smallest, 2^-127, and what
                        is too large NaN */
    HC_SPECIAL_INTEGER /* saturates; NaN becomes 0 */
};

struct hc_format_info {
    const char *name;
    int precision; /* significand bits with the hidden one; of an integer all bits but the sign */
    int emin;      /* exponent of the smallest normal number, 1.0 * 2^emin */
    int emax;      /* exponent of the largest finite number */
    int bytes;     /* of storage; tf32 is stored in an fp32 whose low 13 bits are zero, and formats
                      of less than 8 bits in the low bits of a byte */
    int bits;      /* of the encoding that carry information */
    int sign;      /* bits of the sign, 1 or 0; without one, a number's sign is dropped */
    enum hc_special special;
};

extern const struct hc_format_info hc_formats[HC_FORMAT_COUNT];

/* Whether the format holds integers alone. */
HC_INLINE int hc_is_integer(const struct hc_format_info *f)
{
    return f->special == HC_SPECIAL_INTEGER;
}

/* Zero bits below the encoding in storage: tf32's. */
HC_INLINE int hc_format_shift(const struct hc_format_info *f)
{
    return f->bytes == 4 ? 32 - f->bits : 0;
}

/* Whether it is one of AMD's formats of one byte. */
HC_INLINE int hc_is_fnuz(enum hc_format format)
{
    return format == HC_E4M3FNUZ || format == HC_E5M2FNUZ;
}

/* Whether it is e4m3 or e5m2, OCP's or AMD's: the formats of one byte that matrix products take as
   they are. */
HC_INLINE int hc_is_fp8(enum hc_format format)
{
    return format == HC_E4M3 || format == HC_E5M2 || hc_is_fnuz(format);
}

extern const char *const hc_direction_names[HC_DIRECTION_COUNT];

/* The format of this name, or HC_FORMAT_COUNT. */
enum hc_format hc_format_by_name(const char *name);

/* The bits of the real number hi + lo rounded into the format in `direction`. Only the sign of lo
   matters: lo is 0 if hi is the number, and otherwise has the sign of the difference, which is less
   than half an ulp of hi in fp64. NaN gives the format's quiet NaN with the sign of hi. An integer
   format saturates, and takes NaN to 0. This is plain integer arithmetic, and the definition with
   which the fast conversions are compared. */
uint64_t hc_encode(enum hc_format format, double hi, double lo, enum hc_direction direction);

/* The same, but what is too large, and infinity, become M with their sign, in every direction. What
   is too large is decided after rounding: what rounds to M is not. NaN stays NaN where there is
   one. */
uint64_t hc_encode_saturated(enum hc_format format, double hi, double lo,
                             enum hc_direction direction);

/* The value of the bits. It is exact, since every format's values are values of fp64. */
double hc_decode(enum hc_format format, uint64_t bits);

/* value rounded to the format's nearest: hc_decode(hc_encode(...)). */
double hc_round(enum hc_format format, double value);

/* A number as fp32 holds it, or `as_given`. */
HC_INLINE double hc_single(double number, int as_given)
{
    return as_given ? number : (double)(float)number;
}

/* The largest finite value; the smallest positive one; the unit roundoff u = 2^-precision, half the
   distance from 1 to the next value. */
double hc_format_max(enum hc_format format);
double hc_format_tiny(enum hc_format format);
double hc_format_unit(enum hc_format format);

#ifdef __cplusplus
}
#endif

#endif
