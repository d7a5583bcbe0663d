#include "op/tensor.h"

#include "num/bits.h"

struct hc_tensor hc_tensor1(enum hc_format format, int64_t n, void *data)
{
    return (struct hc_tensor){format, 1, {n, 1, 1, 1}, data};
}

struct hc_tensor hc_tensor2(enum hc_format format, int64_t rows, int64_t columns, void *data)
{
    return (struct hc_tensor){format, 2, {rows, columns, 1, 1}, data};
}

struct hc_tensor hc_tensor4(enum hc_format format, int64_t n, int64_t h, int64_t w, int64_t c,
                            void *data)
{
    return (struct hc_tensor){format, 4, {n, h, w, c}, data};
}

uint64_t hc_tensor_bits(const struct hc_tensor *t, int64_t i)
{
    switch (hc_formats[t->format].bytes) {
    case 1:
        return ((const uint8_t *)t->data)[i];
    case 2:
        return ((const uint16_t *)t->data)[i];
    case 4:
        return ((const uint32_t *)t->data)[i];
    default:
        return ((const uint64_t *)t->data)[i];
    }
}

void hc_tensor_set_bits(const struct hc_tensor *t, int64_t i, uint64_t bits)
{
    switch (hc_formats[t->format].bytes) {
    case 1:
        ((uint8_t *)t->data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)t->data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)t->data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)t->data)[i] = bits;
    }
}

double hc_tensor_get(const struct hc_tensor *t, int64_t i)
{
    switch (t->format) {
    case HC_FP64:
        return hc_fp64_value(((const uint64_t *)t->data)[i]);
    case HC_FP32:
    case HC_TF32:
        return (double)hc_fp32_value(((const uint32_t *)t->data)[i]);
    case HC_FP16:
        return (double)hc_fp16_value(((const uint16_t *)t->data)[i]);
    case HC_BF16:
        return (double)hc_bf16_value(((const uint16_t *)t->data)[i]);
    default:
        return hc_decode(t->format, hc_tensor_bits(t, i));
    }
}

void hc_tensor_set(const struct hc_tensor *t, int64_t i, double value)
{
    hc_tensor_set_bits(t, i, hc_encode(t->format, value, 0, HC_NEAREST));
}
