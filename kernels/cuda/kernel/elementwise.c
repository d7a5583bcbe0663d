/* Elementwise ops: a thread takes elements that are a grid apart, loads them as fp32, applies the
   element's arithmetic of kernels/element, and rounds the result into the output. Where all tensors
   are aligned to a vector it takes eight neighbours at a time, and single ones for the rest. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/kernel/block.h"
#include "kernels/cuda/kernel/elementwise.inc"
#include "kernels/cuda/kernel/vector.h"
#include "num/directed.h"
#include "num/encode.h"

HC_ON_DEVICE bool hc_dk_is_aligned(const struct hc_tensor *t)
{
    return (uintptr_t)t->data % HC_DK_VECTOR == 0;
}

/* From one of fp32, bf16 and fp16 into another, to nearest: fp32 holds every value of the other
   two. The bits of a NaN are kept, which the device's own instructions change. */
HC_ON_DEVICE uint32_t hc_dk_cast_bits(enum hc_format from, uint32_t bits, enum hc_format to)
{
    float value = from == HC_FP32   ? hc_fp32_value(bits)
                  : from == HC_FP16 ? hc_fp16_value((uint16_t)bits)
                                    : hc_bf16_value((uint16_t)bits);
    return to == HC_FP32   ? hc_fp32_bits(value)
           : to == HC_FP16 ? hc_fp16_bits(value)
                           : hc_bf16_bits(value);
}

HC_ON_DEVICE void hc_dk_cast_body(const struct hc_call *c)
{
    const struct hc_tensor *from = &c->in[HC_X];
    const struct hc_tensor *to = &c->out[HC_OUT];
    int64_t n = hc_dk_count(to);
    int64_t vectors = hc_dk_is_aligned(from) && hc_dk_is_aligned(to) ? n / HC_DK_WIDE : 0;
    for (int64_t v = hc_dk_first(); v < vectors; v += hc_dk_stride()) {
        uint32_t bits[HC_DK_WIDE];
        hc_dk_read_bits(from->format, from->data, v * HC_DK_WIDE, bits);
        for (int k = 0; k < HC_DK_WIDE; k++)
            bits[k] = hc_dk_cast_bits(from->format, bits[k], to->format);
        hc_dk_write_bits(to->format, bits, to->data, v * HC_DK_WIDE);
    }
    for (int64_t i = vectors * HC_DK_WIDE + hc_dk_first(); i < n; i += hc_dk_stride())
        hc_dk_store(to, i, hc_dk_load(from, i));
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
        uint64_t bits =
            hc_encode_as(&a->to, value, 0, c->params.cast.direction, c->params.cast.saturate);
        hc_dk_set_bits(a->to.bytes, c->out[HC_OUT].data, i, bits);
    }
}
HC_LAUNCHABLE(cast_any, struct hc_dk_cast_any)

HC_ON_DEVICE void hc_dk_elementwise_body(const struct hc_call *c)
{
    struct hc_dk_operands o = hc_dk_operands_of(c);
    struct hc_dk_scalars s = hc_dk_scalars_of(c);
    const struct hc_tensor *out = &c->out[HC_OUT];
    bool aligned = hc_dk_is_aligned(o.x) && hc_dk_is_aligned(o.y) && hc_dk_is_aligned(o.z) &&
                   hc_dk_is_aligned(out);
    int64_t vectors = aligned ? hc_dk_count(out) / HC_DK_WIDE : 0;
    for (int64_t v = hc_dk_first(); v < vectors; v += hc_dk_stride()) {
        float x[HC_DK_WIDE];
        float y[HC_DK_WIDE] = {0};
        float z[HC_DK_WIDE] = {0};
        hc_dk_read(o.x->format, HC_DK_WIDE, o.x->data, v * HC_DK_WIDE, x);
        if (o.y != o.x)
            hc_dk_read(o.y->format, HC_DK_WIDE, o.y->data, v * HC_DK_WIDE, y);
        if (o.z != o.x)
            hc_dk_read(o.z->format, HC_DK_WIDE, o.z->data, v * HC_DK_WIDE, z);
        for (int k = 0; k < HC_DK_WIDE; k++)
            x[k] = hc_dk_formula(c, s, &x[k], &y[k], z[k]);
        hc_dk_write(out->format, HC_DK_WIDE, x, out->data, v * HC_DK_WIDE);
    }
    hc_dk_over_elements(c, vectors * HC_DK_WIDE);
}
HC_LAUNCHABLE(elementwise, struct hc_call)

/* A thread that finds an infinity or NaN sets a counter of the queue: 0 or 1 is 1, in whatever
   order the threads come. The last block writes the flag, which keeps an overflow that was seen
   earlier. The flag may be the one that was given. */
HC_ON_DEVICE void hc_dk_unscale_body(const struct hc_dk_counted_call *a)
{
    const struct hc_call *c = &a->call;
    bool reciprocal = c->params.unscale.reciprocal;
    float scale = hc_dk_load(&c->in[HC_UNSCALE_SCALE], 0);
    float by = reciprocal ? hc_unscale_reciprocal(scale) : scale;
    const struct hc_tensor *out = &c->out[HC_UNSCALE_OUT];
    const struct hc_tensor *x = &c->in[HC_UNSCALE_X];
    const float *override = (const float *)c->in[HC_UNSCALE_OVERRIDE].data;
    bool earlier = hc_dk_is_set(&c->in[HC_UNSCALE_FOUND_INF]);
    bool copies = override && earlier;
    int64_t n = hc_dk_count(out);
    bool aligned = hc_dk_is_aligned(x) && hc_dk_is_aligned(out) && !copies;
    int64_t vectors = aligned ? n / HC_DK_WIDE : 0;
    int found = 0;
    for (int64_t v = hc_dk_first(); v < vectors; v += hc_dk_stride()) {
        float numbers[HC_DK_WIDE];
        hc_dk_read(x->format, HC_DK_WIDE, x->data, v * HC_DK_WIDE, numbers);
        for (int k = 0; k < HC_DK_WIDE; k++) {
            found |= hc_is_nonfinite(numbers[k]);
            numbers[k] = hc_element_unscale(reciprocal, numbers[k], by);
        }
        hc_dk_write(out->format, HC_DK_WIDE, numbers, out->data, v * HC_DK_WIDE);
    }
    for (int64_t i = vectors * HC_DK_WIDE + hc_dk_first(); i < n; i += hc_dk_stride()) {
        float number = hc_dk_load(x, i);
        found |= hc_is_nonfinite(number);
        hc_dk_store(out, i, copies ? override[i] : hc_element_unscale(reciprocal, number, by));
    }
    if (found)
        hc_atomic_or(&a->counters[1], 1);
    if (!hc_dk_last_block(&a->counters[0], hc_blocks()) || hc_thread() != 0)
        return;
    hc_dk_store(&c->out[HC_UNSCALE_NEW_FOUND_INF], 0, earlier || a->counters[1] ? 1.0f : 0.0f);
    a->counters[1] = 0;
}
HC_LAUNCHABLE(unscale, struct hc_dk_counted_call)
