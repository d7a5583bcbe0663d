/* AMD's units from MI300 on: the sum of a piece and C are floored where they are aligned, and
   floored again before the sum is rounded. */
#ifdef __AVX512F__
#include <immintrin.h>
#include <stddef.h>

#include "kernels/sim/align.h"
#include "kernels/sim/rows.h"

/* floor(x 2^-shift) in 64 bits; where shift exceeds 63 that is 0 or -1, as it is for 63. */
static inline __m512i floored_by(__m512i x, __m256i shift)
{
    return _mm512_srav_epi64(x, _mm512_cvtepi32_epi64(shift));
}

struct eight {
    __m256i sum, top;         /* of the products, in units of 2^(top - fraction) */
    __m256i addend, exponent; /* C, in units of 2^(exponent - fraction) */
    __mmask8 without_c;
};

/* Sum and C at the larger of their exponents, floored, added, floored again behind the leading bit
   and rounded to nearest. Nothing exceeds 2^37 in magnitude, so that fp64 holds it. */
static inline __m256 floored_sum(const struct hc_unit *u, const struct eight *x)
{
    int more = u->floor_fraction - u->fraction;
    __m256i at = _mm256_max_epi32(x->top, x->exponent);
    __m512i sum = _mm512_slli_epi64(_mm512_cvtepi32_epi64(x->sum), (unsigned)more);
    sum = floored_by(sum, _mm256_sub_epi32(at, x->top));
    __m512i c = floored_by(_mm512_cvtepi32_epi64(x->addend), _mm256_sub_epi32(at, x->exponent));
    c = _mm512_slli_epi64(c, (unsigned)more);
    sum = _mm512_mask_add_epi64(sum, (__mmask8)~x->without_c, sum, c);
    __m256i unit = _mm256_sub_epi32(at, _mm256_set1_epi32(u->floor_fraction));
    if (u->total_fraction > 0) {
        __m512i bits = _mm512_castpd_si512(_mm512_cvtepi64_pd(_mm512_abs_epi64(sum)));
        __m512i leading = _mm512_sub_epi64(_mm512_srli_epi64(bits, 52), _mm512_set1_epi64(1023));
        __m512i least = _mm512_sub_epi64(_mm512_set1_epi64(-126), _mm512_cvtepi32_epi64(unit));
        leading = _mm512_max_epi64(leading, least);
        __m512i drop = _mm512_sub_epi64(leading, _mm512_set1_epi64(u->total_fraction));
        drop = _mm512_max_epi64(drop, _mm512_setzero_si512());
        drop = _mm512_min_epi64(drop, _mm512_set1_epi64(63));
        sum = _mm512_sllv_epi64(_mm512_srav_epi64(sum, drop), drop);
    }
    __m512d value = _mm512_mul_pd(_mm512_cvtepi64_pd(sum), power(unit));
    return _mm512_cvt_roundpd_ps(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* The sums of a piece of 16 fp8 products: those of even and of odd index are aligned apart, then
   both are floored at the larger exponent. *top becomes that exponent. */
static inline __m512i sum_of_halves(const uint32_t *a, const uint32_t *b, int terms, __m512i *top)
{
    __m512i e[MOST_TERMS];
    __m512i sums[2];
    __m512i tops[2];
    for (int odd = 0; odd < 2; odd++) {
        tops[odd] = exponents(a, b, odd, terms, 2, e, _mm512_set1_epi32(LOWEST));
        sums[odd] = aligned(a, b, odd, terms, 2, e, tops[odd]);
    }
    *top = _mm512_max_epi32(tops[0], tops[1]);
    __m512i even = _mm512_srav_epi32(sums[0], _mm512_sub_epi32(*top, tops[0]));
    return _mm512_add_epi32(even, _mm512_srav_epi32(sums[1], _mm512_sub_epi32(*top, tops[1])));
}

/* An exponent from which on a product may be 2^128 or more, which makes it infinite. */
enum { MAY_OVERFLOW = 127 };

static inline __m512i floored(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,
                              int terms, bool halves, __m512i bits, __mmask16 *left)
{
    __m512i e[MOST_TERMS];
    __m512i top;
    __m512i sum;
    struct addend c = addend_of(u, bits, u->zero_c_exponent);
    if (halves) {
        sum = sum_of_halves(a, b, terms, &top);
    } else {
        top = exponents(a, b, 0, terms, 1, e, _mm512_set1_epi32(LOWEST));
        sum = aligned(a, b, 0, terms, 1, e, top);
    }
    __m512i addend = _mm512_slli_epi32(c.magnitude, (unsigned)(u->fraction - 23));
    addend = _mm512_mask_sub_epi32(addend, c.negative, _mm512_setzero_si512(), addend);
    __mmask16 without_c = 0;
    if (halves) {
        __m512i least = _mm512_sub_epi32(top, _mm512_set1_epi32(u->fraction + 1));
        without_c = _mm512_cmplt_epi32_mask(c.exponent, least);
    }
    *left |= c.special | _mm512_cmpge_epi32_mask(top, _mm512_set1_epi32(MAY_OVERFLOW));
    struct eight low = {_mm512_castsi512_si256(sum), _mm512_castsi512_si256(top),
                        _mm512_castsi512_si256(addend), _mm512_castsi512_si256(c.exponent),
                        (__mmask8)without_c};
    struct eight high = {_mm512_extracti64x4_epi64(sum, 1), _mm512_extracti64x4_epi64(top, 1),
                         _mm512_extracti64x4_epi64(addend, 1),
                         _mm512_extracti64x4_epi64(c.exponent, 1), (__mmask8)(without_c >> 8)};
    return _mm512_castps_si512(joined(floored_sum(u, &low), floored_sum(u, &high)));
}

/* The loops are unrolled for each length of a piece. */
#define LENGTHS                                                                                    \
    LENGTH(4, HC_UNIT_FLOORED)                                                                     \
    LENGTH(8, HC_UNIT_FLOORED)                                                                     \
    LENGTH(16, HC_UNIT_FLOORED_HALVES)
#define LENGTH(n, kind)                                                                            \
    static inline __m512i floored##n(const struct hc_unit *u, const uint32_t *a,                   \
                                     const uint32_t *b, __m512i c, __mmask16 *left)                \
    {                                                                                              \
        return floored(u, a, b, n, (kind) == HC_UNIT_FLOORED_HALVES, c, left);                     \
    }                                                                                              \
    static void run##n(const struct hc_unit *u, const uint32_t *a, int64_t rows,                   \
                       const uint32_t *b, int64_t terms, uint32_t *sums, uint16_t *left)           \
    {                                                                                              \
        hc_sim_rows(u, a, rows, b, terms, sums, left, n, floored##n);                              \
    }
LENGTHS
#undef LENGTH

static const struct {
    int piece;
    enum hc_unit_rule rule;
    struct hc_sim_engine engine;
} engines[] = {
#define LENGTH(n, kind) {n, kind, {"avx512", hc_sim_align_row, hc_sim_align_column, run##n}},
    LENGTHS
#undef LENGTH
};

const struct hc_sim_engine *hc_sim_floored_avx512(const struct hc_unit *u)
{
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (engines[i].rule == u->rule && engines[i].piece == u->piece && is_known(u))
            return &engines[i].engine;
    return NULL;
}

#else
typedef int nothing_here; /* a translation unit is not empty */
#endif
