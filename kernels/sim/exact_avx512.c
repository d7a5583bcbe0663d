/* MI100: the exact sum of a piece and C, rounded once. */
#ifdef __AVX512F__
#include <immintrin.h>
#include <stddef.h>

#include "kernels/sim/floats.h"
#include "kernels/sim/rows.h"

/* x + y = *sum + *error exactly (Knuth). */
static inline void two_sum(__m512d x, __m512d y, __m512d *sum, __m512d *error)
{
    __m512d s = _mm512_add_pd(x, y);
    __m512d of_x = _mm512_sub_pd(s, y);
    __m512d of_y = _mm512_sub_pd(s, of_x);
    *error = _mm512_add_pd(_mm512_sub_pd(x, of_x), _mm512_sub_pd(y, of_y));
    *sum = s;
}

/* x + y rounded to odd in fp64. */
static inline __m512d odd_sum_pd(__m512d x, __m512d y)
{
    __m512d s;
    __m512d error;
    two_sum(x, y, &s, &error);
    __m512i bits = _mm512_castpd_si512(s);
    __m512i sign = _mm512_xor_si512(bits, _mm512_castpd_si512(error));
    __mmask8 inexact = _mm512_cmp_pd_mask(error, _mm512_setzero_pd(), _CMP_NEQ_OQ);
    __mmask8 even = _mm512_testn_epi64_mask(bits, _mm512_set1_epi64(1));
    __mmask8 away = _mm512_movepi64_mask(sign);
    bits = _mm512_mask_sub_epi64(bits, inexact & even & away, bits, _mm512_set1_epi64(1));
    bits = _mm512_mask_or_epi64(bits, inexact, bits, _mm512_set1_epi64(1));
    return _mm512_castsi512_pd(bits);
}

/* The exact sum of the terms, rounded once. Growing an expansion (Shewchuk 1997) keeps the sum
   exact in components, each of which is below the last bit of the next one by a bit or more, since
   ties round to even. Adding them from the smallest on, rounded to odd, loses nothing that rounding
   to fp32 could see: an odd last bit says that something lies below it, 53 - 2 bits below the
   leading one, since the next component cancels at most two bits. */
static inline __m256 once(const __m512d *terms, int n)
{
    __m512d h[5];
    for (int i = 0; i < n; i++) {
        __m512d sum = terms[i];
        for (int j = 0; j < i; j++)
            two_sum(sum, h[j], &sum, &h[j]);
        h[i] = sum;
    }
    __m512d sum = h[0];
    for (int i = 1; i < n; i++)
        sum = odd_sum_pd(h[i], sum);
    sum = _mm512_add_pd(sum, _mm512_setzero_pd()); /* a zero is +0 */
    return _mm512_cvt_roundpd_ps(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline __m512i exact(const uint32_t *a, const uint32_t *b, int piece, __m512i bits)
{
    __m512d low[5];
    __m512d high[5];
    for (int i = 0; i < piece; i++) {
        __m512 y = b_at(b, i);
        __m512d x = _mm512_cvtps_pd(_mm512_castps512_ps256(a_at(a, i)));
        low[i] = _mm512_mul_pd(x, _mm512_cvtps_pd(_mm512_castps512_ps256(y)));
        high[i] = _mm512_mul_pd(x, _mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1)));
    }
    __m512 c = _mm512_castsi512_ps(bits);
    low[piece] = _mm512_cvtps_pd(_mm512_castps512_ps256(c));
    high[piece] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(c, 1));
    __m512 d = _mm512_castps256_ps512(once(low, piece + 1));
    return _mm512_castps_si512(_mm512_insertf32x8(d, once(high, piece + 1), 1));
}

/* The loops are unrolled for each length of a piece. */
#define LENGTHS LENGTH(2) LENGTH(4)
#define LENGTH(n)                                                                                  \
    static inline __m512i exact##n(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,  \
                                   __m512i c, __mmask16 *left)                                     \
    {                                                                                              \
        (void)u;                                                                                   \
        __m512i d = exact(a, b, n, c);                                                             \
        *left |= special(d);                                                                       \
        return d;                                                                                  \
    }                                                                                              \
    static void run##n(const struct hc_unit *u, const uint32_t *a, int64_t rows,                   \
                       const uint32_t *b, int64_t terms, uint32_t *sums, uint16_t *left)           \
    {                                                                                              \
        hc_sim_rows(u, a, rows, b, terms, sums, left, n, exact##n);                                \
    }
LENGTHS
#undef LENGTH

static const struct {
    int piece;
    struct hc_sim_engine engine;
} engines[] = {
#define LENGTH(n) {n, {"avx512", hc_sim_float_row, hc_sim_float_column, run##n}},
    LENGTHS
#undef LENGTH
};

const struct hc_sim_engine *hc_sim_exact_avx512(const struct hc_unit *u)
{
    bool known = u->rule == HC_UNIT_EXACT && u->inputs == HC_INPUTS_KEPT &&
                 u->underflow == HC_UNDERFLOW_GRADUAL && u->scale == HC_OPERAND_NONE;
    bool narrow = (u->a == HC_OPERAND_BF16 || u->a == HC_OPERAND_FP16) && u->b == u->a;
    bool wide = u->c == HC_OPERAND_FP32 && u->d == HC_OPERAND_FP32;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (engines[i].piece == u->piece && known && narrow && wide)
            return &engines[i].engine;
    return NULL;
}

#else
typedef int nothing_here; /* a translation unit is not empty */
#endif
