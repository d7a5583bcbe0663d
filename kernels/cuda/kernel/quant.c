/* quantize in four launches: the blocks' amaxes become 0; all elements raise them, in any order,
   since a maximum has none; each becomes a scale; and the codes follow. Magnitudes are compared as
   integers, as atomics can. Under a Hadamard matrix each thread multiplies the 16 neighbours of its
   element by itself. */
#include "kernels/cuda/kernel/quant.h"

#include "kernels/cuda/kernel/elements.h"
#include "kernels/element/quant.h"
#include "kernels/element/scale_delayed.h"
#include "kernels/element/scale_rule.h"

HC_ON_DEVICE int64_t hc_dk_block_of(const struct hc_dk_matrix *m, int64_t i)
{
    return i / m->columns / m->block_rows * m->across + i % m->columns / m->block_columns;
}

/* Element i of what is quantised, before a Hadamard matrix. */
HC_ON_DEVICE float hc_dk_quant_source(const struct hc_dk_quantize *a, int64_t i)
{
    const struct hc_tensor *x = &a->call.in[HC_QUANTIZE_X];
    if (a->call.params.quantize.transpose)
        i = i % a->matrix.columns * a->matrix.rows + i / a->matrix.columns;
    return hc_dk_load(x, i);
}

HC_ON_DEVICE float hc_dk_quant_value(const struct hc_dk_quantize *a, int64_t i)
{
    float v[HC_HADAMARD];
    if (!a->call.params.quantize.hadamard)
        return hc_dk_quant_source(a, i);
    for (int j = 0; j < HC_HADAMARD; j++)
        v[j] = hc_dk_quant_source(a, i - i % HC_HADAMARD + j);
    hc_hadamard(v);
    float value = 0;
    for (int j = 0; j < HC_HADAMARD; j++)
        value = j == i % HC_HADAMARD ? v[j] : value;
    return value;
}

/* The bits of |x|, or 0 for a NaN. */
HC_ON_DEVICE unsigned hc_dk_magnitude(float x)
{
    unsigned bits = hc_fp32_bits(x) & 0x7fffffffu;
    return bits > 0x7f800000u ? 0 : bits;
}

HC_ON_DEVICE void hc_dk_quant_begin_body(const struct hc_dk_quantize *a)
{
    unsigned *amax = (unsigned *)a->call.scratch;
    for (int64_t b = hc_dk_first(); b < a->matrix.blocks; b += hc_dk_stride())
        amax[b] = 0;
    if (hc_dk_first() == 0)
        *(unsigned *)a->call.out[HC_QUANTIZE_AMAX].data = 0;
}
HC_LAUNCHABLE(quant_begin, struct hc_dk_quantize)

/* A thread keeps a block's largest until it comes to another block. */
HC_ON_DEVICE void hc_dk_quant_amax_body(const struct hc_dk_quantize *a)
{
    const struct hc_dk_matrix *m = &a->matrix;
    unsigned *amax = (unsigned *)a->call.scratch;
    unsigned most = 0;
    unsigned of_block = 0;
    int64_t block = -1;
    for (int64_t i = hc_dk_first(); i < m->rows * m->columns; i += hc_dk_stride()) {
        int64_t next = hc_dk_block_of(m, i);
        if (next != block && of_block > 0)
            (void)hc_atomic_max(&amax[block], of_block);
        of_block = next != block ? 0 : of_block;
        block = next;
        unsigned bits = hc_dk_magnitude(hc_dk_quant_value(a, i));
        of_block = bits > of_block ? bits : of_block;
        most = bits > most ? bits : most;
    }
    if (of_block > 0)
        (void)hc_atomic_max(&amax[block], of_block);
    if (most > 0)
        (void)hc_atomic_max((unsigned *)a->call.out[HC_QUANTIZE_AMAX].data, most);
}
HC_LAUNCHABLE(quant_amax, struct hc_dk_quantize)

HC_ON_DEVICE void hc_dk_quant_scales_body(const struct hc_dk_quantize *a)
{
    enum hc_scale_rule rule = a->call.params.quantize.rule;
    const float *given = (const float *)a->call.in[HC_QUANTIZE_SCALE].data;
    float largest = *(const float *)a->call.out[HC_QUANTIZE_AMAX].data;
    struct hc_tensor_scale tensor = hc_tensor_scale_of(rule, &a->formats, largest);
    float *numbers = (float *)a->call.scratch;
    void *scales = a->call.out[HC_QUANTIZE_SCALES].data;
    for (int64_t b = hc_dk_first(); b < a->matrix.blocks; b += hc_dk_stride()) {
        struct hc_scale s = given ? hc_scale_of_multiplier(*given)
                                  : hc_scale_of(rule, &a->formats, &tensor, numbers[b]);
        if (a->scale_bytes == 4)
            ((uint32_t *)scales)[b] = s.stored;
        else
            ((uint8_t *)scales)[b] = (uint8_t)s.stored;
        numbers[b] = s.encode;
    }
    if (hc_dk_first() == 0)
        *(float *)a->call.out[HC_QUANTIZE_TENSOR].data = tensor.decode;
}
HC_LAUNCHABLE(quant_scales, struct hc_dk_quantize)

