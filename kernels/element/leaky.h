/* Leaky ReLU: fp32 on the inputs' values; the caller rounds into the output. */
#ifndef HC_KERNELS_ELEMENT_LEAKY_H
#define HC_KERNELS_ELEMENT_LEAKY_H

#include "num/inline.h"

/* NaN goes the way of the product and stays. */
HC_INLINE float hc_element_leaky_relu(float slope, float x)
{
    return x > 0 ? x : slope * x;
}

/* y is the output of the forward pass. */
HC_INLINE float hc_element_leaky_relu_bwd(float slope, float y, float dy)
{
    return y > 0 ? dy : slope * dy;
}

#endif
