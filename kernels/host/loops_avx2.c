/* The inner loops for AVX2 with F16C and FMA. The conversions of halves neither flush subnormals
   nor read the rounding mode. */
#ifdef __AVX2__
#include <immintrin.h>

#include "num/directed.h"

static void load_whole(const float *from, int64_t n, float *to)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static void load_half(const uint16_t *from, int64_t n, float *to)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < n; i++)
        to[i] = hc_fp16_value(from[i]);
}

static void store_half(const float *from, int64_t n, uint16_t *to)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        to[i] = hc_fp16_bits(from[i]);
}

/* The direction is part of the instruction. */
static __m128i narrow(__m256 x, enum hc_direction direction)
{
    return direction == HC_NEAREST       ? _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)
           : direction == HC_TOWARD_ZERO ? _mm256_cvtps_ph(x, _MM_FROUND_TO_ZERO)
           : direction == HC_UPWARD      ? _mm256_cvtps_ph(x, _MM_FROUND_TO_POS_INF)
                                         : _mm256_cvtps_ph(x, _MM_FROUND_TO_NEG_INF);
}

static void store_half_directed(enum hc_direction direction, const float *from, int64_t n,
                                uint16_t *to)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i), narrow(_mm256_loadu_ps(from + i), direction));
    for (; i < n; i++)
        to[i] = hc_fp16_directed(from[i], direction);
}

#define LOOPS      hc_host_loops_avx2
#define LOOPS_NAME "avx2"
#include "kernels/host/loops.inc"
#endif
