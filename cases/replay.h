/* Traces of found infinities, replayed through the op scaler_update on the backend under test. */
#ifndef HC_CASES_REPLAY_H
#define HC_CASES_REPLAY_H

#include "case.h"
#include "check/promise.h"

/* What a scaler carries from step to step. */
struct hc_scaler_memory {
    float scale;
    int32_t counts[HC_COUNTS];
};

/* A rule's usual start. */
struct hc_scaler_memory hc_scaler_fresh(enum hc_scaler_rule rule);

/* found[i] is what step i + 1 found; after[i] is what the scaler carries after it. All steps are queued
   on the backend before anything is read back. */
enum hc_status hc_replay(struct hc_check *check, const struct hc_scaler_update *rule,
                         const struct hc_scaler_memory *start, const unsigned char *found,
                         int64_t steps, struct hc_scaler_memory *after);

/* Claims that the scale after each step is what the rule's text promises (up to the step at which
   the rule gives up, where it may), and that the steps were counted. `what` names the trace. */
void hc_replay_claim(struct hc_check *check, const char *what, enum hc_scaler_rule rule,
                     int64_t interval, const unsigned char *found, int64_t steps);

#endif
