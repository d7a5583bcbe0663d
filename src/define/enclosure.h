/* Arithmetic on enclosures. An enclosure is a real number with the radius within which the number
   of a right implementation lies. define/value.h has the table of what an implementation may do;
   each function here is one operation. */
#ifndef HC_DEFINE_ENCLOSURE_H
#define HC_DEFINE_ENCLOSURE_H

#include "define/value.h"

struct hc_enclosure {
    struct hc_real *real; /* NULL until it is set */
    double mid;           /* the number of fp64 that is nearest to it, */
    bool plain;           /* and is finite and the number itself */
    double own;           /* bound on the error of `real` itself, whose precision is limited */
    double rad;
    bool absent;
    bool known;        /* it is a number of the text as it was read, which stays */
    bool nan;          /* NaN is right here, too, whatever `real` is */
    bool or_infinite;  /* `real` is NaN, and an infinity is right, too, and no number */
    bool masked;       /* 0, as the exponential of minus infinity */
    int64_t terms;     /* if it is a sum: how many terms it has; else 0 */
    double magnitude;  /* of a sum: the terms' magnitudes and radii, added up */
    double rads;       /* of a sum: the terms' radii, added up, without the cost of the additions */
    double depth;      /* of a sum: how many roundings a term takes part in */
    int grain;         /* of a settled sum: its terms are multiples of 2^grain */
    bool extreme;      /* it is a maximum over an axis, */
    bool zeros;        /* and all that this is of are 0 and have no radius */
    int factors;       /* of a product or quotient: how many its text has, else 0; */
    int above;         /* and how many of them nothing is divided by */
    double most_part;  /* the largest number that some grouping of them computes on the way, */
    double least_part; /* and the least */
    enum hc_standing {
        HC_NO_SHIFT,
        HC_IS_SHIFT,
        HC_ON_SHIFT
    } standing; /* whether it depends on a shift */
};

struct hc_arithmetic {
    struct hc_freedoms freedoms;
    enum hc_format io;
    long precision; /* of the real numbers */
    double unit;    /* the unit roundoff of the computing format */
    double tiny;
    double most;
    bool regroups; /* of an equation that depends on a gradient, where an input is not finite: what
                      is NaN by its own grouping of infinities may be an infinity by another */
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

/* A number of an input, which may be rounded into the computing format. */
void hc_enclosure_input(const struct hc_arithmetic *a, struct hc_enclosure *y, double value);

/* y is the product of the two, a term of a sum. Its factors may be rounded first. */
void hc_enclosure_factors(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *const *x);

/* y was computed beforehand, and the implementation gets it rounded to the computing format. */
void hc_enclosure_given(const struct hc_arithmetic *a, struct hc_enclosure *y);

/* y is the function of the operands, none of which is y or absent. */
void hc_enclosure_apply(const struct hc_arithmetic *a, struct hc_enclosure *y, enum hc_function f,
                        const struct hc_enclosure *const *x);

/* Whether it is NaN in every right implementation. */
bool hc_enclosure_is_nan(const struct hc_enclosure *x);

/* Whether hc_enclosure_apply or hc_enclosure_compare takes the function. */
bool hc_enclosure_knows(enum hc_function f);

/* y is one of the two, and it is not known which. Its real number is the first. */
void hc_enclosure_either(const struct hc_arithmetic *a, struct hc_enclosure *y,
                         const struct hc_enclosure *one, const struct hc_enclosure *other);

/* y is one of the two, or NaN: what a comparison with a NaN chooses. */
void hc_enclosure_any(const struct hc_arithmetic *a, struct hc_enclosure *y,
                      const struct hc_enclosure *one, const struct hc_enclosure *other);

/* y may be any number between the two; its real number is in the middle. If one of them is not
   finite, y may be anything. */
void hc_enclosure_between(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *one, const struct hc_enclosure *other);

/* Compares the real numbers. *sure says that roundings cannot reverse the result. */
bool hc_enclosure_compare(enum hc_function f, const struct hc_enclosure *const *x, bool *sure);

/* Whether it is `<` or its like. */
static inline bool hc_function_orders(enum hc_function f)
{
    return f == HC_FN_less || f == HC_FN_less_equal || f == HC_FN_greater ||
           f == HC_FN_greater_equal;
}

/* Whether it is open what this comparison says, and to whom, since it is one of order, of what may
   be NaN. */
bool hc_enclosure_unordered(enum hc_function f, const struct hc_enclosure *const *x);

/* y is x, rounded. With a format, this is a step function: the real number is rounded. With
   HC_FORMAT_COUNT it is a `store` into the tensors' format: if the rounding is `owed` and all
   that a right implementation may have for x rounds to one number, y is that number; otherwise the
   real number stays, and the radius grows by half an ulp. */
void hc_enclosure_store(const struct hc_arithmetic *a, struct hc_enclosure *y,
                        const struct hc_enclosure *x, enum hc_format format, bool owed);

/* y is the mean of the squares of n deviations from `mean`. Its radius grows by the cost of
   Welford's and Chan's formulas. */
void hc_enclosure_welford(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *mean, int64_t n);

/* A reduction, term by term, into y. */
struct hc_running {
    enum hc_reduction reduction;
    struct hc_enclosure *y;
    double high; /* with `low`, the exact sum of terms that are plain, which y does not have yet */
    double low;
    int64_t terms;
    int64_t sum_terms; /* terms that are not 0 */
    int64_t all_terms; /* the same, with a term that is itself a sum counted by its own terms, since
                          an implementation may add all of them up as one sum */
    double depth;      /* the largest depth of a term that is a sum */
    double magnitude;  /* the terms' magnitudes and radii, added up */
    double rads;       /* the terms' radii, added up */
    double owns;
    bool special;     /* a term is an infinity or a NaN */
    bool nan;         /* a term may be NaN */
    bool or_infinite; /* a term is NaN and may be an infinity, */
    bool surely_nan;  /* and a term is NaN in every right implementation */
    bool on_shift;    /* a term depends on a shift */
    bool zeros;       /* all terms are 0 and have no radius */
    bool settled;     /* no term has a radius, and all are multiples of 2^grain */
    int grain;
};

void hc_running_start(const struct hc_arithmetic *a, struct hc_running *r,
                      enum hc_reduction reduction, struct hc_enclosure *y);
void hc_running_add(const struct hc_arithmetic *a, struct hc_running *r,
                    const struct hc_enclosure *x, bool doubtful);
void hc_running_end(const struct hc_arithmetic *a, struct hc_running *r);

#endif
