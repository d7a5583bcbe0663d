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

/* The bits of the eight elements from `at` on, a multiple of eight; the data are aligned to a
   vector. */
HC_ON_DEVICE void hc_dk_read_bits(enum hc_format format, const void *data, int64_t at, uint32_t *to)
{
    uint32_t words[4];
    if (format == HC_FP32) {
        hc_dk_read_words((const float *)data + at, to);
        hc_dk_read_words((const float *)data + at + 4, to + 4);
        return;
    }
    hc_dk_read_words((const uint16_t *)data + at, words);
    for (int i = 0; i < HC_DK_WIDE; i++)
        to[i] = words[i / 2] >> 16 * (i % 2) & 0xffff;
}

HC_ON_DEVICE void hc_dk_write_bits(enum hc_format format, const uint32_t *from, void *data,
                                   int64_t at)
{
    uint32_t words[4];
    if (format == HC_FP32) {
        hc_dk_write_words(from, (float *)data + at);
        hc_dk_write_words(from + 4, (float *)data + at + 4);
        return;
    }
    for (int i = 0; i < 4; i++)
        words[i] = from[2 * i] | from[2 * i + 1] << 16;
    hc_dk_write_words(words, (uint16_t *)data + at);
}

/* Read and write the elements at, at + 1, ...: `wide` of them, 1 or HC_DK_WIDE. */
HC_ON_DEVICE void hc_dk_read(enum hc_format format, int wide, const void *data, int64_t at,
                             float *to)
{
    uint32_t bits[HC_DK_WIDE];
    if (wide == 1) {
        to[0] = hc_load(format, data, at);
        return;
    }
    hc_dk_read_bits(format, data, at, bits);
    for (int i = 0; i < HC_DK_WIDE; i++)
        to[i] = format == HC_FP32 ? hc_fp32_value(bits[i]) : hc_dk_widen(format, (uint16_t)bits[i]);
}

HC_ON_DEVICE void hc_dk_write(enum hc_format format, int wide, const float *from, void *data,
                              int64_t at)
{
    uint32_t bits[HC_DK_WIDE];
    if (wide == 1) {
        hc_store(format, data, at, from[0]);
        return;
    }
    for (int i = 0; i < HC_DK_WIDE; i++)
        bits[i] = format == HC_FP32 ? hc_fp32_bits(from[i]) : hc_dk_narrow(format, from[i]);
    hc_dk_write_bits(format, bits, data, at);
}

#endif
