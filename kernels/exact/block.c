#include "kernels/exact/block.h"

#include "num/bits.h"

void hc_load_block(const struct hc_tensor *t, int64_t first, int64_t n, float *to)
{
    const float *wide = t->data;
    const uint16_t *narrow = t->data;
    if (t->format == HC_FP32)
        for (int64_t i = 0; i < n; i++)
            to[i] = wide[first + i];
    else if (t->format == HC_FP16)
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_fp16_value(narrow[first + i]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_bf16_value(narrow[first + i]);
}

void hc_store_block(const struct hc_tensor *t, int64_t first, int64_t n, const float *from)
{
    float *wide = t->data;
    uint16_t *narrow = t->data;
    if (t->format == HC_FP32)
        for (int64_t i = 0; i < n; i++)
            wide[first + i] = from[i];
    else if (t->format == HC_FP16)
        for (int64_t i = 0; i < n; i++)
            narrow[first + i] = hc_fp16_bits(from[i]);
    else
        for (int64_t i = 0; i < n; i++)
            narrow[first + i] = hc_bf16_bits(from[i]);
}
