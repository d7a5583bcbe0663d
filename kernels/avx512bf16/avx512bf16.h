/* The kernels of a CPU's bf16 products in vector registers. HC_UNSUPPORTED where the formats are
   not theirs. */
#ifndef HC_KERNELS_AVX512BF16_AVX512BF16_H
#define HC_KERNELS_AVX512BF16_AVX512BF16_H

#include "backend.h"

/* gemm and dot by vdpbf16ps, one chain an element in the order of k. */
hc_kernel hc_avx512bf16_products;

/* 16 lanes of one vdpbf16ps, with bits in and out: pairs of bf16 in a and b, fp32 in c and d. It
   and those below may be called only where the backend is available. */
void hc_avx512bf16_lanes(const uint32_t *a, const uint32_t *b, const uint32_t *c, uint32_t *d);

/* 16 numbers from fp32 into bf16 by one vcvtneps2bf16, and 32 by one vcvtne2ps2bf16, with bits in
   and out. They take subnormals for zeros, so they are no kernel of the op cast, which keeps
   them. */
void hc_avx512bf16_one(const uint32_t *from, uint16_t *to);
void hc_avx512bf16_two(const uint32_t *from, uint16_t *to);

#endif
