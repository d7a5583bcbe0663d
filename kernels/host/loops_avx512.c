/* The inner loops for AVX-512. Its conversions of halves neither flush subnormals nor read the
   rounding mode. */
#ifdef __AVX512F__
#include <immintrin.h>

#include "num/directed.h"

/* The first n lanes, for the last vector. */
static __mmask16 first_lanes(int64_t n)
{
    return (__mmask16)((1u << n) - 1);
}

/* Most calls are for few elements, for which a loop is faster than memcpy. */
static void load_whole(const float *from, int64_t n, float *to)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(to + i, _mm512_loadu_ps(from + i));
    if (i < n)
        _mm512_mask_storeu_ps(to + i, first_lanes(n - i),
                              _mm512_maskz_loadu_ps(first_lanes(n - i), from + i));
}

static void load_half(const uint16_t *from, int64_t n, float *to)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i))));
    if (i < n)
        _mm512_mask_storeu_ps(
            to + i, first_lanes(n - i),
            _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n - i), from + i)));
}

static void store_half(const float *from, int64_t n, uint16_t *to)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    if (i < n)
        _mm256_mask_storeu_epi16(
            to + i, first_lanes(n - i),
            _mm512_cvtps_ph(_mm512_maskz_loadu_ps(first_lanes(n - i), from + i),
                            _MM_FROUND_TO_NEAREST_INT));
}

/* The direction is part of the instruction. */
static __m256i narrow(__m512 x, enum hc_direction direction)
{
    return direction == HC_NEAREST       ? _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)
           : direction == HC_TOWARD_ZERO ? _mm512_cvtps_ph(x, _MM_FROUND_TO_ZERO)
           : direction == HC_UPWARD      ? _mm512_cvtps_ph(x, _MM_FROUND_TO_POS_INF)
                                         : _mm512_cvtps_ph(x, _MM_FROUND_TO_NEG_INF);
}

static void store_half_directed(enum hc_direction direction, const float *from, int64_t n,
                                uint16_t *to)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i), narrow(_mm512_loadu_ps(from + i), direction));
    for (; i < n; i++)
        to[i] = hc_fp16_directed(from[i], direction);
}

#define LOOPS      hc_host_loops_avx512
#define LOOPS_NAME "avx512"
#include "kernels/host/loops.inc"
#endif
