/* Converts MPFR's numbers to the plain ones of struct hc_exact, and back. */
#ifndef HC_REFERENCE_SPLIT_H
#define HC_REFERENCE_SPLIT_H

#include <mpfr.h>
#include <stdbool.h>

#include "num/exactdot.h"
#include "reference.h"

/* Sets hi and lo from x, and magnitude to |hi|. */
void hc_split(mpfr_srcptr x, struct hc_exact *want);

/* x = the value of element i. */
void hc_load_real(mpfr_t x, const struct hc_tensor *t, int64_t i);

/* Whether an optional flag is there and not 0. */
static inline bool hc_is_set(const struct hc_tensor *flag)
{
    return flag->data && hc_tensor_get(flag, 0) != 0;
}

/* The bits that make x y + z exact on numbers of the format, but at least `precision`. The smallest
   z then still breaks a tie. fp32 and bf16: products are multiples of 2^-298 below 2^256, which is
   555 bits with the sum's carry. fp64: multiples of 2^-2148 below 2^2048. fp16: 80 bits. */
static inline long hc_exact_precision(enum hc_format format, long precision)
{
    long exact = format == HC_FP64 ? 4224 : 576;
    return format == HC_FP16 || precision > exact ? precision : exact;
}

/* A sum of terms, and the sum of their magnitudes. Infinities and NaN go into the first alone.
   Products of fp16 and of fp8 numbers are summed in integers: exactly, and some twenty times as
   fast. If more than HC_REFERENCE_PRECISION is asked for they are summed by MPFR, too, so that the
   proof at twice the precision also proves the integers. */
struct hc_terms {
    bool tf32; /* factors of products may be taken as tf32; false at first */
    mpfr_t sum;
    mpfr_t magnitude;
    mpfr_t term;
    mpfr_t factor;
    struct hc_exact_dot halves;
};

void hc_terms_begin(struct hc_terms *s, long precision);

/* Adds s->term, which is overwritten. */
void hc_terms_add(struct hc_terms *s);

/* Adds the product of two elements. */
void hc_terms_product(struct hc_terms *s, const struct hc_tensor *x, int64_t i,
                      const struct hc_tensor *y, int64_t j);

/* Adds what is still kept in integers to `sum` and `magnitude`. */
void hc_terms_fold(struct hc_terms *s);

/* Gives the sum and the sum of the magnitudes, and frees. */
void hc_terms_end(struct hc_terms *s, struct hc_exact *want);

#endif
