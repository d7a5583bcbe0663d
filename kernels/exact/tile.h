/* Sums of products, 16 of them side by side: the one inner loop of gemm and of the convolutions.

   Each output element has a sum of its own. Its terms are added in a stated order, one after the
   other, product and sum rounded each, so the result does not depend on how elements are grouped.
   What stands side by side are HC_TILE elements whose terms share their left factor: columns of
   gemm, filters or channels of a convolution. The right factors are packed for that: tiles of
   HC_TILE columns, each [terms, HC_TILE], the last one filled up with zeros, whose sums are not
   stored. In a vector register the HC_TILE sums advance together. */
#ifndef HC_KERNELS_EXACT_TILE_H
#define HC_KERNELS_EXACT_TILE_H

#include "op/call.h"

/* The address sanitizer would look at every factor, which takes three times as long as the sums.
   It looks at the ranges that a loop reads instead, and leaves the loop alone. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define HC_TILE_LOOP __attribute__((no_sanitize("address", "undefined"), noinline))
static inline void hc_tile_reads(const void *from, size_t bytes)
{
    const volatile char *bad = __asan_region_is_poisoned((void *)(uintptr_t)from, bytes);
    if (bad)
        (void)*bad; /* where the sanitizer reports */
}
#else
#define HC_TILE_LOOP
static inline void hc_tile_reads(const void *from, size_t bytes)
{
    (void)from;
    (void)bytes;
}
#endif

enum { HC_TILE = 16 };

/* n rounded up to whole tiles. */
static inline int64_t hc_tile_padded(int64_t n)
{
    return (n + HC_TILE - 1) / HC_TILE * HC_TILE;
}

/* A matrix within a tensor: element (i, j) is first + i * down + j * across. */
struct hc_tile_matrix {
    const struct hc_tensor *tensor;
    int64_t first;
    int64_t rows;
    int64_t down;
    int64_t columns;
    int64_t across;
};

#endif
