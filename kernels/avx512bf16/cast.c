/* Conversions from fp32 into bf16 in the instructions' own rounding, to nearest. */
#include "kernels/avx512bf16/avx512bf16.h"

#ifdef __AVX512BF16__

#include <immintrin.h>

void hc_avx512bf16_one(const uint32_t *from, uint16_t *to)
{
    __m512 value = _mm512_castsi512_ps(_mm512_loadu_si512(from));
    _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(value));
}

/* The instruction's first operand is its upper half. */
void hc_avx512bf16_two(const uint32_t *from, uint16_t *to)
{
    __m512 low = _mm512_castsi512_ps(_mm512_loadu_si512(from));
    __m512 high = _mm512_castsi512_ps(_mm512_loadu_si512(from + 16));
    _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

#else

#include <assert.h>

void hc_avx512bf16_one(const uint32_t *from, uint16_t *to)
{
    (void)from;
    (void)to;
    assert(!"built without AVX512_BF16");
}

void hc_avx512bf16_two(const uint32_t *from, uint16_t *to)
{
    (void)from;
    (void)to;
    assert(!"built without AVX512_BF16");
}

#endif