HC_ON_DEVICE void hc_dk_quant_codes_body(const struct hc_dk_quantize *a)
{
    const struct hc_quantize *p = &a->call.params.quantize;
    const float *encode = (const float *)a->call.scratch;
    uint8_t *codes = (uint8_t *)a->call.out[HC_QUANTIZE_CODES].data;
    int k = p->random_bits;
    for (int64_t i = hc_dk_first(); i < a->matrix.rows * a->matrix.columns; i += hc_dk_stride()) {
        float t = hc_dk_quant_value(a, i) * encode[hc_dk_block_of(&a->matrix, i)];
        uint32_t bits = hc_fp32_bits(t);
        uint32_t r = k ? hc_round_random(p->seed, (uint32_t)p->step, (uint64_t)i) >> (16 - k) : 0;
        codes[i] = k ? hc_narrow8_random(&a->narrow, bits, k, r) : hc_narrow8(&a->narrow, bits);
    }
}
HC_LAUNCHABLE(quant_codes, struct hc_dk_quantize)

HC_ON_DEVICE void hc_dk_dequantize_body(const struct hc_dk_dequantize *a)
{
    const struct hc_tensor *codes = &a->call.in[HC_DEQUANTIZE_CODES];
    const void *scales = a->call.in[HC_DEQUANTIZE_SCALES].data;
    const float *tensor = (const float *)a->call.in[HC_DEQUANTIZE_TENSOR].data;
    float t = tensor ? *tensor : 1;
    for (int64_t i = hc_dk_first(); i < a->matrix.rows * a->matrix.columns; i += hc_dk_stride()) {
        int64_t b = hc_dk_block_of(&a->matrix, i);
        float d = a->scales.bytes == 4
                      ? ((const float *)scales)[b]
                      : (float)hc_decode_as(&a->scales, ((const uint8_t *)scales)[b]);
        uint32_t code = ((const uint8_t *)codes->data)[i];
        hc_dk_store(&a->call.out[HC_DEQUANTIZE_Y], i, hc_element_dequantize(&a->codes, code, d, t));
    }
}
HC_LAUNCHABLE(dequantize, struct hc_dk_dequantize)

/* Formats of one byte or of two. */
HC_ON_DEVICE void hc_dk_stochastic_cast_body(const struct hc_dk_stochastic_cast *a)
{
    const struct hc_stochastic_cast *p = &a->call.params.stochastic_cast;
    const struct hc_tensor *out = &a->call.out[HC_STOCHASTIC_OUT];
    const uint32_t *words = (const uint32_t *)a->call.in[HC_STOCHASTIC_WORDS].data;
    uint32_t mask = ((uint32_t)1 << p->bits) - 1;
    for (int64_t i = hc_dk_first(); i < hc_dk_count(out); i += hc_dk_stride()) {
        float x = hc_dk_load(&a->call.in[HC_STOCHASTIC_X], i);
        uint32_t r = words[i] & mask;
        uint32_t bits = a->is_narrow ? hc_narrow8_random(&a->narrow, hc_fp32_bits(x), p->bits, r)
                                     : hc_quant_stochastic(&a->to, x, p->bits, r, p->saturate);
        if (a->to.bytes == 1)
            ((uint8_t *)out->data)[i] = (uint8_t)bits;
        else
            ((uint16_t *)out->data)[i] = (uint16_t)bits;
    }
}
HC_LAUNCHABLE(stochastic_cast, struct hc_dk_stochastic_cast)

/* A thread for each tensor. */
HC_ON_DEVICE void hc_dk_delayed_scale_body(const struct hc_dk_delayed *a)
{
    const struct hc_tensor *history = &a->call.in[HC_DELAYED_HISTORY];
    const float *entries = (const float *)history->data;
    const float *amax = (const float *)a->call.in[HC_DELAYED_AMAX].data;
    const float *scale = (const float *)a->call.in[HC_DELAYED_SCALE].data;
    float *new_entries = (float *)a->call.out[HC_DELAYED_NEW_HISTORY].data;
    float *new_scale = (float *)a->call.out[HC_DELAYED_NEW_SCALE].data;
    int64_t tensors = history->shape[1];
    for (int64_t t = hc_dk_first(); t < tensors; t += hc_dk_stride()) {
        struct hc_delayed_history h = {entries + t, new_entries + t, history->shape[0], tensors};
        new_scale[t] =
            hc_delayed_step(&a->call.params.delayed_scale, a->max, amax[t], scale[t], &h);
    }
}
HC_LAUNCHABLE(delayed_scale, struct hc_dk_delayed)
