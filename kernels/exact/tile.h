/* Sums of products, 16 of them side by side: the one inner loop of gemm and the convolutions. Each
   output element has an fp32 sum of its own, whose terms are added in a stated order, one after the
   other, product and sum rounded each; only elements stand side by side, never terms. */
#ifndef HC_KERNELS_EXACT_TILE_H
#define HC_KERNELS_EXACT_TILE_H

#include "op/call.h"

enum { HC_TILE = 16 };

/* sum[j] += a[i * stride] * b[i * HC_TILE + j] for i = 0, 1, ... terms - 1. */
void hc_tile_add(const float *a, int64_t stride, int64_t terms, const float *b, float *sum);

/* A matrix within a tensor: element (i, j) is first + i * down + j * across. */
struct hc_tile_matrix {
    const struct hc_tensor *tensor;
    int64_t first;
    int64_t rows;
    int64_t down;
    int64_t columns;
    int64_t across;
};

/* The matrix in fp32, as hc_tile_add takes it: tiles of HC_TILE columns, each [rows, HC_TILE], the
   last one filled up with zeros. Returns the end of what was written. */
float *hc_tile_pack(const struct hc_tile_matrix *matrix, float *to);

/* The tensor's elements as fp32: its own memory, or converted into `buffer`. */
const float *hc_tile_floats(const struct hc_tensor *t, float *buffer);

/* sum[0..] to elements first, first + step, ... of t; no more than are left of `columns` from
   `column` on. */
void hc_tile_store(const struct hc_tensor *t, int64_t first, int64_t step, int64_t column,
                   int64_t columns, const float *sum);

/* How many floats the two take, and n rounded up to whole tiles. */
int64_t hc_tile_buffer_floats(const struct hc_tensor *t);
int64_t hc_tile_padded(int64_t n);

#endif
