/* Leaky ReLU on one element, in the working format; the caller rounds into the output. */
#ifndef HC_KERNELS_ELEMENT_LEAKY_H
#define HC_KERNELS_ELEMENT_LEAKY_H

#include "kernels/element/number.h"

/* A NaN fails the comparison, and the product keeps it. */
HC_INLINE hc_number hc_element_leaky_relu(hc_number slope, hc_number x)
{
    return x > 0 ? x : slope * x;
}

/* y is the output of the forward pass. */
HC_INLINE hc_number hc_element_leaky_relu_bwd(hc_number slope, hc_number y, hc_number dy)
{
    return y > 0 ? dy : slope * dy;
}

#endif
