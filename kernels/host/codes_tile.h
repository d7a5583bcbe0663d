/* The inner loop of the host's gemm_q: sums of products of decoded codes, HC_CODES_ROWS rows by
   HC_CODES_COLUMNS columns. A product of two codes is exact in fp32, so that it is all the same
   whether it is rounded before it is added: every set of instructions gives the same bits. */
#ifndef HC_KERNELS_HOST_CODES_TILE_H
#define HC_KERNELS_HOST_CODES_TILE_H

#include <stdint.h>

#include "kernels/host/loops.h"

enum {
    HC_CODES_ROWS = 6,
    HC_CODES_COLUMNS = 64,
    HC_CODES_TERMS = 256, /* that a row of `a` has room for, */
    HC_CODES_STEP = 272,  /* and floats from one row to the next */
    HC_CODES_WIDTH = 256  /* floats from one row of sums to the next */
};

/* sum[i][j] += a[i][k] b[k][j] for k = 0 .. terms - 1, in that order. */
typedef void hc_codes_tile(const float *a, const float *b, int64_t terms, float *sum);

/* The one for the instructions that these loops have. */
hc_codes_tile *hc_codes_tile_with(const struct hc_host_loops *loops);

#endif
