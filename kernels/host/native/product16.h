/* Products of bf16 matrices by the CPU's own bf16 instructions: TDPBF16PS on tiles (AMX) or
   VDPBF16PS on vectors (AVX512_BF16).

   c [m, n] (+)= sum over k of a[m, k] b[k, n]. Both factors are packed into tiles of 1 KiB, which
   both instructions read: of a 16 rows and 32 terms, of b 16 pairs of terms and 16 columns, a pair
   being one 32-bit word. Terms, rows and columns beyond the ends are +0.

   Each product is exact and each sum is rounded to nearest into fp32. With AMX the even and the odd
   terms of each 32 are two chains, whose sum is added to what is there; with AVX512_BF16 all terms
   are one chain, the odd one of each pair first. Both read subnormal factors as 0, and partial sums
   below 2^-126 become 0 (struct hc_accumulator.flushes). */
#ifndef HC_KERNELS_HOST_NATIVE_PRODUCT16_H
#define HC_KERNELS_HOST_NATIVE_PRODUCT16_H

#include <stdbool.h>
#include <stdint.h>

enum { HC_TILE16_EDGE = 16, HC_TILE16_TERMS = 32, HC_TILE16 = 512 }; /* the last: numbers in all */

/* bf16 numbers of a packed matrix of `edge` rows (of a) or columns (of b) and `terms` terms. */
int64_t hc_packed16(int64_t edge, int64_t terms);

/* A matrix of bf16 as it lies in memory: `edge` rows of a or columns of b. */
struct hc_matrix16 {
    const uint16_t *from;
    int64_t stride; /* numbers from one row in memory to the next */
    int64_t edge;
    int64_t terms;
    bool contiguous; /* the terms of one row (column) lie side by side; else those of one term do */
};

/* Packs rows `first` .. of a, or columns of b, up to 16 of them, into their tiles: those of one
   edge of 16 lie behind each other. */
void hc_pack16_rows(const struct hc_matrix16 *a, int64_t first, uint16_t *to);
void hc_pack16_columns(const struct hc_matrix16 *b, int64_t first, uint16_t *to);

/* The pixels of an image as columns of b: word i of `to`, 16 columns each, is made of the 16
   numbers at even[i] and odd[i]; NULL is zeros. */
void hc_pair16(const uint16_t *even, const uint16_t *odd, uint16_t *to);

/* Whether any of n numbers is infinite or NaN. */
bool hc_any_nonfinite16(const uint16_t *x, int64_t n);

struct hc_product16 {
    int64_t m, n, k;
    const uint16_t *a; /* packed */
    const uint16_t *b;
    float *c;
    int64_t ldc;
    bool adds; /* to c */
};

/* On the calling thread. */
typedef void hc_product16(const struct hc_product16 *p);
hc_product16 hc_product16_amx, hc_product16_avx512;

#endif
