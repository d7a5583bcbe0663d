/* Products of bf16 and fp16 matrices by the CPU's own bf16 instructions: TDPBF16PS on tiles (AMX)
   or VDPBF16PS on vectors (AVX512_BF16).

   c [m, n] (+)= sum over k of a[m, k] b[k, n]. Both factors are packed into tiles of 1 KiB, which
   both instructions read: of a 16 rows and 32 terms, of b 16 pairs of terms and 16 columns, a pair
   being one 32-bit word. Terms, rows and columns beyond the ends are +0.

   Each product is exact and each sum is rounded to nearest into fp32. With AMX the even and the odd
   terms of each 32 are two chains, whose sum is added to what is there; with AVX512_BF16 all terms
   are one chain, the odd one of each pair first. Both read subnormal factors as 0, and partial sums
   below 2^-126 become 0 (struct hc_accumulator.flushes).

   A number x of fp16 is the sum of two bf16 numbers, its first 8 bits, `high`, and its last 3,
   `low`, which has x's sign. Both are exact, and normal or 0 also where x is subnormal. So a
   product of two fp16 numbers is the sum of four exact products of one sign: |xy| = |high high| +
   |high low| + |low high| + |low low|, of which all but the first are less than 2^-6 |xy| together.
   AMX sums those three over all terms first, and then adds the first. Nothing is flushed: all parts
   are multiples of 2^-24.

   This errs by less than (k - 1) u S, u = 2^-24 and S the sum of the k terms' magnitudes, which a
   sum of k exact products in any order may (src/check/bound/sum.c), if k >= 16. In each addition
   that it meets, an addend errs by u of itself at most. Let t = ceil(k / 32) be the tiles. A first
   part meets at most min(16, ceil(k / 2)) - 1 others in its chain, then the other chain, and the
   sums so far in each tile from its own on: D = min(16, ceil(k / 2)) + t <= k / 2 + 1.5 additions.
   The three others meet at most D + 3 t, and they are 2^-6 of S: (k / 2 + 1.5 + 3 k / 32 + 3) / 64
   roundings of S. Both together are less than 0.51 k + 1.6 <= k - 1.

   The filter's gradient may sum its k terms in j <= 8 shares of the images, which j - 1 additions
   put together. If j > 1 a share has at most k / 2 terms, and 0.51 k / 2 + 1.6 + 7 <= k - 1 for
   k >= 16. A share may also be a chain of products (filter.c), of which each begins with the sum of
   those before it. Then all but the last of them have more than 256 terms, so that k > 256, and
   there are at most k / 256 + 1 of them. The sum so far meets 4 tiles' additions for each 32 terms
   of a product; over all products these are 4 sum ceil(k_i / 32) <= 4 (k / 32 + k / 256 + 1). So
   each part meets at most 16 + 9 k / 64 + 4 additions, and 7 of shares: both parts together come to
   less than (1 + 2^-6) (0.15 k + 20) + 7 < 0.16 k + 28 <= k - 1.

   Errors of errors are k u times as small as this, and k / 8 is to spare. */
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

/* Whether any x of n numbers has x & mask = value. That of infinities and NaN in bf16 are both
   0x7f80. */
bool hc_any16(const uint16_t *x, int64_t n, uint16_t mask, uint16_t value);

/* Splits whole tiles of n numbers of fp16 in all: their high parts take their place, the low ones
   go to `low`. Returns whether any was infinite, which has no low part. A NaN is NaN in both parts,
   or 0 in both. */
bool hc_split16(uint16_t *x, uint16_t *low, int64_t n, bool nan_is_zero);

struct hc_product16 {
    int64_t m, n, k;
    const uint16_t *a; /* packed */
    const uint16_t *b;
    const uint16_t *a_low; /* of fp16; NULL: a and b are bf16 */
    const uint16_t *b_low;
    float *c;
    int64_t ldc;
    bool adds; /* to c */
};

/* On the calling thread. */
typedef void hc_product16(const struct hc_product16 *p);
hc_product16 hc_product16_amx, hc_product16_avx512;

#endif
