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
    HC_OVERFLOW_NAN,     /* no infinities: OCP e4m3 in its non-saturating mode */
    HC_OVERFLOW_SATURATE /* integers */
};

struct hc_format_info {
    const char *name;
    int precision; /* significand bits, the hidden one counted; of an integer all but the sign */
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

extern const char *const hc_direction_names[HC_DIRECTION_COUNT];

/* The format of that name, or HC_FORMAT_COUNT. */
enum hc_format hc_format_by_name(const char *name);

/* Bits of the format's value nearest in `direction` to the real number that lies at `value`, or
   beside it: `rest` has the sign of (real - value) and is 0 when value is exact, |rest| being less
   than half an ulp of value in fp64. This is the definition that the fast conversions are held
   against; it is plain integer arithmetic. NaN gives the format's quiet NaN, sign kept. An integer
   format saturates, and takes NaN to 0. */
uint64_t hc_encode(enum hc_format format, double value, double rest, enum hc_direction direction);

/* The value that the bits mean; exact, since every format's values are values of fp64. */
double hc_decode(enum hc_format format, uint64_t bits);

/* value rounded to the nearest of the format: hc_decode(hc_encode(...)). */
double hc_round(enum hc_format format, double value);

/* Largest finite value, smallest subnormal, and half the distance from 1 to the next value (the
   unit roundoff u = 2^-precision). */
double hc_format_max(enum hc_format format);
double hc_format_tiny(enum hc_format format);
double hc_format_unit(enum hc_format format);

#ifdef __cplusplus
}
#endif

#endif
