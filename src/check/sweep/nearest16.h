/* A real number that lies at a double or beside it, rounded once into fp16 or bf16. */
#ifndef HC_CHECK_SWEEP_NEAREST16_H
#define HC_CHECK_SWEEP_NEAREST16_H

#include "num/bits.h"
#include "num/format.h"

/* What the rounding needs to know of a format, as bits of doubles. */
struct hc_nearest16 {
    int cut;           /* bits of a double's fraction that the format lacks */
    uint64_t bias;     /* difference of the exponents' biases, at the exponent's place */
    uint64_t normal;   /* the smallest normal value */
    uint64_t anchor;   /* a power of two whose ulp is the smallest subnormal */
    uint64_t infinity; /* codes */
    uint64_t nan;
};

static const struct hc_nearest16 hc_nearest_fp16 = {
    42, 0x3f00000000000000u, 0x3f10000000000000u, 0x41b0000000000000u, 0x7c00, 0x7e00};
static const struct hc_nearest16 hc_nearest_bf16 = {
    45, 0x3800000000000000u, 0x3810000000000000u, 0x3ae0000000000000u, 0x7f80, 0x7fc0};

/* The code nearest to `value` plus something of the sign of `rest` that is smaller than half an ulp
   of value (rest NaN counts as 0: value is infinite or NaN then). First value is moved to the odd
   neighbour on the real number's side, which no tie and no code can be (Boldo and Melquiond 2008);
   53 bits are far more than the 11 + 2 needed. A subnormal result is what adding the anchor leaves
   in the last bits; a normal one is cut by integer arithmetic. */
HC_INLINE uint16_t hc_nearest16(const struct hc_nearest16 *f, double value, double rest)
{
    uint64_t bits = hc_fp64_bits(value);
    uint64_t sign = bits >> 63;
    uint64_t magnitude = bits & 0x7fffffffffffffffu;
    double outward = hc_fp64_value(hc_fp64_bits(rest) ^ sign << 63);
    uint64_t beyond = outward > 0;
    uint64_t short_of = outward < 0;
    uint64_t odd = (magnitude - short_of) | beyond | short_of;
    uint64_t half = ((uint64_t)1 << (f->cut - 1)) - 1;
    uint64_t rebased = odd - f->bias;
    uint64_t normal = (rebased + half + (rebased >> f->cut & 1)) >> f->cut;
    double anchored = hc_fp64_value(odd) + hc_fp64_value(f->anchor);
    uint64_t subnormal = hc_fp64_bits(anchored) - f->anchor;
    /* Masks instead of branches: these loops are vectorised. */
    uint64_t code = normal ^ ((normal ^ subnormal) & (0 - (uint64_t)(odd < f->normal)));
    code ^= (code ^ f->infinity) & (0 - (uint64_t)(code > f->infinity));
    code ^= (code ^ f->nan) & (0 - (uint64_t)(magnitude > 0x7ff0000000000000u));
    return (uint16_t)(sign << 15 | code);
}

#endif
