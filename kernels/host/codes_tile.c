#include "kernels/host/codes_tile.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

static void portable(const float *a, const float *b, int64_t terms, float *sum)
{
    for (int i = 0; i < HC_CODES_ROWS; i++, a += HC_CODES_STEP, sum += HC_CODES_WIDTH)
        for (int64_t k = 0; k < terms; k++)
            for (int j = 0; j < HC_CODES_COLUMNS; j++)
                sum[j] += a[k] * b[k * HC_CODES_COLUMNS + j];
}

#ifdef __x86_64__

/* Three rows by 32 columns at a time: twelve sums of 8 lanes stay in registers. */
__attribute__((target("avx2,fma"))) static void three_rows(const float *a, const float *b,
                                                           int64_t terms, float *sum)
{
    enum { ROWS = 3, LANES = 8, VECTORS = 4 };
    __m256 s[ROWS][VECTORS];
#pragma GCC unroll 3
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            s[r][v] = _mm256_loadu_ps(sum + r * HC_CODES_WIDTH + v * LANES);
    for (int64_t k = 0; k < terms; k++) {
        __m256 y[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            y[v] = _mm256_loadu_ps(b + k * HC_CODES_COLUMNS + v * LANES);
#pragma GCC unroll 3
        for (int r = 0; r < ROWS; r++) {
            __m256 x = _mm256_broadcast_ss(a + r * HC_CODES_STEP + k);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                s[r][v] = _mm256_fmadd_ps(x, y[v], s[r][v]);
        }
    }
#pragma GCC unroll 3
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            _mm256_storeu_ps(sum + r * HC_CODES_WIDTH + v * LANES, s[r][v]);
}

static void by_avx2(const float *a, const float *b, int64_t terms, float *sum)
{
    enum { ROWS = 3, HALF = HC_CODES_COLUMNS / 2 };
    for (int i = 0; i < HC_CODES_ROWS; i += ROWS)
        for (int j = 0; j < HC_CODES_COLUMNS; j += HALF)
            three_rows(a + i * HC_CODES_STEP, b + j, terms, sum + i * HC_CODES_WIDTH + j);
}

/* All 24 sums of 16 lanes stay in registers. */
__attribute__((target("avx512f"))) static void by_avx512(const float *a, const float *b,
                                                         int64_t terms, float *sum)
{
    enum { LANES = 16, VECTORS = HC_CODES_COLUMNS / LANES };
    __m512 s[HC_CODES_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < HC_CODES_ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            s[r][v] = _mm512_loadu_ps(sum + r * HC_CODES_WIDTH + v * LANES);
    for (int64_t k = 0; k < terms; k++) {
        __m512 y[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            y[v] = _mm512_loadu_ps(b + k * HC_CODES_COLUMNS + v * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < HC_CODES_ROWS; r++) {
            __m512 x = _mm512_set1_ps(a[r * HC_CODES_STEP + k]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                s[r][v] = _mm512_fmadd_ps(x, y[v], s[r][v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < HC_CODES_ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            _mm512_storeu_ps(sum + r * HC_CODES_WIDTH + v * LANES, s[r][v]);
}

#endif

hc_codes_tile *hc_codes_tile_with(const struct hc_host_loops *loops)
{
#ifdef __x86_64__
    if (strcmp(loops->name, "avx512") == 0)
        return by_avx512;
    if (strcmp(loops->name, "avx2") == 0)
        return by_avx2;
#endif
    (void)loops;
    return portable;
}
