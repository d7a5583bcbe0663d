/* What the units have in common that align the products of a piece and sum them as integers:
   NVIDIA's, and AMD's from MI300 on. Included by the files that are compiled for AVX-512.

   A factor is packed with its significand and its exponent: x = s 2^(e - f), |s| < 2^(f + 1). The f
   of a and that of b add up to F, the bits that a unit keeps, so that the product of two
   significands is the product in units of 2^-F at its own exponent, and a shift by the distance to
   the largest exponent cuts it toward zero. |s_a s_b| < 2^(F + 2), F <= 25: 16 products do not
   overflow 32 bits, since (2^11 - 1)^2 2^(F - 20), the largest product of fp16 and of tf32, is less
   than (1 - 2^-10) 2^(F + 2); bf16 and fp8 have fewer bits and smaller products still. */
#ifndef HC_KERNELS_SIM_ALIGN_H
#define HC_KERNELS_SIM_ALIGN_H

#include "kernels/sim/pack.h"

#ifdef __AVX512F__
#include <immintrin.h>

enum { MOST_TERMS = 32, HALF = 16 };

/* An exponent below all others, at which scales are still numbers of fp64. */
enum { LOWEST = -499 };

static int a_bits(const struct hc_unit *u)
{
    return (u->fraction + 1) / 2;
}

/* A zero operand has an exponent of its own only in older models. */
static int32_t zero_exponent(const struct hc_unit *u)
{
    return u->zero == HC_ZERO_OPERAND ? u->zero_exponent : HC_SIM_ZERO;
}

static inline bool hc_sim_align_row(const struct hc_unit *u, const uint32_t *codes, int64_t terms,
                                    uint32_t *words)
{
    const struct hc_operand_info o = hc_operands[u->a];
    const struct hc_sim_special s = hc_sim_special_of(&o);
    int bits = a_bits(u);
    int32_t zero = zero_exponent(u);
    uint32_t special = 0;
    for (int64_t i = 0; i < terms; i++) {
        struct hc_sim_number x = hc_sim_number_of(&o, codes[i], bits, zero);
        words[HC_SIM_A_WORDS * i] = (uint32_t)x.significand & 0xffff;
        words[HC_SIM_A_WORDS * i + 1] = (uint32_t)x.exponent;
        special |= ((codes[i] ^ s.flip) & s.mask) >= s.from;
    }
    return special;
}

static inline bool hc_sim_align_column(const struct hc_unit *u, const uint32_t *codes,
                                       int64_t terms, uint32_t *words)
{
    const struct hc_operand_info o = hc_operands[u->b];
    const struct hc_sim_special s = hc_sim_special_of(&o);
    int bits = u->fraction - a_bits(u);
    int32_t zero = zero_exponent(u);
    uint32_t special = 0;
    for (int64_t i = 0; i < terms; i++) {
        struct hc_sim_number x = hc_sim_number_of(&o, codes[i], bits, zero);
        words[HC_SIM_COLUMNS * i] = (uint32_t)x.exponent << 16 | ((uint32_t)x.significand & 0xffff);
        special |= ((codes[i] ^ s.flip) & s.mask) >= s.from;
    }
    return special;
}

/* C as a significand of 24 bits, 23 of them behind the point, and an exponent. */
struct addend {
    __m512i magnitude;
    __m512i exponent;
    __mmask16 negative;
    __mmask16 special;
};

static inline struct addend addend_of(const struct hc_unit *u, __m512i c, int zero)
{
    bool half = u->c == HC_OPERAND_FP16;
    unsigned fraction = half ? 10 : 23;
    __m512i fields = _mm512_set1_epi32(half ? 31 : 255);
    __m512i ones = _mm512_set1_epi32((1 << fraction) - 1);
    __m512i field = _mm512_and_epi32(_mm512_srli_epi32(c, fraction), fields);
    __m512i value = _mm512_and_epi32(c, ones);
    __mmask16 normal = _mm512_test_epi32_mask(field, field);
    value = _mm512_mask_add_epi32(value, normal, value, _mm512_set1_epi32(1 << fraction));
    field = _mm512_max_epi32(field, _mm512_set1_epi32(1));
    __mmask16 any = _mm512_test_epi32_mask(value, value);
    __m512i exponent = _mm512_sub_epi32(field, _mm512_set1_epi32(half ? 15 : 127));
    __m512i sign = _mm512_set1_epi32((int)(half ? 0x8000u : 0x80000000u));
    return (struct addend){
        .magnitude = _mm512_slli_epi32(value, 23 - fraction),
        .exponent = _mm512_mask_mov_epi32(_mm512_set1_epi32(zero), any, exponent),
        .negative = _mm512_test_epi32_mask(c, sign),
        .special = _mm512_cmpeq_epi32_mask(field, fields),
    };
}

/* The exponents of `terms` products, every `step`-th from `first` on, and the largest of them and
   of `top`. */
static inline __m512i exponents(const uint32_t *a, const uint32_t *b, int first, int terms,
                                int step, __m512i *e, __m512i top)
{
    for (int i = first; i < terms; i += step) {
        __m512i words = _mm512_load_si512(b + HC_SIM_COLUMNS * i);
        e[i] = _mm512_add_epi32(_mm512_srai_epi32(words, 16),
                                _mm512_set1_epi32((int)a[HC_SIM_A_WORDS * i + 1]));
        top = _mm512_max_epi32(top, e[i]);
    }
    return top;
}

/* The products, cut at the exponent `top` and summed. */
static inline __m512i aligned(const uint32_t *a, const uint32_t *b, int first, int terms, int step,
                              const __m512i *e, __m512i top)
{
    __m512i zero = _mm512_setzero_si512();
    __m512i sum = zero;
    for (int i = first; i < terms; i += step) {
        __m512i words = _mm512_load_si512(b + HC_SIM_COLUMNS * i);
        __m512i factor = _mm512_set1_epi32((int)a[HC_SIM_A_WORDS * i]);
        __m512i product = _mm512_madd_epi16(words, factor);
        __m512i cut = _mm512_srlv_epi32(_mm512_abs_epi32(product), _mm512_sub_epi32(top, e[i]));
        cut = _mm512_mask_sub_epi32(cut, _mm512_movepi32_mask(product), zero, cut);
        sum = _mm512_add_epi32(sum, cut);
    }
    return sum;
}

static inline __m512d low_half(__m512i x)
{
    return _mm512_cvtepi32_pd(_mm512_castsi512_si256(x));
}

static inline __m512d high_half(__m512i x)
{
    return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1));
}

/* 2^x for exponents of normal numbers. */
static inline __m512d power(__m256i x)
{
    __m256i field = _mm256_add_epi32(x, _mm256_set1_epi32(1023));
    return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_cvtepi32_epi64(field), 52));
}

static inline __m512 joined(__m256 low, __m256 high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/* What the loops take for granted. */
static inline bool is_known(const struct hc_unit *u)
{
    return u->scale == HC_OPERAND_NONE && !u->c_normalized && u->alignment == HC_ROUND_CUT &&
           u->inputs == HC_INPUTS_KEPT && u->underflow == HC_UNDERFLOW_GRADUAL && u->c == u->d &&
           u->fraction <= 25 && u->fraction >= u->output_fraction;
}
#endif

#endif
