/* From MPFR to the plain numbers of struct hc_exact, and back. */
#ifndef HC_REFERENCE_SPLIT_H
#define HC_REFERENCE_SPLIT_H

#include <mpfr.h>
#include <stdbool.h>

#include "num/exactdot.h"
#include "reference.h"

/* Sets value and rest from x, and magnitude to |value|. */
void hc_split(mpfr_srcptr x, struct hc_exact *want);

/* x = the value of element i. */
void hc_load_real(mpfr_t x, const struct hc_tensor *t, int64_t i);

/* At least `precision`, and what x y + z needs to be exact on numbers of the format, so that a tie is
   seen to be broken by the smallest z. fp32 and bf16: products are multiples of 2^-298 below 2^256,
   555 bits with the sum's; fp64: multiples of 2^-2148 below 2^2048. fp16: 80 bits. */
static inline long hc_exact_precision(enum hc_format format, long precision)
{
    long exact = format == HC_FP64 ? 4224 : 576;
    return format == HC_FP16 || precision > exact ? precision : exact;
}

/* A sum of terms and of their magnitudes; infinities and NaN go into the sum alone. Products of fp16
   are summed in integers, exactly and some twenty times as fast, unless more than
   HC_REFERENCE_PRECISION is asked for: so the proof by twice the precision proves the integers. */
struct hc_terms {
    bool tf32; /* false at first: factors of products may be taken as tf32 */
    mpfr_t sum;
    mpfr_t magnitude;
    mpfr_t term;
    mpfr_t factor;
    struct hc_exact_dot halves;
};

void hc_terms_begin(struct hc_terms *s, long precision);
void hc_terms_add(struct hc_terms *s); /* adds s->term */
/* Adds the product of two elements; hc_terms_fold brings what is still in integers into the sum. */
void hc_terms_product(struct hc_terms *s, const struct hc_tensor *x, int64_t i,
                      const struct hc_tensor *y, int64_t j);
void hc_terms_fold(struct hc_terms *s);
/* Splits the sum, with the sum of the magnitudes, and frees. */
void hc_terms_end(struct hc_terms *s, struct hc_exact *want);

#endif
