/* The memory of values. A loop of a formula makes and drops some values at every step, so they are
   kept for the next one. A value that is being computed is temporary: it stands on a stack, and
   everything above a mark goes at once, also after an error half way. A name owns its value. */
#ifndef HC_FORMULA_VALUE_H
#define HC_FORMULA_VALUE_H

#include "formula/evaluate.h"

struct hc_held;

struct hc_values {
    struct hc_held *idle;
    struct hc_held **temporary;
    int count;
    int room;
    long precision; /* of the real numbers */
    bool got;       /* whether `got` has memory of its own; otherwise it is `want` */
};

/* A temporary scalar or list of n elements that hold anything. NULL if there is no memory. */
struct hc_value *hc_values_new(struct hc_values *values, bool list, int64_t n);

/* Drops the temporary values from number `mark` on, but for `kept`, which may be NULL, or none of
   them. */
void hc_values_release(struct hc_values *values, int mark, const struct hc_value *kept);

/* A value that the caller owns: v itself if it was temporary, otherwise a copy. */
struct hc_value *hc_values_own(struct hc_values *values, struct hc_value *v);

/* Takes an owned value back; NULL is ignored. */
void hc_values_drop(struct hc_values *values, struct hc_value *v);

void hc_values_close(struct hc_values *values);

/* Element i of y becomes element j of x, which is of y's kind. */
void hc_value_copy(struct hc_value *y, int64_t i, const struct hc_value *x, int64_t j);

/* y gets x's kind: constant and format. */
void hc_value_like(struct hc_value *y, const struct hc_value *x);

#endif
