/* The units that round every step, by the instructions that round so. */
#ifdef __AVX512F__
#include <immintrin.h>
#include <stddef.h>

#include "kernels/sim/floats.h"
#include "kernels/sim/rows.h"

/* Subnormal numbers become zeros of their sign. */
static inline __m512 flushed(__m512 x)
{
    __mmask16 small = _mm512_cmp_ps_mask(_mm512_abs_ps(x), _mm512_set1_ps(0x1p-126f), _CMP_LT_OQ);
    __m512i sign = _mm512_set1_epi32((int)0x80000000u);
    __m512i bits = _mm512_castps_si512(x);
    return _mm512_castsi512_ps(_mm512_mask_and_epi32(bits, small, bits, sign));
}

/* MI200, an instruction of k products in pieces of 2 or 4. */
static inline __m512 pair(const uint32_t *a, const uint32_t *b, int i)
{
    return flushed(_mm512_add_ps(flushed(_mm512_mul_ps(a_at(a, i), b_at(b, i))),
                                 flushed(_mm512_mul_ps(a_at(a, i + 1), b_at(b, i + 1)))));
}

static inline __m512i pairwise(const struct hc_unit *u, const uint32_t *a, const uint32_t *b, int k,
                               __m512i bits)
{
    __m512 c = _mm512_castsi512_ps(bits);
    __mmask16 kept = _mm512_cmp_ps_mask(_mm512_abs_ps(c), _mm512_set1_ps(0x1p-126f), _CMP_NLT_UQ);
    c = _mm512_maskz_mov_ps(kept, c);
    for (int i = 0; i < k; i += u->piece) {
        __m512 sum = pair(a, b, i);
        if (u->piece == 4)
            sum = flushed(_mm512_add_ps(sum, pair(a, b, i + 2)));
        c = flushed(_mm512_add_ps(c, sum));
    }
    return _mm512_castps_si512(c);
}

/* VDPBF16PS: the high product first. The control register is set to flush; the processor decides
   after rounding as with unbounded exponents, as the unit does. */
static inline __m512i chained(const uint32_t *a, const uint32_t *b, __m512i bits)
{
    __m512 c = _mm512_castsi512_ps(bits);
    c = _mm512_fmadd_ps(a_at(a, 1), b_at(b, 1), c);
    return _mm512_castps_si512(_mm512_fmadd_ps(a_at(a, 0), b_at(b, 0), c));
}

/* TDPBF16PS: 16 pairs. */
static inline __m512i two_chains(const uint32_t *a, const uint32_t *b, __m512i bits)
{
    __m512 even = _mm512_setzero_ps();
    __m512 odd = _mm512_setzero_ps();
    for (int i = 0; i < 32; i += 2) {
        even = _mm512_fmadd_ps(a_at(a, i), b_at(b, i), even);
        odd = _mm512_fmadd_ps(a_at(a, i + 1), b_at(b, i + 1), odd);
    }
    __m512 c = _mm512_castsi512_ps(bits);
    return _mm512_castps_si512(_mm512_add_ps(c, _mm512_add_ps(even, odd)));
}

/* The sum rounded to odd: of the two neighbours of an inexact sum the one whose last bit is set.
   A sum of 0 is rounded upward, which makes it +0 unless both addends are -0. */
