/* The exact sum of products of fp16 values, in integers. */
#ifndef HC_NUM_EXACTDOT_H
#define HC_NUM_EXACTDOT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sum in progress; start from all zeros. A value of fp16 is an 11-bit integer times 2^(e - 25), e
   = 1..30. A product is therefore a 22-bit integer times 2^(s - 48), s = 0..58, an integer multiple
   of 2^-48. Limb k of a sign counts multiples of 2^(16 k - 48) and takes the products with s / 16 =
   k. Each of them is below 2^37, so that 2^27 terms fit. */
struct hc_exact_dot {
    uint64_t limb[2][4]; /* of the positive products, and of the negative ones */
    uint64_t terms;
    unsigned infinite[2]; /* whether there was an infinite product of this sign */
    unsigned nan;
};

enum { HC_EXACT_DOT_TERMS = 1 << 27 };

/* Adds a product with an infinite or NaN factor, by the rules of IEEE 754. */
void hc_exact_dot_special(struct hc_exact_dot *sum, uint16_t x, uint16_t y);

static inline void hc_exact_dot_add(struct hc_exact_dot *sum, uint16_t x, uint16_t y)
{
    unsigned ex = x >> 10 & 31u;
    unsigned ey = y >> 10 & 31u;
    sum->terms++;
    if (ex == 31 || ey == 31) {
        hc_exact_dot_special(sum, x, y);
        return;
    }
    uint64_t mx = (x & 1023u) | (uint64_t)(ex > 0) << 10;
    uint64_t my = (y & 1023u) | (uint64_t)(ey > 0) << 10;
    unsigned s = ex - (ex > 0) + ey - (ey > 0);
    sum->limb[(x ^ y) >> 15][s >> 4] += (mx * my) << (s & 15);
}

/* The exact sum is *hi + *lo, where *hi is the nearest double (+0 for 0). *magnitude is the double
   nearest to the sum of the magnitudes of the finite products. NaN and infinite sums have lo 0.
   Asserts that there were no more than HC_EXACT_DOT_TERMS terms. */
void hc_exact_dot_end(const struct hc_exact_dot *sum, double *hi, double *lo, double *magnitude);

#ifdef __cplusplus
}
#endif

#endif
