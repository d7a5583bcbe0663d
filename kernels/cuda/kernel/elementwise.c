/* Elementwise ops: a thread takes elements that are a grid apart, loads them as fp32, applies the
   element's arithmetic of kernels/element, and rounds the result into the output. */
#include "kernels/cuda/kernel/elementwise.h"

#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/counted_call.h"
#include "kernels/cuda/kernel/elementwise.inc"
#include "num/directed.h"
#include "num/encode.h"

/* Among fp32, bf16 and fp16, to nearest: fp32 holds every value of the other two. */
HC_ON_DEVICE void hc_dk_cast_body(const struct hc_call *c)
{
    int64_t n = hc_dk_count(&c->out[HC_OUT]);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride())
        hc_dk_store(&c->out[HC_OUT], i, hc_dk_load(&c->in[HC_X], i));
}
HC_LAUNCHABLE(cast, struct hc_call)

/* From fp32 into fp16 or bf16, in any direction. */
HC_ON_DEVICE void hc_dk_cast_directed_body(const struct hc_call *c)
{
    const float *from = (const float *)c->in[HC_X].data;
    uint16_t *to = (uint16_t *)c->out[HC_OUT].data;
    enum hc_direction direction = c->params.cast.direction;
    int64_t n = hc_dk_count(&c->out[HC_OUT]);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride())
        to[i] = c->out[HC_OUT].format == HC_FP16 ? hc_fp16_directed(from[i], direction)
                                                 : hc_bf16_directed(from[i], direction);
}
HC_LAUNCHABLE(cast_directed, struct hc_call)

HC_ON_DEVICE uint64_t hc_dk_get_bits(int bytes, const void *data, int64_t i)
{
    switch (bytes) {
    case 1:
        return ((const uint8_t *)data)[i];
    case 2:
        return ((const uint16_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

HC_ON_DEVICE void hc_dk_set_bits(int bytes, void *data, int64_t i, uint64_t bits)
{
    switch (bytes) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[i] = bits;
    }
}

/* Between any two formats, by the definition of their encodings. */
HC_ON_DEVICE void hc_dk_cast_any_body(const struct hc_dk_cast_any *a)
{
    const struct hc_call *c = &a->call;
    int64_t n = hc_dk_count(&c->out[HC_OUT]);
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        double value = hc_decode_as(&a->from, hc_dk_get_bits(a->from.bytes, c->in[HC_X].data, i));
        uint64_t bits = hc_encode_as(&a->to, value, 0, c->params.cast.direction);
        hc_dk_set_bits(a->to.bytes, c->out[HC_OUT].data, i, bits);
    }
}
HC_LAUNCHABLE(cast_any, struct hc_dk_cast_any)

HC_ON_DEVICE void hc_dk_elementwise_body(const struct hc_call *c)
{
    hc_dk_over_elements(c);
}
HC_LAUNCHABLE(elementwise, struct hc_call)

/* A thread that finds an infinity or NaN sets a counter of the queue: 0 or 1 is 1, in whatever order
   the threads come. The last block writes the flag, which keeps an overflow that was seen earlier.
   The flag may be the one that was given. */
HC_ON_DEVICE void hc_dk_unscale_body(const struct hc_dk_counted_call *a)
{
    const struct hc_call *c = &a->call;
    bool reciprocal = c->params.unscale.reciprocal;
    float scale = hc_dk_load(&c->in[HC_UNSCALE_SCALE], 0);
    float by = reciprocal ? hc_unscale_reciprocal(scale) : scale;
    const struct hc_tensor *out = &c->out[HC_UNSCALE_OUT];
    const float *override = (const float *)c->in[HC_UNSCALE_OVERRIDE].data;
    bool earlier = hc_dk_is_set(&c->in[HC_UNSCALE_FOUND_INF]);
    int64_t n = hc_dk_count(out);
    int found = 0;
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        float x = hc_dk_load(&c->in[HC_UNSCALE_X], i);
        found |= hc_is_nonfinite(x);
        hc_dk_store(out, i,
                    override && earlier ? override[i] : hc_element_unscale(reciprocal, x, by));
    }
    if (found)
        hc_atomic_or(&a->counters[1], 1);
    if (!hc_dk_last_block(&a->counters[0], hc_blocks()) || hc_thread() != 0)
        return;
    hc_dk_store(&c->out[HC_UNSCALE_NEW_FOUND_INF], 0, earlier || a->counters[1] ? 1.0f : 0.0f);
    a->counters[1] = 0;
}
HC_LAUNCHABLE(unscale, struct hc_dk_counted_call)
