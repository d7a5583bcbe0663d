/* Packing for product16.h. Only called where the CPU has AVX-512. */
#include "kernels/host/native/product16.h"

enum { EDGE = HC_TILE16_EDGE, TERMS = HC_TILE16_TERMS };

int64_t hc_packed16(int64_t edge, int64_t terms)
{
    return (edge + EDGE - 1) / EDGE * ((terms + TERMS - 1) / TERMS) * HC_TILE16;
}

#ifdef __AVX512BW__
#include <immintrin.h>

/* 16 rows of 16 words; the words of a row become those of a column. */
static void transpose(__m512i r[16])
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

static __m512i pair(__m256i even, __m256i odd)
{
    return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

/* The first n of 16 or 32 numbers. */
static __mmask16 first16(int64_t n)
{
    return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1);
}

static __mmask32 first32(int64_t n)
{
    return n >= 32 ? 0xffffffff : ((__mmask32)1 << n) - 1;
}

/* Words of one tile as they lie in memory: row i is term pair i, or edge i. */
static void load(const struct hc_matrix16 *x, int64_t first, int64_t term, __m512i r[16])
{
    int64_t edges = x->edge - first;
    int64_t terms = x->terms - term;
    const uint16_t *from =
        x->from + (x->contiguous ? first * x->stride + term : term * x->stride + first);
    for (int i = 0; i < 16; i++) {
        if (x->contiguous) {
            __mmask32 mask = i < edges ? first32(terms) : 0;
            r[i] = _mm512_maskz_loadu_epi16(mask, from + i * x->stride);
            continue;
        }
        __mmask16 even = 2 * i < terms ? first16(edges) : 0;
        __mmask16 odd = 2 * i + 1 < terms ? first16(edges) : 0;
        r[i] = pair(_mm256_maskz_loadu_epi16(even, from + 2 * i * x->stride),
                    _mm256_maskz_loadu_epi16(odd, from + (2 * i + 1) * x->stride));
    }
}

static void pack(const struct hc_matrix16 *x, int64_t first, bool transposes, uint16_t *to)
{
    __m512i r[16];
    for (int64_t term = 0; term < x->terms; term += TERMS, to += HC_TILE16) {
        load(x, first, term, r);
        if (transposes)
            transpose(r);
        for (int i = 0; i < 16; i++)
            _mm512_store_si512(to + i * TERMS, r[i]);
    }
}

void hc_pack16_rows(const struct hc_matrix16 *a, int64_t first, uint16_t *to)
{
    pack(a, first, !a->contiguous, to);
}

void hc_pack16_columns(const struct hc_matrix16 *b, int64_t first, uint16_t *to)
{
    pack(b, first, b->contiguous, to);
}

bool hc_any16(const uint16_t *x, int64_t n, uint16_t mask, uint16_t value)
{
    const __m512i wanted = _mm512_set1_epi16((short)value);
    const __m512i part = _mm512_set1_epi16((short)mask);
    __mmask32 any = 0;
    for (int64_t i = 0; i < n; i += TERMS) {
        __mmask32 there = first32(n - i);
        __m512i bits = _mm512_maskz_loadu_epi16(there, x + i);
        any |= _mm512_mask_cmpeq_epi16_mask(there, _mm512_and_si512(bits, part), wanted);
    }
    return any != 0;
}

/* The upper halves of 32 words, of which a holds numbers 0 to 3 of each 8, and b the others. */
static __m512i upper(__m512i a, __m512i b)
{
    return _mm512_packus_epi32(_mm512_srli_epi32(a, 16), _mm512_srli_epi32(b, 16));
}

bool hc_split16(uint16_t *x, uint16_t *low, int64_t n, bool nan_is_zero)
{
    const __m512i infinity = _mm512_set1_epi16(0x7c00);
    const __m512i magnitude = _mm512_set1_epi16(0x7fff);
    const __m512i first = _mm512_set1_epi32((int)0xffff0000);
    const __m512i fours = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __mmask32 infinite = 0;
    for (int64_t i = 0; i < n; i += TERMS) {
        __m512i bits = _mm512_load_si512(x + i);
        __m512i size = _mm512_and_si512(bits, magnitude);
        infinite |= _mm512_cmpeq_epi16_mask(size, infinity);
        if (nan_is_zero)
            bits = _mm512_maskz_mov_epi16(_mm512_cmple_epi16_mask(size, infinity), bits);
        bits = _mm512_permutexvar_epi64(fours, bits);
        __m512 a = _mm512_cvtph_ps(_mm512_castsi512_si256(bits));
        __m512 b = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
        __m512i high_a = _mm512_and_si512(_mm512_castps_si512(a), first);
        __m512i high_b = _mm512_and_si512(_mm512_castps_si512(b), first);
        __m512 low_a = _mm512_sub_ps(a, _mm512_castsi512_ps(high_a));
        __m512 low_b = _mm512_sub_ps(b, _mm512_castsi512_ps(high_b));
        _mm512_store_si512(x + i, upper(high_a, high_b));
        _mm512_store_si512(low + i, upper(_mm512_castps_si512(low_a), _mm512_castps_si512(low_b)));
    }
    return infinite != 0;
}

void hc_pair16(const uint16_t *even, const uint16_t *odd, uint16_t *to)
{
    __m256i zero = _mm256_setzero_si256();
    _mm512_store_si512(to, pair(even ? _mm256_loadu_si256((const __m256i *)even) : zero,
                                odd ? _mm256_loadu_si256((const __m256i *)odd) : zero));
}

#else
#include <assert.h>

/* hc_native() finds no unit here, so that nobody comes. */
void hc_pack16_rows(const struct hc_matrix16 *a, int64_t first, uint16_t *to)
{
    (void)first;
    (void)to;
    assert(!a);
}

void hc_pack16_columns(const struct hc_matrix16 *b, int64_t first, uint16_t *to)
{
    hc_pack16_rows(b, first, to);
}

bool hc_any16(const uint16_t *x, int64_t n, uint16_t mask, uint16_t value)
{
    (void)n;
    (void)mask;
    (void)value;
    assert(!x);
    return false;
}

bool hc_split16(uint16_t *x, uint16_t *low, int64_t n, bool nan_is_zero)
{
    (void)low;
    (void)nan_is_zero;
    return hc_any16(x, n, 0, 0);
}

void hc_pair16(const uint16_t *even, const uint16_t *odd, uint16_t *to)
{
    (void)even;
    (void)odd;
    assert(!to);
}

#endif
