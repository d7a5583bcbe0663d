/* Operands as fp32 numbers, which hold every bf16 and fp16 number. Included by the files that are
   compiled for AVX-512. */
#ifndef HC_KERNELS_SIM_FLOATS_H
#define HC_KERNELS_SIM_FLOATS_H

#include "kernels/sim/pack.h"

#ifdef __AVX512F__
#include <immintrin.h>

static inline uint32_t fp32_of(const struct hc_operand_info *o, enum hc_unit_inputs inputs,
                               uint32_t code)
{
    int fraction = o->fraction;
    int bits = o->exponent + fraction;
    uint32_t magnitude = code & ((1u << bits) - 1);
    uint32_t negative = code >> bits & 1;
    uint32_t value = magnitude << (23 - fraction);
    bool subnormal = magnitude >> fraction == 0;
    if (inputs != HC_INPUTS_KEPT && subnormal)
        value = 0;
    if (inputs == HC_INPUTS_POSITIVE_ZERO && value == 0)
        negative = 0;
    if (o->exponent == 8)
        return negative << 31 | value;
    /* The exponent of fp16 is a small one of fp32, and multiplying by 2^112 is exact. */
    union {
        uint32_t bits;
        float value;
    } x = {.bits = value};
    x.value *= 0x1p112f;
    return negative << 31 | x.bits;
}

static inline bool pack(const struct hc_unit *u, enum hc_operand operand, const uint32_t *codes,
                        int64_t terms, uint32_t *words, int64_t step)
{
    const struct hc_operand_info o = hc_operands[operand];
    const struct hc_sim_special s = hc_sim_special_of(&o);
    enum hc_unit_inputs inputs = u->inputs;
    uint32_t special = 0;
    for (int64_t i = 0; i < terms; i++) {
        words[step * i] = fp32_of(&o, inputs, codes[i]);
        special |= ((codes[i] ^ s.flip) & s.mask) >= s.from;
    }
    return special;
}

static inline bool hc_sim_float_row(const struct hc_unit *u, const uint32_t *codes, int64_t terms,
                                    uint32_t *words)
{
    return pack(u, u->a, codes, terms, words, HC_SIM_A_WORDS);
}

static inline bool hc_sim_float_column(const struct hc_unit *u, const uint32_t *codes,
                                       int64_t terms, uint32_t *words)
{
    return pack(u, u->b, codes, terms, words, HC_SIM_COLUMNS);
}

static inline __m512 a_at(const uint32_t *a, int i)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32((int)a[HC_SIM_A_WORDS * i]));
}

static inline __m512 b_at(const uint32_t *b, int i)
{
    return _mm512_castsi512_ps(_mm512_load_si512(b + HC_SIM_COLUMNS * i));
}

/* The lanes whose result is infinite or NaN. Such a result stays so to the end of a chain;
   hc_unit_dot knows what NaN it is. */
static inline __mmask16 special(__m512i x)
{
    __m512i field = _mm512_set1_epi32(0x7f800000);
    return _mm512_cmpeq_epi32_mask(_mm512_and_epi32(x, field), field);
}
#endif

#endif
