/* NVIDIA's units: the products of a piece and C are aligned at the largest of their exponents, cut,
   and summed. Products beyond 16 are summed apart, since their sum may exceed 32 bits. Sums are
   converted to fp64, which holds them and their sum with C exactly; multiplying by a power of two
   is exact, too, and one conversion rounds. */
#ifdef __AVX512F__
#include <immintrin.h>
#include <stddef.h>

#include "kernels/sim/align.h"
#include "kernels/sim/rows.h"

/* Where the largest exponent is below that of zeros, and there is a zero product or a zero C, the
   exponent of zeros is the largest. */
static inline __m512i raised(const struct hc_unit *u, const __m512i *e, int terms,
                             const struct addend *c, __m512i top)
{
    __m512i zeros = _mm512_set1_epi32(u->zero_exponent);
    __mmask16 low = _mm512_cmplt_epi32_mask(top, zeros);
    if (!low)
        return top;
    __m512i least = e[0];
    for (int i = 1; i < terms; i++)
        least = _mm512_min_epi32(least, e[i]);
    __mmask16 any = _mm512_cmplt_epi32_mask(least, _mm512_set1_epi32(HC_SIM_ZERO_PRODUCT));
    any |= _mm512_testn_epi32_mask(c->magnitude, c->magnitude);
    return _mm512_mask_mov_epi32(top, low & any, zeros);
}

/* Eight sums cut to fp32; with `odd` the last bit says whether anything was cut off. Beyond fp32 a
   sum is infinite. */
static inline __m256 cut_to_fp32(__m512d sum, bool odd)
{
    __m256 r = _mm512_cvt_roundpd_ps(sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    __mmask8 lost = _mm512_cmp_pd_mask(_mm512_cvtps_pd(r), sum, _CMP_NEQ_OQ);
    __mmask8 beyond = _mm512_cmp_pd_mask(_mm512_abs_pd(sum), _mm512_set1_pd(0x1p128), _CMP_GE_OQ);
    __m256i bits = _mm256_castps_si256(r);
    if (odd)
        bits = _mm256_mask_or_epi32(bits, lost, bits, _mm256_set1_epi32(1));
    return _mm256_castsi256_ps(_mm256_mask_add_epi32(bits, beyond, bits, _mm256_set1_epi32(1)));
}

/* The codes in u->d of the sums, in units of 2^(top - fraction). Zeros are +0. */
static inline __m512i rounded(const struct hc_unit *u, __m512d low, __m512d high, __m512i top)
{
    bool half = u->d == HC_OPERAND_FP16;
    __m512i at = _mm512_sub_epi32(top, _mm512_set1_epi32(u->fraction));
    low = _mm512_mul_pd(low, power(_mm512_castsi512_si256(at)));
    high = _mm512_mul_pd(high, power(_mm512_extracti64x4_epi64(at, 1)));
    __m512 r = joined(cut_to_fp32(low, half), cut_to_fp32(high, half));
    __m512i bits = _mm512_castps_si512(r);
    if (half)
        bits = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(r, _MM_FROUND_TO_NEAREST_INT));
    else
        bits = _mm512_and_epi32(bits, _mm512_set1_epi32(-(1 << (23 - u->output_fraction))));
    __m512i magnitude = _mm512_set1_epi32(half ? 0x7fff : 0x7fffffff);
    return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(bits, magnitude), bits);
}

static inline __m512i fused(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,
                            int terms, __m512i bits, __mmask16 *left)
{
    __m512i e[MOST_TERMS];
    struct addend c = addend_of(u, bits, u->zero == HC_ZERO_FIXED ? LOWEST : u->zero_c_exponent);
    __m512i top = exponents(a, b, 0, terms, 1, e, c.exponent);
    if (u->zero == HC_ZERO_FIXED)
        top = raised(u, e, terms, &c, top);
    int few = terms < HALF ? terms : HALF;
    __m512i sum = aligned(a, b, 0, few, 1, e, top);
    __m512i distance = _mm512_sub_epi32(top, c.exponent);
    __m512i shift = _mm512_add_epi32(distance, _mm512_set1_epi32(31 - u->fraction));
    __m512i cut = _mm512_srlv_epi32(_mm512_slli_epi32(c.magnitude, 8), shift);
    cut = _mm512_mask_sub_epi32(cut, c.negative, _mm512_setzero_si512(), cut);
    __m512d low = _mm512_add_pd(low_half(sum), low_half(cut));
    __m512d high = _mm512_add_pd(high_half(sum), high_half(cut));
    if (terms > HALF) {
        sum = aligned(a + HC_SIM_A_WORDS * HALF, b + HC_SIM_COLUMNS * HALF, 0, terms - HALF, 1,
                      e + HALF, top);
        low = _mm512_add_pd(low, low_half(sum));
        high = _mm512_add_pd(high, high_half(sum));
    }
    *left |= c.special;
    return rounded(u, low, high, top);
}

/* The loops are unrolled for each length of a piece. */
#define LENGTHS LENGTH(4) LENGTH(8) LENGTH(16) LENGTH(32)
#define LENGTH(n)                                                                                  \
    static inline __m512i fused##n(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,  \
                                   __m512i c, __mmask16 *left)                                     \
    {                                                                                              \
        return fused(u, a, b, n, c, left);                                                         \
    }                                                                                              \
    static void run##n(const struct hc_unit *u, const uint32_t *a, int64_t rows,                   \
                       const uint32_t *b, int64_t terms, uint32_t *sums, uint16_t *left)           \
    {                                                                                              \
        hc_sim_rows(u, a, rows, b, terms, sums, left, n, fused##n);                                \
    }
LENGTHS
#undef LENGTH

static const struct {
    int piece;
    struct hc_sim_engine engine;
} engines[] = {
#define LENGTH(n) {n, {"avx512", hc_sim_align_row, hc_sim_align_column, run##n}},
    LENGTHS
#undef LENGTH
};

const struct hc_sim_engine *hc_sim_fused_avx512(const struct hc_unit *u)
{
    bool zeros = u->zero != HC_ZERO_FIXED || u->zero_c_exponent == u->zero_exponent;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (u->rule == HC_UNIT_FUSED && engines[i].piece == u->piece && is_known(u) && zeros)
            return &engines[i].engine;
    return NULL;
}

#else
typedef int nothing_here; /* a translation unit is not empty */
#endif
