/* How many gradients have which exponent, with and without the loss scale. Gradients of weights and
   of activations are counted apart. */
#ifndef HC_TRAIN_RUN_HISTOGRAM_H
#define HC_TRAIN_RUN_HISTOGRAM_H

#include <stdint.h>

/* Counts by exponent e = floor(log2 |g|) at [e - HC_EXPONENT_ZERO]; zero counts as
   HC_EXPONENT_ZERO, infinities and NaN as HC_EXPONENT_LAST. */
enum { HC_EXPONENT_ZERO = -150, HC_EXPONENT_LAST = 128 };
enum { HC_EXPONENTS = HC_EXPONENT_LAST - HC_EXPONENT_ZERO + 1 };

struct hc_histogram {
    int64_t scaled[HC_EXPONENTS];
    int64_t unscaled[HC_EXPONENTS];
    int64_t activations_scaled[HC_EXPONENTS];
    int64_t activations_unscaled[HC_EXPONENTS];
};

/* Counts the scaled gradient g, of a weight or an activation, and g / scale. */
void hc_histogram_add_weight(struct hc_histogram *histogram, double g, double scale);
void hc_histogram_add_activation(struct hc_histogram *histogram, double g, double scale);

#endif
