/* Floating-point formats as plain data. */
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

/* What a value beyond the largest finite one becomes when rounded to nearest. */
enum hc_overflow {
    HC_OVERFLOW_INF,
    HC_OVERFLOW_NAN,     /* OCP e4m3 in its non-saturating mode, which has no infinity */
    HC_OVERFLOW_SATURATE /* integers */
};

struct hc_format_info {
    const char *name;
    int precision; /* significand bits with the hidden one; of an integer all bits but the sign */
    int emin;      /* exponent of the smallest normal number, 1.0 * 2^emin */
    int emax;      /* exponent of the largest finite number */
    int bytes;     /* of storage; tf32 is stored in an fp32 whose low 13 bits are zero */
    int bits;      /* of the encoding that carry information */
    enum hc_overflow overflow;
};

extern const struct hc_format_info hc_formats[HC_FORMAT_COUNT];

/* Whether the format holds integers alone. */
HC_INLINE int hc_is_integer(const struct hc_format_info *f)
{
    return f->overflow == HC_OVERFLOW_SATURATE;
}

/* Whether it is a float of one byte: e4m3 or e5m2. */
HC_INLINE int hc_is_fp8(enum hc_format format)
{
    return format == HC_E4M3 || format == HC_E5M2;
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

/* The value of the bits. It is exact, since every format's values are values of fp64. */
double hc_decode(enum hc_format format, uint64_t bits);

/* value rounded to the format's nearest: hc_decode(hc_encode(...)). */
double hc_round(enum hc_format format, double value);

/* The largest finite value; the smallest positive one; the unit roundoff u = 2^-precision, half the
   distance from 1 to the next value. */
double hc_format_max(enum hc_format format);
double hc_format_tiny(enum hc_format format);
double hc_format_unit(enum hc_format format);

#ifdef __cplusplus
}
#endif

#endif
