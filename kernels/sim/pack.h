/* Operands of a matrix unit as the words that the AVX-512 loops read. Included by the files that
   are compiled for AVX-512. */
#ifndef HC_KERNELS_SIM_PACK_H
#define HC_KERNELS_SIM_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/sim/engine.h"

/* The exponent of a zero operand: so low that a product with it never is the largest. */
enum { HC_SIM_ZERO = -16384, HC_SIM_ZERO_PRODUCT = -8192 };

/* Which codes are infinite or NaN: ((code ^ flip) & mask) >= from. */
struct hc_sim_special {
    uint32_t flip, mask, from;
};

static inline struct hc_sim_special hc_sim_special_of(const struct hc_operand_info *o)
{
    uint32_t magnitude = (1u << (o->exponent + o->fraction)) - 1;
    uint32_t fraction = (1u << o->fraction) - 1;
    switch (o->specials) {
    case HC_SPECIALS_IEEE:
        return (struct hc_sim_special){0, magnitude, magnitude - fraction};
    case HC_SPECIALS_TOP:
        return (struct hc_sim_special){0, magnitude, magnitude};
    case HC_SPECIALS_FNUZ:
        return (struct hc_sim_special){magnitude, 2 * magnitude + 1, 2 * magnitude + 1};
    default:
        return (struct hc_sim_special){0, 0, 1};
    }
}

/* A code as a significand of `bits` bits behind the point, in two's complement, and an exponent:
   value = significand 2^(exponent - bits). A subnormal has the exponent of the smallest normal
   numbers; a zero has `zero`. */
struct hc_sim_number {
    int32_t significand;
    int32_t exponent;
};

static inline struct hc_sim_number hc_sim_number_of(const struct hc_operand_info *o, uint32_t code,
                                                    int bits, int32_t zero)
{
    uint32_t x = code >> o->cleared;
    int fraction = o->fraction - o->cleared;
    uint32_t field = x >> fraction & ((1u << o->exponent) - 1);
    uint32_t value = (x & ((1u << fraction) - 1)) | (uint32_t)(field != 0) << fraction;
    int32_t significand = (int32_t)(value << (bits - fraction));
    int32_t exponent = (int32_t)field + (field == 0) - o->bias;
    bool negative = x >> (fraction + o->exponent) & 1;
    return (struct hc_sim_number){negative ? -significand : significand, value ? exponent : zero};
}

#endif
