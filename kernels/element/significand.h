/* Exponent and significand of an fp32 number, and the floor and the ceiling of its logarithm to
   base 2, exact or rounded to fp32 before, all in integers. */
#ifndef HC_KERNELS_ELEMENT_SIGNIFICAND_H
#define HC_KERNELS_ELEMENT_SIGNIFICAND_H

#include <stdint.h>

#include "num/bits.h"

/* m 2^(k - 23), where 2^23 <= m < 2^24. */
struct hc_significand {
    int k;
    uint32_t m;
};

enum { HC_SIGNIFICAND_ONE = 0x800000, HC_SIGNIFICAND_TWO = 0x1000000 };

/* The significand of a number that is finite and not 0, without its sign. */
HC_INLINE struct hc_significand hc_significand_of(float x)
{
    uint32_t bits = hc_fp32_bits(x) & 0x7fffffffu;
    struct hc_significand s = {(int)(bits >> 23) - 127, (bits & 0x7fffffu) | HC_SIGNIFICAND_ONE};
    if (s.k > -127)
        return s;
    s.m = bits;
    for (s.k = -126; s.m < HC_SIGNIFICAND_ONE; s.k--)
        s.m <<= 1;
    return s;
}

/* The exponent of |n|, or -1 for 0. */
HC_INLINE int hc_exponent_of_integer(int n)
{
    int j = -1;
    for (n = n < 0 ? -n : n; n > 0; n >>= 1)
        j++;
    return j;
}

/* floor(2^j ln 2), j <= 7: a number x = 2^K (1 + n 2^-24) has log2 x = K + n 2^-24 / ln 2, to
   within 2e-6 of the second term where |n| < 90. That lies no further from K than 2^(j - 24), half
   a place of fp32 numbers with exponent j, if |n| is at most this. 2^j ln 2 is for no j that near
   to an integer, so that the second term's error decides nothing. */
HC_INLINE uint32_t hc_log2_slack(int j)
{
    return j < 0 ? 0 : (uint32_t)(0xb17217f7u >> (31 - j) >> 1);
}

/* floor(log2 x), where the log2 is first rounded to nearest in fp32. Below an integer K, fp32 has
   numbers of the exponent of K - 1 if K is positive, and of that of K if it is negative. */
HC_INLINE int hc_floor_log2_fp32(struct hc_significand x)
{
    int above = x.k + 1;
    int j = hc_exponent_of_integer(above > 0 ? above - 1 : above);
    return HC_SIGNIFICAND_TWO - x.m <= hc_log2_slack(j) ? above : x.k;
}

/* ceil(log2 x), likewise. Above a negative K, the numbers have the exponent of K + 1. */
HC_INLINE int hc_ceil_log2_fp32(struct hc_significand x)
{
    int j = hc_exponent_of_integer(x.k >= 0 ? x.k : x.k + 1);
    return x.k + (x.m - HC_SIGNIFICAND_ONE > hc_log2_slack(j - 1));
}

#endif
