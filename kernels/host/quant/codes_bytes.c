/* Sums of products of e2m1's codes as integers, four to a place, by AVX-512 VNNI.

   Twice a number of e2m1 is an integer from -12 to 12, so that a product of two is an integer of at
   most 144 in quarters. A sum of 2^24 / 144 of them, in whatever order, stays within 2^24 quarters:
   fp32 holds each sum on the way, and the sum by fp32's additions is the integers' sum. Both are +0
   where they are zero. The instruction multiplies bytes without a sign by such with one; to those
   of a 12 is added, and 12 times the sum of b's is taken away. */
#include <string.h>

#include "kernels/host/quant/codes_tile.h"
#include "op/cpu.h"

enum { PER = 4, OFFSET = 12, MOST_TERMS = (1 << 24) / (OFFSET * OFFSET) };

#ifdef __x86_64__
#include <immintrin.h>

#include "kernels/host/quant/codes_avx512.h"

static const uint8_t twice_and_offset[16] = {12, 13, 14, 15, 16, 18, 20, 24,
                                             12, 11, 10, 9,  8,  6,  4,  0};
static const int8_t twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Bytes of 0 follow up to the end of a place. */
__attribute__((target("avx512f,avx512bw"), always_inline)) static inline void
look_up(const void *table, const uint8_t *codes, int64_t n, float *to)
{
    enum { AT_ONCE = 64 };
    uint8_t *bytes = (uint8_t *)to;
    const __m512i value = _mm512_broadcast_i32x4(_mm_loadu_si128(table));
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        int64_t rest = n - i < AT_ONCE ? n - i : AT_ONCE;
        int64_t places = (rest + PER - 1) / PER;
        __mmask64 lanes = ~0ull >> (AT_ONCE - rest);
        __m512i code =
            _mm512_and_si512(_mm512_maskz_loadu_epi8(lanes, codes + i), _mm512_set1_epi8(15));
        _mm512_mask_storeu_epi32(bytes + i, (__mmask16)(0xffff >> (AT_ONCE / PER - places)),
                                 _mm512_maskz_shuffle_epi8(lanes, value, code));
    }
}

__attribute__((target("avx512f,avx512bw"))) static void
decode_a(const struct hc_codes_table *t, const uint8_t *codes, int64_t n, float *to)
{
    (void)t;
    look_up(twice_and_offset, codes, n, to);
}

__attribute__((target("avx512f,avx512bw"))) static void
decode_b(const struct hc_codes_table *t, const uint8_t *codes, int64_t n, float *to)
{
    (void)t;
    look_up(twice, codes, n, to);
}

/* `vectors` is a constant in each call. */
__attribute__((target("avx512f,avx512bw,avx512vnni"), always_inline)) static inline void
six_rows(const struct hc_codes_part *p, const int vectors)
{
    enum { LANES = 16, VECTORS = HC_CODES_COLUMNS / LANES };
    __m512i s[HC_CODES_ROWS][VECTORS];
    __m512i offset[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        offset[v] = _mm512_setzero_si512();
    for (int64_t k = 0; k < p->terms; k++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            offset[v] =
                _mm512_dpbusd_epi32(offset[v], _mm512_set1_epi8(OFFSET),
                                    _mm512_loadu_si512(p->b + k * HC_CODES_COLUMNS + v * LANES));
    }
#pragma GCC unroll 6
    for (int r = 0; r < HC_CODES_ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            s[r][v] = _mm512_sub_epi32(_mm512_setzero_si512(), offset[v]);
    if (!p->begins)
#pragma GCC unroll 6
        for (int r = 0; r < HC_CODES_ROWS; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                s[r][v] = _mm512_add_epi32(
                    s[r][v], _mm512_loadu_si512(p->sum + r * HC_CODES_WIDTH + v * LANES));
    for (int64_t k = 0; k < p->terms; k++) {
        __m512i y[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            y[v] = _mm512_loadu_si512(p->b + k * HC_CODES_COLUMNS + v * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < HC_CODES_ROWS; r++) {
            __m512i x = _mm512_castps_si512(_mm512_set1_ps(p->a[r * HC_CODES_STEP + k]));
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                s[r][v] = _mm512_dpbusd_epi32(s[r][v], x, y[v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < HC_CODES_ROWS; r++) {
        __m512 sums[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            if (!p->ends)
                _mm512_storeu_si512(p->sum + r * HC_CODES_WIDTH + v * LANES, s[r][v]);
            sums[v] = _mm512_mul_ps(_mm512_cvtepi32_ps(s[r][v]), _mm512_set1_ps(0.25F));
        }
        if (p->ends)
            hc_codes_end_row(p, r, vectors, sums);
    }
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) static void
by_vnni(const struct hc_codes_part *p)
{
    if (p->columns <= 16)
        six_rows(p, 1);
    else if (p->columns <= 32)
        six_rows(p, 2);
    else if (p->columns <= 48)
        six_rows(p, 3);
    else
        six_rows(p, 4);
}

const struct hc_codes_way hc_codes_in_bytes = {PER, decode_a, decode_b, by_vnni};

#endif

/* A piece may end only where a place does. */
bool hc_codes_fit_bytes(const struct hc_host_loops *loops, const struct hc_call *call)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    const int64_t sizes[] = {p->a_columns, p->b_columns, p->promote};
    int64_t longest = call->in[HC_GEMM_Q_A].shape[1];
    bool fit = call->in[HC_GEMM_Q_A].format == HC_E2M1 && call->in[HC_GEMM_Q_B].format == HC_E2M1;
    for (int i = 0; i < 3; i++) {
        fit &= sizes[i] % PER == 0;
        longest = sizes[i] > 0 && sizes[i] < longest ? sizes[i] : longest;
    }
#ifdef __x86_64__
    return fit && longest <= MOST_TERMS && strcmp(loops->name, "avx512") == 0 &&
           !hc_cpu_lacks(HC_CPU_AVX512VNNI);
#else
    (void)loops;
    return false;
#endif
}
