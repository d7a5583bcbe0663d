/* The references: the real value of one output element, computed in MPFR from the definition. No
   MPFR type crosses this header. */
#ifndef HC_REFERENCE_H
#define HC_REFERENCE_H

#include "op/call.h"

/* A real number. It is hi + lo to 2^-100 of magnitude, and lo is 0 only if hi is exact, so that
   hc_encode(format, hi, lo, direction) rounds it correctly. If the result is NaN or infinite by its
   definition, hi is and lo is 0.

   magnitude is |hi|, but for a sum of terms (sum, dot, sum_squares, gemm, conv2d*, avg_pool,
   all_reduce) the sum of the magnitudes of its finite terms. Where inputs may be taken as tf32
   (hc_call_tf32), a factor below 2^-126 that is not 0 counts as 2^-126, from where on tf32's
   numbers get no denser; and the magnitude is infinite if a finite factor may become infinite. */
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
extern hc_reference *const hc_references[HC_OP_ROOM];

#define HC_REFERENCE_PRECISION 256L

/* Element `index` of output `out` by its op's reference, at HC_REFERENCE_PRECISION. */
struct hc_exact hc_reference_value(const struct hc_call *call, int out, int64_t index);

/* The dot product of a matrix unit in GMP's integers, by the definition of its rule. It takes and
   gives what hc_unit_dot does (unit/unit.h), with which it shares the table of units and nothing
   else. */
struct hc_unit;
struct hc_unit_scales;
uint32_t hc_unit_by_definition(const struct hc_unit *unit, const uint32_t *a, const uint32_t *b,
                               const struct hc_unit_scales *scales, int64_t n, uint32_t c);

/* Says that nobody changes the call, or what its inputs hold, until hc_reference_end or the next
   hc_reference_begin. This thread may then look once for what many of its elements have in common:
   an amax of quantize, the sums over a channel. */
void hc_reference_begin(const struct hc_call *call);

/* The number of this thread's promise (hc_reference_begin) that the call stays as it is; 0 if there
   is none. Code that keeps results of the call compares it to know whether they are still right. No
   number is given twice in a thread. */
uint64_t hc_reference_promise(const struct hc_call *call);

/* Frees what MPFR caches, and what hc_unit_by_definition keeps, for this thread, and ends what
   hc_reference_begin began. */
void hc_reference_end(void);

/* The reference of all ops that a definition says (op/defined.h), and what frees what it keeps for
   this thread. They lie above this floor, in src/define/op.c: a definition's evaluator finds its
   precision by itself. */
hc_reference hc_reference_defined;
void hc_reference_defined_end(void);

/* If `reallocate` (realloc) has no memory for GMP or MPFR, `no_memory` is called, which must not
   return. Without this GMP aborts the program. Call it before any other function here. */
void hc_reference_watch(void *(*reallocate)(void *memory, size_t bytes), void (*no_memory)(void));

/* A real number for expectations that are no single op: closed forms and trajectories. It has
   HC_REFERENCE_PRECISION bits, or as many as it was made with. Every operation rounds once to the
   bits of its destination, which may be an operand, too, and returns 0 if the result is exact.
   Infinities and NaN are as in IEEE 754.
   hc_real_exact splits the value as above (magnitude |hi|). */
struct hc_real;
struct hc_real *hc_real_new(double value);
struct hc_real *hc_real_new_bits(double value, long precision);
void hc_real_free(struct hc_real *x);
void hc_real_set(struct hc_real *x, double value);
void hc_real_set_text(struct hc_real *x, const char *decimal); /* "1e-4" means the decimal itself */
/* The same for a text of a user's. False if it is no decimal number, no hexadecimal one (0x1.8p-3),
   inf or nan; x is then NaN. `exact`, which may be NULL, says whether x is the number itself. If it
   is not, rounding x into a format still is rounding the number: x is never half way between two of
   the format's numbers, for which it may be up to an ulp from it, and not half of one. */
bool hc_real_read(struct hc_real *x, const char *text, bool *exact);
void hc_real_pi(struct hc_real *x);

/* cos and sin are NaN where |a| is beyond fp64's range: MPFR takes as many bits of pi as `a` has
   before its binary point, which may be 2^30. */
typedef int hc_real_unary(struct hc_real *x, const struct hc_real *a);
hc_real_unary hc_real_copy, hc_real_neg, hc_real_abs, hc_real_floor, hc_real_sqrt, hc_real_exp;
hc_real_unary hc_real_log, hc_real_log1p, hc_real_tanh, hc_real_cos, hc_real_sin, hc_real_erf;
hc_real_unary hc_real_round;   /* the nearest integer, of two the even one */
hc_real_unary hc_real_rsqrt;   /* 1 / sqrt(a); as in IEEE 754 that of -0 is -inf */
hc_real_unary hc_real_sigmoid; /* 1 / (1 + e^-a) */
typedef int hc_real_binary(struct hc_real *x, const struct hc_real *a, const struct hc_real *b);
hc_real_binary hc_real_add, hc_real_sub, hc_real_mul, hc_real_div;
int hc_real_add_double(struct hc_real *x, const struct hc_real *a, double b);
/* a b + c, rounded once. */
int hc_real_fma(struct hc_real *x, const struct hc_real *a, const struct hc_real *b,
                const struct hc_real *c);
int hc_real_pow(struct hc_real *x, const struct hc_real *a, long n);
/* a to the power of b, as C's pow has it. x is never half way between two numbers of a format if
   the power is not, as after hc_real_read. */
hc_real_binary hc_real_power;

bool hc_real_is_nan(const struct hc_real *x);
bool hc_real_is_inf(const struct hc_real *x);
bool hc_real_is_zero(const struct hc_real *x);
/* Below, at or above 0 as a is below, equal to or above b. 0 if either is NaN, which is equal to
   nothing: ask hc_real_is_nan first. */
int hc_real_compare(const struct hc_real *a, const struct hc_real *b);
double hc_real_double(const struct hc_real *x); /* nearest */
uint64_t hc_real_bits(const struct hc_real *x, enum hc_format format, enum hc_direction direction);
struct hc_exact hc_real_exact(const struct hc_real *x);

#endif
