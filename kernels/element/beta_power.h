/* beta^t for the bias corrections of Adam. It has the same bits everywhere, which C's pow has
   not. */
#ifndef HC_KERNELS_ELEMENT_BETA_POWER_H
#define HC_KERNELS_ELEMENT_BETA_POWER_H

#include <stdint.h>

#include "num/inline.h"

/* beta^t in fp64 by squaring, 0 <= beta < 1, t an integer from 1 to 2^24.

   The product tree of t factors has t - 1 multiplications, if those shared by squaring are counted
   as often as their value is used. So the relative error is at most gamma(t - 1) in u = 2^-53. What
   matters is 1 - beta^t = (1 - beta)(1 + beta + ... + beta^(t-1)) >= (1 - beta) t beta^(t-1). The
   absolute error t u beta^t is at most u beta / (1 - beta) of it: 2^-43 for beta = 0.999, whatever
   t is. */
HC_INLINE double hc_beta_power(double beta, float t)
{
    double power = 1;
    for (uint32_t n = (uint32_t)t; n; n >>= 1) {
        if (n & 1)
            power *= beta;
        beta *= beta;
    }
    return power;
}

#endif
