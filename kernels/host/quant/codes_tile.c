#include "kernels/host/quant/codes_tile.h"

#include <assert.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

#include "kernels/host/quant/codes_avx512.h"
#endif

struct hc_codes_table hc_codes_table_of(const struct hc_format_info *f)
{
    const struct hc_code_decoder d = hc_code_decoder_of(f);
    struct hc_codes_table t;
    for (int code = 0; code < 256; code++) {
        uint32_t bits = hc_fp32_bits(hc_code_value(&d, (uint8_t)code));
        assert((bits & 0xffffu) == 0);
        t.value[code] = (uint16_t)(bits >> 16);
    }
    return t;
}

static void decode(const struct hc_codes_table *t, const uint8_t *codes, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = hc_fp32_value((uint32_t)t->value[codes[i]] << 16);
}

static void add_row(const struct hc_codes_part *p, const float *a, float *sum)
{
    for (int j = 0; j < p->columns && p->begins; j++)
        sum[j] = 0;
    for (int64_t k = 0; k < p->terms; k++)
        for (int j = 0; j < p->columns; j++)
            sum[j] += a[k] * p->b[k * HC_CODES_COLUMNS + j];
}

static void portable(const struct hc_codes_part *p)
{
    for (int i = 0; i < HC_CODES_ROWS; i++) {
        float *sum = p->sum + i * HC_CODES_WIDTH;
        float *acc = p->acc + i * HC_CODES_WIDTH;
        add_row(p, p->a + i * HC_CODES_STEP, sum);
        for (int j = 0; j < p->columns && p->ends; j++)
            acc[j] = hc_add_piece(p->first ? 0 : acc[j], sum[j], p->da[i], p->db[j], p->only);
    }
}

#ifdef __x86_64__

