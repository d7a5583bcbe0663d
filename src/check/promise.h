/* What the text of a loss scaler's rule promises: the scale after each step of a trace, told by itself.
   It counts in powers of two, over whole runs of clean steps between overflows, and shares nothing with
   the op scaler_update, which it judges. */
#ifndef HC_CHECK_PROMISE_H
#define HC_CHECK_PROMISE_H

#include <stdbool.h>
#include <stdint.h>

#include "train/scaler.h"

/* How the scale is held: Python's float, or the op's fp32 (torch's too). It says where 0 and infinity
   begin. */
enum hc_held { HC_HELD_SINGLE, HC_HELD_DOUBLE };

struct hc_oracle {
    enum hc_scaler_rule rule;
    enum hc_held held;
    int64_t interval;
    int start;     /* log2 of the scale before the present run of clean steps */
    int64_t run;   /* clean steps in it */
    int64_t good;  /* clean steps in all before it (fastai2 counts on) */
    bool forgiven; /* DeepSpeed: an overflow was let pass that is not yet made good */
    bool gave_up;  /* the rule raised; nothing is promised from then on */
    int64_t steps; /* of the trace so far */
};

/* log2 of a scale that is 0 or infinite. */
enum { HC_LOG2_ZERO = -10000, HC_LOG2_INFINITE = 10000 };

/* Before the first step. interval 0, or log2_initial HC_LOG2_ZERO: the rule's usual one. */
struct hc_oracle hc_oracle_start(enum hc_scaler_rule rule, enum hc_held held, int log2_initial,
                                   int64_t interval);

/* One more step, in which an infinity or NaN was found or not; log2 of the scale after it. */
int hc_oracle_step(struct hc_oracle *oracle, bool found);

/* log2 of the scale now; and the scale itself. */
int hc_oracle_log2(const struct hc_oracle *oracle);
double hc_oracle_scale(const struct hc_oracle *oracle);

/* Whether the rule can start at 2^log2: a number that is held, not below its floor or above its cap. */
bool hc_oracle_allows(enum hc_scaler_rule rule, enum hc_held held, int log2);

/* How a rule's own implementation holds its scale. */
enum hc_held hc_oracle_held(enum hc_scaler_rule rule);

/* A rule's usual number as the text gives it; 0 where the scale never moves. */
int64_t hc_oracle_interval(enum hc_scaler_rule rule);
int hc_oracle_initial(enum hc_scaler_rule rule);

/* log2 of the floor, HC_LOG2_ZERO where there is none; whether the rule raises an error: with a
   floor at an overflow there, without one at any step whose scale is 0. */
int hc_oracle_floor(enum hc_scaler_rule rule);
bool hc_oracle_raises(enum hc_scaler_rule rule);

#endif
