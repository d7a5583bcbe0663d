/* vaddph, vsubph, vmulph, vdivph, vsqrtph, vfmadd132ph over vectors of 32. */
#ifdef __AVX512FP16__

#include <immintrin.h>

#include "kernels/avx512fp16/avx512fp16.h"

static __m512h load(const uint16_t *x, __mmask32 some)
{
    return _mm512_castsi512_ph(_mm512_maskz_loadu_epi16(some, x));
}

static void store(uint16_t *x, __mmask32 some, __m512h value)
{
    _mm512_mask_storeu_epi16(x, some, _mm512_castph_si512(value));
}

/* The lanes of the vector at i that exist. */
static __mmask32 lanes(int64_t n, int64_t i)
{
    return n - i >= 32 ? 0xffffffffu : (1u << (n - i)) - 1;
}

static bool halves(const struct hc_call *call)
{
    return call->out[0].format == HC_FP16;
}

static enum hc_status unsupported(const struct hc_call *call)
{
    return hc_fail(HC_UNSUPPORTED, "avx512fp16: %s is in fp16 only", hc_ops[call->op].name);
}

enum hc_status hc_avx512fp16_add(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const uint16_t *x = call->in[0].data;
    const uint16_t *y = call->in[1].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    for (int64_t i = 0; i < n && halves(call); i += 32) {
        __mmask32 some = lanes(n, i);
        store((uint16_t *)call->out[0].data + i, some,
              _mm512_add_ph(load(x + i, some), load(y + i, some)));
    }
    return halves(call) ? HC_OK : unsupported(call);
}

enum hc_status hc_avx512fp16_sub(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const uint16_t *x = call->in[0].data;
    const uint16_t *y = call->in[1].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    for (int64_t i = 0; i < n && halves(call); i += 32) {
        __mmask32 some = lanes(n, i);
        store((uint16_t *)call->out[0].data + i, some,
              _mm512_sub_ph(load(x + i, some), load(y + i, some)));
    }
    return halves(call) ? HC_OK : unsupported(call);
}

enum hc_status hc_avx512fp16_mul(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const uint16_t *x = call->in[0].data;
    const uint16_t *y = call->in[1].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    for (int64_t i = 0; i < n && halves(call); i += 32) {
        __mmask32 some = lanes(n, i);
        store((uint16_t *)call->out[0].data + i, some,
              _mm512_mul_ph(load(x + i, some), load(y + i, some)));
    }
    return halves(call) ? HC_OK : unsupported(call);
}

enum hc_status hc_avx512fp16_div(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const uint16_t *x = call->in[0].data;
    const uint16_t *y = call->in[1].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    for (int64_t i = 0; i < n && halves(call); i += 32) {
        __mmask32 some = lanes(n, i);
        store((uint16_t *)call->out[0].data + i, some,
              _mm512_div_ph(load(x + i, some), load(y + i, some)));
    }
    return halves(call) ? HC_OK : unsupported(call);
}

enum hc_status hc_avx512fp16_sqrt(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const uint16_t *x = call->in[0].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    for (int64_t i = 0; i < n && halves(call); i += 32) {
        __mmask32 some = lanes(n, i);
        store((uint16_t *)call->out[0].data + i, some, _mm512_sqrt_ph(load(x + i, some)));
    }
    return halves(call) ? HC_OK : unsupported(call);
}

enum hc_status hc_avx512fp16_fma(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    const uint16_t *x = call->in[0].data;
    const uint16_t *y = call->in[1].data;
    const uint16_t *z = call->in[2].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    for (int64_t i = 0; i < n && halves(call); i += 32) {
        __mmask32 some = lanes(n, i);
        store((uint16_t *)call->out[0].data + i, some,
              _mm512_fmadd_ph(load(x + i, some), load(y + i, some), load(z + i, some)));
    }
    return halves(call) ? HC_OK : unsupported(call);
}

#else
typedef int nothing_here; /* a translation unit is not empty */
#endif
