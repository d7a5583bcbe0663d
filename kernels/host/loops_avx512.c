/* The inner loops for AVX-512. Its conversions of halves neither flush subnormals nor read the
   rounding mode. */
#ifdef __AVX512F__
#include <immintrin.h>

#include "kernels/element/adam.h"
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

static inline __attribute__((always_inline)) void load_half(const uint16_t *from, int64_t n,
                                                            float *to)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from + i))));
    if (i < n)
        _mm512_mask_storeu_ps(
            to + i, first_lanes(n - i),
            _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n - i), from + i)));
}

static inline __attribute__((always_inline)) void store_half(const float *from, int64_t n,
                                                             uint16_t *to)
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

/* hc_bf16_bits in the upper halves of 16 words; the lower ones are left over. */
static __m512i bf16_words(__m512 x)
{
    __m512i bits = _mm512_castps_si512(x);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
}

#define HAS_BF16
/* 16 at a time, as they are stored: a row that was stored just now is read back without delay. */
static inline __attribute__((always_inline)) void load_bf16(const uint16_t *from, int64_t n,
                                                            float *to)
{
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 lanes = n - i < 16 ? first_lanes(n - i) : 0xffff;
        __m512i words = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from + i));
        _mm512_mask_storeu_ps(to + i, lanes, _mm512_castsi512_ps(_mm512_slli_epi32(words, 16)));
    }
}

static inline __attribute__((always_inline)) void store_bf16(const float *from, int64_t n,
                                                             uint16_t *to)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i), _mm512_cvtepi32_epi16(_mm512_srli_epi32(
                                                     bf16_words(_mm512_loadu_ps(from + i)), 16)));
    if (i < n) {
        __m512i words = bf16_words(_mm512_maskz_loadu_ps(first_lanes(n - i), from + i));
        _mm256_mask_storeu_epi16(to + i, first_lanes(n - i),
                                 _mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16)));
    }
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

/* As hc_fp16_round: to half and back takes the low bits of a NaN, which that keeps. */
static __m512 in_half(__m512 x)
{
    __m512 rounded = _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_or_ps(rounded, nan, x, _mm512_castsi512_ps(_mm512_set1_epi32(0x400000)));
}

static __m512 times(float factor, __m512 x)
{
    return in_half(_mm512_mul_ps(_mm512_set1_ps(factor), x));
}

static __m512 half_sum(__m512 x, __m512 y)
{
    return in_half(_mm512_add_ps(x, y));
}

/* hc_adam_update for arithmetic in fp16, whose roundings are what it takes its time for. */
static __m512 half_update(const struct hc_adam_step *s, __m512 weight, __m512 g, __m512 *m,
                          __m512 *v)
{
    __m512 correction = _mm512_set1_ps(s->correction);
    __m512 eps = _mm512_set1_ps(s->eps);
    __m512 grad = s->coupled ? half_sum(g, times(s->wd, weight)) : g;
    __m512 square = in_half(_mm512_mul_ps(times(s->one_minus_beta2, grad), grad));
    __m512 mean = half_sum(times(s->beta1, *m), times(s->one_minus_beta1, grad));
    __m512 variance = half_sum(times(s->beta2, *v), square);
    __m512 root = in_half(_mm512_sqrt_ps(variance));
    __m512 denominator = half_sum(in_half(_mm512_div_ps(root, correction)), eps);
    if (s->eps_inside)
        denominator =
            in_half(_mm512_sqrt_ps(half_sum(in_half(_mm512_div_ps(variance, correction)), eps)));
    *m = mean;
    *v = variance;
    return times(s->step, in_half(_mm512_div_ps(mean, denominator)));
}

#define HAS_ADAM_HALF
/* hc_element_adam_ours for arithmetic in fp16. */
static void adam_half(const struct hc_adam_step *s, float *w, const float *g, float *m, float *v,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 lanes = n - i < 16 ? first_lanes(n - i) : 0xffff;
        __m512 mean = _mm512_maskz_loadu_ps(lanes, m + i);
        __m512 square = _mm512_maskz_loadu_ps(lanes, v + i);
        __m512 weight = _mm512_maskz_loadu_ps(lanes, w + i);
        if (s->decoupled)
            weight = in_half(_mm512_mul_ps(weight, _mm512_set1_ps(s->keep)));
        __m512 update = half_update(s, weight, _mm512_maskz_loadu_ps(lanes, g + i), &mean, &square);
        _mm512_mask_storeu_ps(w + i, lanes, in_half(_mm512_sub_ps(weight, update)));
        _mm512_mask_storeu_ps(m + i, lanes, mean);
        _mm512_mask_storeu_ps(v + i, lanes, square);
    }
}

#define LOOPS      hc_host_loops_avx512
#define LOOPS_NAME "avx512"
#include "kernels/host/loops.inc"
#endif
