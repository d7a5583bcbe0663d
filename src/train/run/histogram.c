#include "train/run/histogram.h"

#include <math.h>

static int exponent(double g)
{
    int e;
    if (g == 0)
        return HC_EXPONENT_ZERO;
    if (!isfinite(g))
        return HC_EXPONENT_LAST;
    (void)frexp(g, &e);
    e -= 1;
    if (e <= HC_EXPONENT_ZERO)
        return HC_EXPONENT_ZERO + 1;
    return e < HC_EXPONENT_LAST ? e : HC_EXPONENT_LAST - 1;
}

void hc_histogram_add_weight(struct hc_histogram *histogram, double g, double scale)
{
    histogram->scaled[exponent(g) - HC_EXPONENT_ZERO]++;
    histogram->unscaled[exponent(g / scale) - HC_EXPONENT_ZERO]++;
}

void hc_histogram_add_activation(struct hc_histogram *histogram, double g, double scale)
{
    histogram->activations_scaled[exponent(g) - HC_EXPONENT_ZERO]++;
    histogram->activations_unscaled[exponent(g / scale) - HC_EXPONENT_ZERO]++;
}
