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
    double worst;      /* largest error / bound of those */
};

/* Counts one element; `bits`: its bits are demanded. */
void hc_exercise_count(struct hc_exercise *e, enum hc_format format, const struct hc_want *want,
                       bool bits, double error, double bound);

/* Sets MISTRUSTED where the output says nothing; `what` names it. `widens`: the output has more bits
   than the inputs, so that short sums of them may well be exact. */
void hc_exercise_judge(const struct hc_exercise *e, struct hc_check *check, const char *what,
                       bool widens);

#endif