/* Three rows by 32 columns at a time: twelve sums of 8 lanes stay in registers. */
__attribute__((target("avx2,fma"))) static void three_rows(const struct hc_codes_part *p, int row,
                                                           int column)
{
    enum { ROWS = 3, LANES = 8, VECTORS = 4 };
    const __m256i sums_count = _mm256_set1_epi32(p->begins ? 0 : -1);
    const __m256i acc_counts = _mm256_set1_epi32(p->first ? 0 : -1);
    const float *a = p->a + row * HC_CODES_STEP;
    const float *b = p->b + column;
    float *sum = p->sum + row * HC_CODES_WIDTH + column;
    float *acc = p->acc + row * HC_CODES_WIDTH + column;
    __m256 s[ROWS][VECTORS];
#pragma GCC unroll 3
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            s[r][v] = _mm256_maskload_ps(sum + r * HC_CODES_WIDTH + v * LANES, sums_count);
    for (int64_t k = 0; k < p->terms; k++) {
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
        for (int v = 0; v < VECTORS; v++) {
            int64_t at = r * HC_CODES_WIDTH + v * LANES;
            if (!p->ends) {
                _mm256_storeu_ps(sum + at, s[r][v]);
                continue;
            }
            __m256 scaled = _mm256_mul_ps(s[r][v], _mm256_broadcast_ss(p->da + row + r));
            __m256 db = _mm256_loadu_ps(p->db + column + v * LANES);
            __m256 old = _mm256_maskload_ps(acc + at, acc_counts);
            _mm256_storeu_ps(acc + at, p->only ? _mm256_mul_ps(scaled, db)
                                               : _mm256_fmadd_ps(scaled, db, old));
        }
}

static void by_avx2(const struct hc_codes_part *p)
{
    enum { ROWS = 3, HALF = HC_CODES_COLUMNS / 2 };
    for (int i = 0; i < HC_CODES_ROWS; i += ROWS)
        for (int j = 0; j < p->columns; j += HALF)
            three_rows(p, i, j);
}

/* All sums, 24 of 16 lanes at most, stay in registers; `vectors` is a constant in each call. */
__attribute__((target("avx512f"), always_inline)) static inline void
six_rows(const struct hc_codes_part *p, const int vectors)
{
    enum { LANES = 16, VECTORS = HC_CODES_COLUMNS / LANES };
    __m512 s[HC_CODES_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < HC_CODES_ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            s[r][v] = _mm512_setzero_ps();
    if (!p->begins)
#pragma GCC unroll 6
        for (int r = 0; r < HC_CODES_ROWS; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                s[r][v] = _mm512_loadu_ps(p->sum + r * HC_CODES_WIDTH + v * LANES);
    for (int64_t k = 0; k < p->terms; k++) {
        __m512 y[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            y[v] = _mm512_loadu_ps(p->b + k * HC_CODES_COLUMNS + v * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < HC_CODES_ROWS; r++) {
            __m512 x = _mm512_set1_ps(p->a[r * HC_CODES_STEP + k]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                s[r][v] = _mm512_fmadd_ps(x, y[v], s[r][v]);
        }
    }
    if (!p->ends) {
#pragma GCC unroll 6
        for (int r = 0; r < HC_CODES_ROWS; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                _mm512_storeu_ps(p->sum + r * HC_CODES_WIDTH + v * LANES, s[r][v]);
        return;
    }
#pragma GCC unroll 6
    for (int r = 0; r < HC_CODES_ROWS; r++)
        hc_codes_end_row(p, r, vectors, s[r]);
}

__attribute__((target("avx512f"))) static void by_avx512(const struct hc_codes_part *p)
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

/* 32 codes are looked up in each quarter of the table, and their upper two bits say which. */
__attribute__((target("avx512f,avx512bw,avx512vl"))) static void
decode_by_avx512(const struct hc_codes_table *t, const uint8_t *codes, int64_t n, float *to)
{
    enum { AT_ONCE = 32, HALF = AT_ONCE / 2 };
    __m512i part[256 / AT_ONCE];
    for (int i = 0; i < 256 / AT_ONCE; i++)
        part[i] = _mm512_loadu_si512(t->value + i * AT_ONCE);
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        uint32_t lanes = n - i < AT_ONCE ? (1u << (n - i)) - 1 : 0xffffffffu;
        __m512i code = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(lanes, codes + i));
        __mmask32 upper = _mm512_movepi16_mask(_mm512_slli_epi16(code, 8));
        __mmask32 odd = _mm512_movepi16_mask(_mm512_slli_epi16(code, 9));
        __m512i low = _mm512_mask_mov_epi16(_mm512_permutex2var_epi16(part[0], code, part[1]), odd,
                                            _mm512_permutex2var_epi16(part[2], code, part[3]));
        __m512i high = _mm512_mask_mov_epi16(_mm512_permutex2var_epi16(part[4], code, part[5]), odd,
                                             _mm512_permutex2var_epi16(part[6], code, part[7]));
        __m512i value = _mm512_mask_mov_epi16(low, upper, high);
        __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(value));
        __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(value, 1));
        _mm512_mask_storeu_epi32(to + i, (__mmask16)lanes, _mm512_slli_epi32(first, 16));
        _mm512_mask_storeu_epi32(to + i + HALF, (__mmask16)(lanes >> HALF),
                                 _mm512_slli_epi32(second, 16));
    }
}

#endif

struct hc_codes_way hc_codes_way_of(const struct hc_host_loops *loops, const struct hc_call *call)
{
#ifdef __x86_64__
    if (hc_codes_fit_bytes(loops, call))
        return hc_codes_in_bytes;
    if (strcmp(loops->name, "avx512") == 0)
        return (struct hc_codes_way){1, decode_by_avx512, decode_by_avx512, by_avx512};
    if (strcmp(loops->name, "avx2") == 0)
        return (struct hc_codes_way){1, decode, decode, by_avx2};
#endif
    (void)loops;
    (void)call;
    return (struct hc_codes_way){1, decode, decode, portable};
}
