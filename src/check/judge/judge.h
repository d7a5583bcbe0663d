/* The judge of results that somebody else computed: one call, its inputs and the outputs that were
   given for it.

   Each element is compared with the reference, under the bound for an implementation that may sum
   in any order and fuse what it likes (check/bound/bound.h). What the backend `exact` gives for the
   same inputs tells two errors apart: |got - exact| is the implementation's, |exact - real| is the
   format's, which every implementation in these formats has.

   MPFR would take minutes for a large output. Then all elements are compared with those of `exact`,
   and MPFR judges the ones that differ most from them, and others at even distances. */
#ifndef HC_CHECK_JUDGE_JUDGE_H
#define HC_CHECK_JUDGE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "reference.h"

/* One element of an output. */
struct hc_judged_element {
    int64_t index;
    struct hc_exact want;
    bool single; /* only one result is right: want_bits */
    bool wrong;
    uint64_t want_bits;
    uint64_t got_bits;
    double error;          /* |got - real| */
    double bound;          /* infinite where the contract allows anything */
    double ratio;          /* error / bound; above 1 if and only if it is wrong */
    double ulps;           /* error in ulp of the output's format at the real value */
    double exact;          /* what `exact` gives; NaN if it does not take the call */
    double implementation; /* |got - exact| / bound and |exact - real| / bound; NaN where exact */
    double format;         /* or the bound says nothing */
    double deviation;      /* what a sum's error probably is at most (probable.c), or 0 */
};

/* How many elements have a ratio up to each edge, and above the one before; the last edge is
   infinite. */
enum { HC_RATIO_BINS = 10 };
extern const double hc_ratio_edges[HC_RATIO_BINS];

enum { HC_WHERE_TEXT = 160 };

/* The second, probable verdict on sums (probable.c): errors beside what they probably are. */
struct hc_probable {
    int64_t elements; /* that have a deviation */
    double squares;   /* of error/deviation, added up */
    double most;      /* the largest error/deviation */
};

struct hc_judged_output {
    int64_t elements;
    int64_t judged;    /* of these, by MPFR */
    int64_t wrong;     /* of judged */
    int64_t unbounded; /* of judged: the contract allows anything */
    int64_t as_exact;  /* of judged: the same bits as `exact` gives */
    int64_t count[HC_RATIO_BINS];
    double implementation; /* the largest of judged; NaN if there is none */
    double format;
    struct hc_probable probable;    /* of got */
    struct hc_probable usual;       /* of exact */
    char where[HC_WHERE_TEXT];      /* the wrong elements', if a few words say it, or "" */
    struct hc_judged_element worst; /* the largest ratio, and of these the first */
};

struct hc_judge {
    const struct hc_call *call;  /* its outputs are what is judged */
    const struct hc_call *given; /* the same call as it was given, if the backend flushes: its
                                    factors are those of `call` before that. NULL: it is `call` */
    struct hc_accumulator accumulator;
    bool all; /* judge every element, whatever the time */
    const struct hc_tensor
        *numbers;         /* the call's inputs as they are read in place of its own: those
                                        with data. NULL: none are */
    bool as_given;        /* its parameters are read so (hc_call_take_as_given) */
    struct hc_call exact; /* the same call with the outputs of `exact` */
    bool has_exact;
};

/* Checks the call (HC_INVALID with a line) and runs `exact` on its inputs. Every output has memory.
   Close it in any case. */
enum hc_status hc_judge_open(struct hc_judge *judge, const struct hc_call *call,
                             const struct hc_accumulator *accumulator);
void hc_judge_close(struct hc_judge *judge);

/* Whether inputs, or parameters of a call in fp64, have a second reading. Numbers that were given
   as texts, such as beta1 = 0.9, are fp32 in the contract; but a program that computes 1 - beta1 in
   fp64 reads them as they were given, and is right, too. numbers[i] has data (in fp64) if input i
   has elements that fp32 does not hold. `exact` takes fp32 in either reading. */
bool hc_judge_two_readings(const struct hc_call *call, const struct hc_tensor *numbers);

/* Judges one element; and an output, of which only element `only` if that is not -1. */
void hc_judge_element(const struct hc_judge *judge, int out, int64_t index,
                      struct hc_judged_element *element);
enum hc_status hc_judge_output(const struct hc_judge *judge, int out, int64_t only,
                               struct hc_judged_output *result);

/* Says where the wrong elements lie, such as "the last 2 columns, channel 5", if that is true of
   all of them and at most a quarter as many right ones lie there, too; or "". judged[i] is 1 where
   element i is right, 2 where it is wrong, and 0 where it was not judged. A tensor of rank 4 holds
   images, or a convolution's `filters`. */
void hc_judge_where(const struct hc_tensor *t, bool filters, const unsigned char *judged,
                    char *text, size_t size);

/* Chooses n elements of an output, in rising order: those that differ most from `exact`, absolutely
   and in ulp, and others at even distances. Returns how many. HC_NO_MEMORY: -1. */
int64_t hc_judge_choose(const struct hc_judge *judge, int out, int64_t n, int64_t *index);

/* The sum of products that an element is: how many terms it has, those in padding not counted, and
   the factors of the largest. False where the op is no plain sum, or the sum has no terms. */
struct hc_term {
    double a;
    double b;
};
struct hc_judged_sum {
    int64_t terms;
    struct hc_term largest;
};
bool hc_judge_sum(const struct hc_element *element, struct hc_judged_sum *sum);

/* Puts up to n terms of such an element into `terms`, those in padding not counted. Returns how
   many there are; 0 where the op is no plain sum. */
int64_t hc_judge_terms(const struct hc_element *element, double *terms, int64_t n);

/* The standard deviation, at most, of the error of element e if it is a plain sum and its roundings
   to nearest are independent; 0 where it is no such sum. */
double hc_judge_deviation(const struct hc_element *e, const struct hc_accumulator *accumulator,
                          const struct hc_exact *want);

void hc_probable_add(struct hc_probable *probable, double error, double deviation);

/* How far the errors of so many elements, of which these were judged, are beyond what independent
   roundings come to with a chance of HC_PROBABLE_CHANCE: above 1 they hardly are roundings. 0 where
   no element has a deviation. */
#define HC_PROBABLE_CHANCE 1e-6
double hc_probable_excess(const struct hc_probable *probable, int64_t elements);

/* The same of a judged output; 0 also where the sums of `exact` are as far off, since then the
   numbers are not random enough for their roundings to be independent. */
double hc_judged_excess(const struct hc_judged_output *output);

#endif
