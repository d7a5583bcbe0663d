/* Elements of fp32, bf16 and fp16 tensors as fp32, the working format of every kernel. */
#ifndef HC_KERNELS_ELEMENT_LOAD_H
#define HC_KERNELS_ELEMENT_LOAD_H

#include <stdint.h>

#include "num/bits.h"
#include "num/format.h"

HC_INLINE float hc_load(enum hc_format format, const void *data, int64_t i)
{
    switch (format) {
    case HC_FP16:
        return hc_fp16_value(((const uint16_t *)data)[i]);
    case HC_BF16:
        return hc_bf16_value(((const uint16_t *)data)[i]);
    default:
        return ((const float *)data)[i];
    }
}

HC_INLINE void hc_store(enum hc_format format, void *data, int64_t i, float value)
{
    switch (format) {
    case HC_FP16:
        ((uint16_t *)data)[i] = hc_fp16_bits(value);
        break;
    case HC_BF16:
        ((uint16_t *)data)[i] = hc_bf16_bits(value);
        break;
    default:
        ((float *)data)[i] = value;
    }
}

/* Whether a format is one of those marked H in op/call.h. */
HC_INLINE int hc_is_h(enum hc_format format)
{
    return format == HC_FP32 || format == HC_BF16 || format == HC_FP16;
}

#endif
