/* From MPFR to the plain numbers of struct hc_want, and back. */
#ifndef HC_REFERENCE_SPLIT_H
#define HC_REFERENCE_SPLIT_H

#include <mpfr.h>

#include "reference.h"

/* Sets value and rest from x, and magnitude to |value|. */
void hc_split(mpfr_srcptr x, struct hc_want *want);

/* x = the value of element i. */
void hc_load_real(mpfr_t x, const struct hc_tensor *t, int64_t i);

/* A sum of terms and of their magnitudes; infinities and NaN go into the sum alone. */
struct hc_terms {
    mpfr_t sum;
    mpfr_t magnitude;
    mpfr_t term;
    mpfr_t factor;
};

void hc_terms_begin(struct hc_terms *s, long precision);
void hc_terms_add(struct hc_terms *s); /* adds s->term */
/* Adds the product of two elements. */
void hc_terms_product(struct hc_terms *s, const struct hc_tensor *x, int64_t i,
                      const struct hc_tensor *y, int64_t j);
/* Splits the sum, with the sum of the magnitudes, and frees. */
void hc_terms_end(struct hc_terms *s, struct hc_want *want);

#endif
