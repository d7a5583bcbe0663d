/* The inner loops for AVX-512. Its conversions of halves neither flush subnormals nor read the
   rounding mode. */
#ifdef __AVX512F__
#include <immintrin.h>

#include "kernels/element/adam.h"
#include "num/directed.h"
#include "num/narrow8.h"

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

#define HAS_NARROW8
/* hc_narrow8 but for e8m0, of 64 numbers, in half of its operations: what is too large is cut to
   the number whose code it has, and where that is rounded is one sum with a power of two for the
   subnormal numbers, too. */
struct narrow8_vectors {
    __m512i top;    /* the pattern to which magnitudes are cut */
    __m512i normal; /* the pattern of the smallest normal number */
    __m512i gap;    /* between the exponent fields of a number and of what is added to it */
    __m512i first;  /* subtracted from a code */
    __m512i sign, zero_sign;
    __m128i cut, down; /* places: fp32's fraction to the format's; the sign bit to the code's */
};

static struct narrow8_vectors narrow8_vectors_of(const struct hc_narrow8 *f)
{
    uint32_t top = (f->largest + f->rebias + (f->beyond != f->largest)) << f->cut;
    int down = 0;
    while (f->sign && 0x80u >> down != f->sign)
        down++;
    return (struct narrow8_vectors){
        .top = _mm512_set1_epi32((int)top),
        .normal = _mm512_set1_epi32((int)f->normal),
        .gap = _mm512_set1_epi32((int)(f->cut << 23)),
        .first = _mm512_set1_epi32((int)(f->normal >> f->cut)),
        .sign = _mm512_set1_epi8((char)f->sign),
        .zero_sign = _mm512_set1_epi8((char)f->zero_sign),
        .cut = _mm_cvtsi32_si128((int)f->cut),
        .down = _mm_cvtsi32_si128(down),
    };
}

/* The codes of 16 numbers without their signs. The power of two is 2^cut times that of the number,
   or of the smallest normal one if that is larger, so that the sum's last place is the format's.
   What the sum has above the power is the significand, whose hidden bit is the first step of the
   exponent field. */
static inline __attribute__((always_inline)) __m512i narrow8_codes(const struct narrow8_vectors *f,
                                                                   __m512 x)
{
    enum { SMALLER_MAGNITUDE = 2, WITHOUT_SIGN = 8 };
    __m512 cut = _mm512_range_ps(x, _mm512_castsi512_ps(f->top), SMALLER_MAGNITUDE | WITHOUT_SIGN);
    __m512i power = _mm512_and_si512(_mm512_castps_si512(cut), _mm512_set1_epi32(0x7f800000));
    power = _mm512_max_epu32(power, f->normal);
    __m512i far = _mm512_add_epi32(power, f->gap);
    __m512i sum = _mm512_castps_si512(_mm512_add_ps(cut, _mm512_castsi512_ps(far)));
    __m512i steps = _mm512_sub_epi32(_mm512_srl_epi32(power, f->cut), f->first);
    return _mm512_add_epi32(_mm512_sub_epi32(sum, far), steps);
}

/* False, without a result, if there is a NaN among them. Packed words keep their sign as the sign
   of a byte. */
static inline __attribute__((always_inline)) bool narrow8_lanes(const struct narrow8_vectors *f,
                                                                const float *from, uint8_t *to)
{
    __m512 x[4];
    __m512i code[4];
    for (int k = 0; k < 4; k++) {
        x[k] = _mm512_loadu_ps(from + 16 * k);
        code[k] = narrow8_codes(f, x[k]);
    }
    if (_mm512_cmp_ps_mask(x[0], x[1], _CMP_UNORD_Q) | _mm512_cmp_ps_mask(x[2], x[3], _CMP_UNORD_Q))
        return false;
    __m512i codes = _mm512_packus_epi16(_mm512_packus_epi32(code[0], code[1]),
                                        _mm512_packus_epi32(code[2], code[3]));
    __m512i signs = _mm512_packs_epi16(
        _mm512_packs_epi32(_mm512_castps_si512(x[0]), _mm512_castps_si512(x[1])),
        _mm512_packs_epi32(_mm512_castps_si512(x[2]), _mm512_castps_si512(x[3])));
    __m512i sign =
        _mm512_mask_blend_epi8(_mm512_testn_epi8_mask(codes, codes), f->sign, f->zero_sign);
    codes = _mm512_or_si512(codes, _mm512_and_si512(_mm512_srl_epi16(signs, f->down), sign));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, codes));
    return true;
}

#define LOOPS      hc_host_loops_avx512
#define LOOPS_NAME "avx512"
#include "kernels/host/loops.inc"
#endif
