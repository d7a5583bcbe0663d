/* Conversions in the instruction's own rounding: vcvtps2phx, vcvtpd2ph and vcvtdq2ph into fp16,
   vcvtph2psx and vcvtph2pd out of it. The direction is part of the instruction, so there is one
   loop for each; the control register is not touched. */
#ifdef __AVX512FP16__

#include <immintrin.h>

#include "kernels/avx512fp16/avx512fp16.h"

/* Directions in the order of enum hc_direction. */
enum {
    NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC,
    ZERO = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC,
    UP = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC,
    DOWN = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC,
};

static __mmask16 lanes(int64_t n, int64_t i, int width)
{
    return (__mmask16)((1u << (n - i < width ? n - i : width)) - 1);
}

static __m256i narrow(__m512 x, enum hc_direction direction)
{
    __m256h h = direction == HC_NEAREST       ? _mm512_cvtx_roundps_ph(x, NEAREST)
                : direction == HC_TOWARD_ZERO ? _mm512_cvtx_roundps_ph(x, ZERO)
                : direction == HC_UPWARD      ? _mm512_cvtx_roundps_ph(x, UP)
                                              : _mm512_cvtx_roundps_ph(x, DOWN);
    return _mm256_castph_si256(h);
}

static void from_fp32(const float *from, uint16_t *to, int64_t n, enum hc_direction direction)
{
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i), narrow(_mm512_loadu_ps(from + i), direction));
    __mmask16 some = lanes(n, i, 16);
    __m512 x = _mm512_maskz_loadu_ps(some, from + i);
    _mm256_mask_storeu_epi16(to + i, some, narrow(x, direction));
}

static void from_fp64(const double *from, uint16_t *to, int64_t n, enum hc_direction direction)
{
    for (int64_t i = 0; i < n; i += 8) {
        __mmask8 some = (__mmask8)lanes(n, i, 8);
        __m512d x = _mm512_maskz_loadu_pd(some, from + i);
        __m128h h = direction == HC_NEAREST       ? _mm512_cvt_roundpd_ph(x, NEAREST)
                    : direction == HC_TOWARD_ZERO ? _mm512_cvt_roundpd_ph(x, ZERO)
                    : direction == HC_UPWARD      ? _mm512_cvt_roundpd_ph(x, UP)
                                                  : _mm512_cvt_roundpd_ph(x, DOWN);
        _mm_mask_storeu_epi16(to + i, some, _mm_castph_si128(h));
    }
}

static void from_i32(const int32_t *from, uint16_t *to, int64_t n, enum hc_direction direction)
{
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 some = lanes(n, i, 16);
        __m512i x = _mm512_maskz_loadu_epi32(some, from + i);
        __m256h h = direction == HC_NEAREST       ? _mm512_cvt_roundepi32_ph(x, NEAREST)
                    : direction == HC_TOWARD_ZERO ? _mm512_cvt_roundepi32_ph(x, ZERO)
                    : direction == HC_UPWARD      ? _mm512_cvt_roundepi32_ph(x, UP)
                                                  : _mm512_cvt_roundepi32_ph(x, DOWN);
        _mm256_mask_storeu_epi16(to + i, some, _mm256_castph_si256(h));
    }
}

static void to_fp32(const uint16_t *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 some = lanes(n, i, 16);
        __m256h h = _mm256_castsi256_ph(_mm256_maskz_loadu_epi16(some, from + i));
        _mm512_mask_storeu_ps(to + i, some, _mm512_cvtxph_ps(h));
    }
}

static void to_fp64(const uint16_t *from, double *to, int64_t n)
{
    for (int64_t i = 0; i < n; i += 8) {
        __mmask8 some = (__mmask8)lanes(n, i, 8);
        __m128h h = _mm_castsi128_ph(_mm_maskz_loadu_epi16(some, from + i));
        _mm512_mask_storeu_pd(to + i, some, _mm512_cvtph_pd(h));
    }
}

enum hc_status hc_avx512fp16_cast(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    enum hc_format from = call->in[HC_X].format;
    enum hc_format to = call->out[HC_OUT].format;
    enum hc_direction direction = call->params.cast.direction;
    int64_t n = hc_tensor_count(&call->out[HC_OUT]);
    const void *x = call->in[HC_X].data;
    void *y = call->out[HC_OUT].data;
    if (call->params.cast.saturate)
        return hc_fail(HC_UNSUPPORTED, "avx512fp16: no cast that saturates");
    if (from == HC_FP32 && to == HC_FP16)
        from_fp32(x, y, n, direction);
    else if (from == HC_FP64 && to == HC_FP16)
        from_fp64(x, y, n, direction);
    else if (from == HC_I32 && to == HC_FP16)
        from_i32(x, y, n, direction);
    else if (from == HC_FP16 && to == HC_FP32)
        to_fp32(x, y, n);
    else if (from == HC_FP16 && to == HC_FP64)
        to_fp64(x, y, n);
    else
        return hc_fail(HC_UNSUPPORTED, "avx512fp16: no cast from %s to %s", hc_formats[from].name,
                       hc_formats[to].name);
    return HC_OK;
}

#else
typedef int nothing_here; /* a translation unit is not empty */
#endif
