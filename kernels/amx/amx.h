/* The kernels of a CPU's tiles of bf16. HC_UNSUPPORTED where the formats are not theirs. */
#ifndef HC_KERNELS_AMX_AMX_H
#define HC_KERNELS_AMX_AMX_H

#include "backend.h"

enum { HC_AMX_PAIRS = 16 }; /* of one instruction */

/* gemm and dot by tdpbf16ps. */
hc_kernel hc_amx_products;

/* One instruction of `pairs` pairs, at most 16, with bits in and out: a [16][pairs] and
   b [pairs][16] hold pairs of bf16, c [16][16] fp32, which the instruction updates. May be
   called only where the backend is available. */
void hc_amx_tile(const uint32_t *a, const uint32_t *b, int pairs, uint32_t *c);

#endif
