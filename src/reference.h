/* The references: the real value of one output element, computed in MPFR from the definition. No
   MPFR type crosses this header. */
#ifndef HC_REFERENCE_H
#define HC_REFERENCE_H

#include "op/call.h"

/* A real number. It is hi + lo to 2^-100 of magnitude, and lo is 0 only if hi is exact, so that
   hc_encode(format, hi, lo, direction) rounds it correctly. If the result is NaN or infinite by its
   definition, hi is and lo is 0.

   magnitude is |hi|, but for a sum of terms (sum, dot, sum_squares, gemm, conv2d*, avg_pool) the
   sum of the magnitudes of its finite terms. Where inputs may be taken as tf32 (hc_call_tf32), a
   factor below 2^-126 that is not 0 counts as 2^-126, from where on tf32's numbers get no denser;
   and the magnitude is infinite if a finite factor may become infinite. */
struct hc_exact {
    double hi;
    double lo;
    double magnitude;
};

/* One element of output slot `out` of a call, whose input tensors lie in host memory. */
struct hc_element {
    const struct hc_call *call;
    int out;
    int64_t index;
};

/* The real value of an element. The call's outputs are not read. `precision` is MPFR's, in bits;
   HC_REFERENCE_PRECISION suffices, and a run at twice the precision proves that. */
typedef void hc_reference(const struct hc_element *e, long precision, struct hc_exact *want);

/* By op; none is NULL. */
extern hc_reference *const hc_references[HC_OP_COUNT];

#define HC_REFERENCE_PRECISION 256L

/* Element `index` of output `out` by its op's reference, at HC_REFERENCE_PRECISION. */
struct hc_exact hc_reference_value(const struct hc_call *call, int out, int64_t index);

/* Frees what MPFR caches for this thread. */
void hc_reference_end(void);

/* A real number for expectations that are no single op: closed forms and trajectories. Every
   operation works at 256 bits; hc_real_exact splits the value as above (magnitude |hi|). */
struct hc_real;
struct hc_real *hc_real_new(double value);
void hc_real_free(struct hc_real *x);
void hc_real_set(struct hc_real *x, double value);
void hc_real_set_text(struct hc_real *x, const char *decimal); /* "1e-4" means the decimal itself */
void hc_real_copy(struct hc_real *x, const struct hc_real *a);
void hc_real_add(struct hc_real *x, const struct hc_real *a, const struct hc_real *b);
void hc_real_sub(struct hc_real *x, const struct hc_real *a, const struct hc_real *b);
void hc_real_mul(struct hc_real *x, const struct hc_real *a, const struct hc_real *b);
void hc_real_div(struct hc_real *x, const struct hc_real *a, const struct hc_real *b);
void hc_real_sqrt(struct hc_real *x, const struct hc_real *a);
void hc_real_exp(struct hc_real *x, const struct hc_real *a);
void hc_real_log(struct hc_real *x, const struct hc_real *a);
void hc_real_pow(struct hc_real *x, const struct hc_real *a, long n);
double hc_real_double(const struct hc_real *x); /* nearest */
uint64_t hc_real_bits(const struct hc_real *x, enum hc_format format, enum hc_direction direction);
struct hc_exact hc_real_exact(const struct hc_real *x);

#endif