static inline __m512 odd_sum(__m512 x, __m512 y)
{
    __m512 up = _mm512_add_round_ps(x, y, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    __m512 down = _mm512_add_round_ps(x, y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __mmask16 odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
    __mmask16 inexact = _mm512_cmp_ps_mask(up, down, _CMP_NEQ_UQ);
    return flushed(_mm512_mask_mov_ps(up, odd & inexact, down));
}

/* BFMMLA. A product of two bf16 numbers has 16 bits: it is exact, or far below what is flushed.
   Beyond fp32 one neighbour is infinite and the other is the largest number, which is odd; such
   elements are left. */
static inline __m512i pair_then_c(const uint32_t *a, const uint32_t *b, __m512i bits,
                                  __mmask16 *left)
{
    __m512 c = flushed(_mm512_castsi512_ps(bits));
    __m512 first = flushed(_mm512_mul_ps(a_at(a, 0), b_at(b, 0)));
    __m512 second = flushed(_mm512_mul_ps(a_at(a, 1), b_at(b, 1)));
    __m512 sum = odd_sum(first, second);
    c = odd_sum(sum, c);
    __m512 most = _mm512_set1_ps(0x1.fffffep127f);
    *left |= _mm512_cmp_ps_mask(_mm512_abs_ps(sum), most, _CMP_NLT_UQ);
    *left |= _mm512_cmp_ps_mask(_mm512_abs_ps(c), most, _CMP_NLT_UQ);
    return _mm512_castps_si512(c);
}

/* The steps of the rules, each with the products that it takes. */
#define STEPS                                                                                      \
    STEP(pairwise8, 8, pairwise(u, a, b, 8, c))                                                    \
    STEP(pairwise16, 16, pairwise(u, a, b, 16, c))                                                 \
    STEP(chained2, 2, chained(a, b, c))                                                            \
    STEP(two_chains32, 32, two_chains(a, b, c))                                                    \
    STEP(pair_then_c2, 2, pair_then_c(a, b, c, left))

#define STEP(name, products, result)                                                               \
    static inline __m512i name(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,      \
                               __m512i c, __mmask16 *left)                                         \
    {                                                                                              \
        (void)u;                                                                                   \
        __m512i d = result;                                                                        \
        *left |= special(d);                                                                       \
        return d;                                                                                  \
    }                                                                                              \
    static __attribute__((noinline)) void run_##name(                                              \
        const struct hc_unit *u, const uint32_t *a, int64_t rows, const uint32_t *b,               \
        int64_t terms, uint32_t *sums, uint16_t *left)                                             \
    {                                                                                              \
        hc_sim_rows(u, a, rows, b, terms, sums, left, products, name);                             \
    }
STEPS
#undef STEP

/* Flush to zero, denormals are zeros, round to nearest, no exceptions. */
enum { FLUSHING = 0x9fc0 };

static void run_flushing_chained2(const struct hc_unit *u, const uint32_t *a, int64_t rows,
                                  const uint32_t *b, int64_t terms, uint32_t *sums, uint16_t *left)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(FLUSHING);
    run_chained2(u, a, rows, b, terms, sums, left);
    _mm_setcsr(before);
}

static void run_flushing_two_chains32(const struct hc_unit *u, const uint32_t *a, int64_t rows,
                                      const uint32_t *b, int64_t terms, uint32_t *sums,
                                      uint16_t *left)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(FLUSHING);
    run_two_chains32(u, a, rows, b, terms, sums, left);
    _mm_setcsr(before);
}

/* What the loops of each rule take for granted. */
static const struct {
    enum hc_unit_rule rule;
    int k; /* 0: any */
    int piece;
    enum hc_unit_inputs inputs;
    enum hc_unit_underflow underflow;
    bool last_first;
    struct hc_sim_engine engine;
} engines[] = {
    {HC_UNIT_PAIRWISE,
     8,
     2,
     HC_INPUTS_POSITIVE_ZERO,
     HC_UNDERFLOW_FLUSHED_AFTER,
     false,
     {"avx512", hc_sim_float_row, hc_sim_float_column, run_pairwise8}},
    {HC_UNIT_PAIRWISE,
     16,
     4,
     HC_INPUTS_POSITIVE_ZERO,
     HC_UNDERFLOW_FLUSHED_AFTER,
     false,
     {"avx512", hc_sim_float_row, hc_sim_float_column, run_pairwise16}},
    {HC_UNIT_CHAIN,
     2,
     1,
     HC_INPUTS_SIGNED_ZERO,
     HC_UNDERFLOW_FLUSHED_UNBOUNDED,
     true,
     {"avx512", hc_sim_float_row, hc_sim_float_column, run_flushing_chained2}},
    {HC_UNIT_TWO_CHAINS,
     32,
     32,
     HC_INPUTS_SIGNED_ZERO,
     HC_UNDERFLOW_FLUSHED_UNBOUNDED,
     false,
     {"avx512", hc_sim_float_row, hc_sim_float_column, run_flushing_two_chains32}},
    {HC_UNIT_PAIR_THEN_C,
     0,
     2,
     HC_INPUTS_SIGNED_ZERO,
     HC_UNDERFLOW_FLUSHED_UNBOUNDED,
     false,
     {"avx512", hc_sim_float_row, hc_sim_float_column, run_pair_then_c2}},
};

const struct hc_sim_engine *hc_sim_chained_avx512(const struct hc_unit *u)
{
    bool narrow = (u->a == HC_OPERAND_BF16 || u->a == HC_OPERAND_FP16) && u->b == u->a;
    bool wide = u->c == HC_OPERAND_FP32 && u->d == HC_OPERAND_FP32;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        if (engines[i].rule == u->rule && (engines[i].k == 0 || engines[i].k == u->k) &&
            engines[i].piece == u->piece && engines[i].inputs == u->inputs &&
            engines[i].underflow == u->underflow && engines[i].last_first == u->last_first &&
            narrow && wide)
            return &engines[i].engine;
    return NULL;
}

#else
typedef int nothing_here; /* a translation unit is not empty */
#endif
