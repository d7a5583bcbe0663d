/* Elements of tensors as numbers of the working format: of fp32, bf16 and fp16 tensors as fp32, or,
   where HC_ELEMENTS_IN_FP64 is defined, of fp64 tensors. */
#ifndef HC_KERNELS_ELEMENT_LOAD_H
#define HC_KERNELS_ELEMENT_LOAD_H

#include <stdint.h>

#include "kernels/element/number.h"
#include "num/bits.h"
#include "num/format.h"

#ifdef HC_ELEMENTS_IN_FP64

HC_INLINE hc_number hc_load(enum hc_format format, const void *data, int64_t i)
{
    (void)format;
    return ((const double *)data)[i];
}

HC_INLINE void hc_store(enum hc_format format, void *data, int64_t i, hc_number value)
{
    (void)format;
    ((double *)data)[i] = value;
}

#else

HC_INLINE hc_number hc_load(enum hc_format format, const void *data, int64_t i)
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

/* Rounds to nearest. */
HC_INLINE void hc_store(enum hc_format format, void *data, int64_t i, hc_number value)
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

#endif

/* Whether a format is fp32, bf16 or fp16: those that the op's contracts call float. */
HC_INLINE int hc_is_h(enum hc_format format)
{
    return format == HC_FP32 || format == HC_BF16 || format == HC_FP16;
}

#endif
