/* For the bodies of device kernels: one element of a tensor, or eight neighbours, to fp32 and back.
   A thread reads and writes 16 bytes at once, the most that one access can have. If `format` and
   `wide` are constants, no branch is left. */
#ifndef HC_KERNELS_CUDA_KERNEL_VECTOR_H
#define HC_KERNELS_CUDA_KERNEL_VECTOR_H

#include <string.h>

#include "kernels/cuda/kernel/device.h"
#include "kernels/element/load.h"

enum { HC_DK_WIDE = 8, HC_DK_VECTOR = 16 };

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* The device's own instructions round as num/bits.h does, but give another NaN. */
HC_ON_DEVICE float hc_dk_widen(enum hc_format format, uint16_t bits)
{
    return format == HC_FP16 ? __half2float(__ushort_as_half(bits)) : hc_bf16_value(bits);
}

HC_ON_DEVICE uint16_t hc_dk_narrow(enum hc_format format, float x)
{
    return format == HC_FP16 ? __half_as_ushort(__float2half_rn(x))
                             : __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

/* Four words in one access, which is aligned to its size. */
HC_ON_DEVICE void hc_dk_read_words(const void *from, uint32_t *to)
{
    uint4 v = *(const uint4 *)from;
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

HC_ON_DEVICE void hc_dk_write_words(const uint32_t *from, void *to)
{
    *(uint4 *)to = make_uint4(from[0], from[1], from[2], from[3]);
}

#else

HC_ON_DEVICE float hc_dk_widen(enum hc_format format, uint16_t bits)
{
    return format == HC_FP16 ? hc_fp16_value(bits) : hc_bf16_value(bits);
}

HC_ON_DEVICE uint16_t hc_dk_narrow(enum hc_format format, float x)
{
    return format == HC_FP16 ? hc_fp16_bits(x) : hc_bf16_bits(x);
}

HC_ON_DEVICE void hc_dk_read_words(const void *from, uint32_t *to)
{
    hc_vector_at(from, HC_DK_VECTOR);
    memcpy(to, from, HC_DK_VECTOR);
}

HC_ON_DEVICE void hc_dk_write_words(const uint32_t *from, void *to)
{
    hc_vector_at(to, HC_DK_VECTOR);
    memcpy(to, from, HC_DK_VECTOR);
}

#endif

/* x rounded into the format. */
HC_ON_DEVICE float hc_dk_through(enum hc_format format, float x)
{
    return format == HC_FP32 ? x : hc_dk_widen(format, hc_dk_narrow(format, x));
}

/* Read and write the elements at, at + 1, ...: `wide` of them, 1 or HC_DK_WIDE. Eight begin at a
   multiple of eight, and the data are aligned to a vector. */
HC_ON_DEVICE void hc_dk_read(enum hc_format format, int wide, const void *data, int64_t at,
                             float *to)
{
    uint32_t words[HC_DK_WIDE];
    if (wide == 1) {
        to[0] = hc_load(format, data, at);
    } else if (format == HC_FP32) {
        hc_dk_read_words((const float *)data + at, words);
        hc_dk_read_words((const float *)data + at + 4, words + 4);
        for (int i = 0; i < HC_DK_WIDE; i++)
            to[i] = hc_fp32_value(words[i]);
    } else {
        hc_dk_read_words((const uint16_t *)data + at, words);
        for (int i = 0; i < HC_DK_WIDE; i++)
            to[i] = hc_dk_widen(format, (uint16_t)(words[i / 2] >> 16 * (i % 2)));
    }
}

HC_ON_DEVICE void hc_dk_write(enum hc_format format, int wide, const float *from, void *data,
                              int64_t at)
{
    uint32_t words[HC_DK_WIDE] = {0};
    if (wide == 1) {
        hc_store(format, data, at, from[0]);
    } else if (format == HC_FP32) {
        for (int i = 0; i < HC_DK_WIDE; i++)
            words[i] = hc_fp32_bits(from[i]);
        hc_dk_write_words(words, (float *)data + at);
        hc_dk_write_words(words + 4, (float *)data + at + 4);
    } else {
        for (int i = 0; i < HC_DK_WIDE; i++)
            words[i / 2] |= (uint32_t)hc_dk_narrow(format, from[i]) << 16 * (i % 2);
        hc_dk_write_words(words, (uint16_t *)data + at);
    }
}

#endif
