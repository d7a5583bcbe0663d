/* Directed amaxes: where scale rules round, and so where two of them, or an implementation and its
   rule, can differ. */
#ifndef HC_CLI_SCALE_AMAXES_H
#define HC_CLI_SCALE_AMAXES_H

#include <stdint.h>

#include "num/format.h"

/* Which exponents, and how far around each edge. */
struct hc_amaxes {
    enum hc_format codes; /* whose largest number is M */
    int stride, offset; /* exponents k with (k - offset) % stride == 0, besides those at the ends */
    int neighbours;     /* 0, +-1, +-2, +-4 ... +-2^(neighbours - 1) ulps around each edge */
};

/* Writes the bits of at most `most` amaxes, and returns how many there are: 2^k, M 2^k, sqrt(2) M
   2^k and the middle between the last two codes' values times 2^k, their neighbours, subnormal
   numbers, and 0, infinity and NaN at the end. */
int hc_amaxes(const struct hc_amaxes *which, uint32_t *amax, int most);

enum { HC_MOST_AMAXES = 20000 };

#endif
