/* Whether a comparison exercised anything: the ground of the verdict MISTRUSTED. */
#ifndef HC_CHECK_EXERCISE_H
#define HC_CHECK_EXERCISE_H

#include "check/check.h"
#include "reference.h"

/* What the compared elements of one output were. */
struct hc_exercise {
    int64_t compared;
    int64_t special;   /* NaN or infinite by definition */
    int64_t unbounded; /* the contract allows anything */
    int64_t zero;      /* zero, or rounded to zero by a result that has a bound and not bits */
    int64_t inexact;   /* not a value of the output's format, so that rounding was needed */
    int64_t loose;     /* have a bound, not bits */
    int64_t vague;     /* of those are not 0 and not larger than their bound */
    int64_t hollow;    /* of those have a bound of half of their terms' magnitude or more */
    double worst;      /* largest error / bound of the loose ones */
    double crossed;    /* largest error / line (check/bound/line.h) */
};

/* Counts one element; `bits`: its bits are demanded. `line` is infinite where there is none. */
void hc_exercise_count(struct hc_exercise *e, enum hc_format format, const struct hc_exact *want,
                       bool bits, double error, double bound, double line);

/* Sets MISTRUSTED where the output says nothing; `what` names it. `widens`: the output has more bits
   than the inputs, so that short sums of them may well be exact. */
void hc_exercise_judge(const struct hc_exercise *e, struct hc_check *check, const char *what,
                       bool widens);

/* Sets MISTRUSTED where the bounds exceed most of the values: whatever is near zero passes. A few values are
   small by chance, and their bounds are compared with their terms. MISTRUSTED is also where an
   error is beyond the line: rounding errors alone do not come to that, though the contract allows it. */
void hc_exercise_judge_bounds(const struct hc_exercise *e, struct hc_check *check,
                              const char *what);

#endif
