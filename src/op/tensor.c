#include "op/tensor.h"

#include <string.h>

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
    size_t bytes = (size_t)hc_formats[t->format].bytes;
    memcpy((unsigned char *)t->data + (size_t)i * bytes, &bits, bytes);
}

double hc_tensor_get(const struct hc_tensor *t, int64_t i)
{
    uint64_t bits = hc_tensor_bits(t, i);
    switch (t->format) {
    case HC_FP64:
        return hc_fp64_value(bits);
    case HC_FP32:
    case HC_TF32:
        return (double)hc_fp32_value((uint32_t)bits);
    case HC_FP16:
        return (double)hc_fp16_value((uint16_t)bits);
    case HC_BF16:
        return (double)hc_bf16_value((uint16_t)bits);
    default:
        return hc_decode(t->format, bits);
    }
}

void hc_tensor_set(const struct hc_tensor *t, int64_t i, double value)
{
    hc_tensor_set_bits(t, i, hc_encode(t->format, value, 0, HC_NEAREST));
}
