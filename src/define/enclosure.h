/* Arithmetic on enclosures: a real number, and how far a right implementation may be from it
   (define/value.h has the table of what it may do). Here is one operation each. */
#ifndef HC_DEFINE_ENCLOSURE_H
#define HC_DEFINE_ENCLOSURE_H

#include "define/value.h"

struct hc_enclosure {
    struct hc_real *real; /* NULL until it is set */
    double mid;           /* the number of fp64 that is nearest to it, */
    bool plain;           /* and is finite and the number itself */
    double own;           /* how far `real` is from the real number at most: its bits are limited */
    double rad;
    bool absent;
    bool nan;         /* a right implementation may have NaN here, whatever the real number is */
    bool masked;      /* 0, since it is the exponential of minus infinity */
    int64_t terms;    /* of a sum: that it has, 0 for what is none; */
    double magnitude; /* these and their radii added up, */
    double rads;      /* and the radii alone, without what adding costs */
    double depth;     /* how many roundings a term takes part in; */
    int grain;        /* the terms are multiples of 2^grain, if the sum is settled */
    bool extreme;     /* it is a maximum over an axis, */
    bool zeros;       /* and all that this is of are 0 and have no radius */
    enum hc_standing { HC_NO_SHIFT, HC_IS_SHIFT, HC_ON_SHIFT } standing; /* computed with a shift */
};

struct hc_arithmetic {
    struct hc_freedoms freedoms;
    enum hc_format io;
    long precision; /* of the real numbers */
    double unit;    /* of the format in which is computed */
    double tiny;
    double most;
};

struct hc_arithmetic hc_arithmetic_of(const struct hc_freedoms *freedoms, enum hc_format io,
                                      long precision);

void hc_enclosure_free(struct hc_enclosure *x);
void hc_enclosure_copy(const struct hc_arithmetic *a, struct hc_enclosure *y,
                       const struct hc_enclosure *x);

/* The nearest number of fp64. */
static inline double hc_enclosure_double(const struct hc_enclosure *x)
{
    return x->mid;
}

/* A number that is known exactly. */
void hc_enclosure_set(const struct hc_arithmetic *a, struct hc_enclosure *y, double value);

/* A number of the text: a decimal, inf, nan or pi. */
void hc_enclosure_number(const struct hc_arithmetic *a, struct hc_enclosure *y, const char *text,
                         int length);
void hc_enclosure_read(const struct hc_arithmetic *a, struct hc_enclosure *y, const char *text);

/* A number of an input, which may be rounded into the format in which is computed. */
void hc_enclosure_input(const struct hc_arithmetic *a, struct hc_enclosure *y, double value);

/* y is the product of the two, which is added to others: its factors may be rounded first. */
void hc_enclosure_factors(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *const *x);

/* y, which was computed beforehand, comes to the implementation in its format. */
void hc_enclosure_given(const struct hc_arithmetic *a, struct hc_enclosure *y);

/* y is the function of the operands, none of which is y or absent. */
void hc_enclosure_apply(const struct hc_arithmetic *a, struct hc_enclosure *y, enum hc_function f,
                        const struct hc_enclosure *const *x);

/* Whether hc_enclosure_apply or hc_enclosure_compare takes the function. */
bool hc_enclosure_knows(enum hc_function f);

/* y is one of two, and nobody knows which: its real number is the first. */
void hc_enclosure_either(const struct hc_arithmetic *a, struct hc_enclosure *y,
                         const struct hc_enclosure *one, const struct hc_enclosure *other);

/* y may be any number between two, and its real number is in the middle. Between numbers that are
   not finite it may be anything. */
void hc_enclosure_between(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *one, const struct hc_enclosure *other);

/* A comparison of the real numbers; *sure: roundings cannot turn it around. */
bool hc_enclosure_compare(enum hc_function f, const struct hc_enclosure *const *x, bool *sure);

/* x rounded. To a format it is a function with steps: the real number is rounded. To
   HC_FORMAT_COUNT it is a rounding into the tensors' format. If that is `owed`, and all that a
   right implementation may have for x rounds to one number, this number is what it goes on with.
   Else the real number stays, and the radius grows by half an ulp. */
void hc_enclosure_store(const struct hc_arithmetic *a, struct hc_enclosure *y,
                        const struct hc_enclosure *x, enum hc_format format, bool owed);

/* y is the mean of the squares of n deviations from `mean`; its radius grows by what it costs to
   compute it by Welford's or Chan's formulas. */
void hc_enclosure_welford(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *mean, int64_t n);

/* A reduction, term by term, into y. */
struct hc_running {
    enum hc_reduction reduction;
    struct hc_enclosure *y;
    double high; /* with `low`, the exact sum of terms that are plain, which y does not have yet */
    double low;
    int64_t terms;
    int64_t sum_terms; /* that are not 0 */
    int64_t all_terms; /* those of sums that are terms are counted one by one: all may be added up
                          in one row */
    double depth;      /* of the deepest of these */
    double magnitude;  /* of the terms, with their radii, added up */
    double rads;       /* of the terms, added up */
    double owns;
    bool special;  /* a term is an infinity or a NaN */
    bool nan;      /* a term may be NaN */
    bool on_shift; /* terms are computed with a shift */
    bool zeros;    /* all terms are 0 and have no radius */
    bool settled;  /* no term has a radius, and all are multiples of 2^grain */
    int grain;
};

void hc_running_start(const struct hc_arithmetic *a, struct hc_running *r,
                      enum hc_reduction reduction, struct hc_enclosure *y);
void hc_running_add(const struct hc_arithmetic *a, struct hc_running *r,
                    const struct hc_enclosure *x, bool doubtful);
void hc_running_end(const struct hc_arithmetic *a, struct hc_running *r);

#endif
