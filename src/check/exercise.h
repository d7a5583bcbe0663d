/* Whether a comparison exercised anything: the ground of the verdict MISTRUSTED.

   A claim can hold for no good reason: all results are zero, or NaN by definition; none needed
   rounding; the bounds are larger than the results, so that zero would pass as well; or no error
   came near its bound, which then may be wrong. These counts say which, over the compared elements
   of one output. */
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
    int64_t loose;     /* have a bound; more than one result is right */
    int64_t vague;     /* of the loose ones: not 0, and not larger than their bound */
    int64_t hollow;    /* of the loose ones: the bound is half of the terms' magnitude or more */
    double worst;      /* largest error / bound of the loose ones */
    double crossed;    /* largest error / line (check/bound/line.h) */
};

/* Counts one element. `bits`: only one result is right. `line` is infinite where there is none. */
void hc_exercise_count(struct hc_exercise *e, enum hc_format format, const struct hc_exact *want,
                       bool bits, double error, double bound, double line);

/* Sets MISTRUSTED if the output says nothing; `what` names it. `widens`: the output has more bits
   than the inputs, so that short sums of them may well be exact. `norm_in_any_order`: it is batch
   norm's, and its bounds hold for Welford's formulas, too. */
void hc_exercise_judge(const struct hc_exercise *e, struct hc_check *check, const char *what,
                       bool widens, bool norm_in_any_order);

/* Whether most results are no larger than their bound or, if there are few, most bounds are half of
   the terms or more: zeros would do. */
bool hc_exercise_vague(const struct hc_exercise *e);

/* Sets MISTRUSTED if the bounds exceed most of the values, since anything near zero would pass
   then. A few values may be small by chance, so their bounds are compared with their terms instead.
   Also sets MISTRUSTED if an error crosses the line: rounding errors alone hardly come to that,
   though the contract allows it. */
void hc_exercise_judge_bounds(const struct hc_exercise *e, struct hc_check *check,
                              const char *what);

#endif
