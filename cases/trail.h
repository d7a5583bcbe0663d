/* Many comparisons along a trajectory, claimed as one. */
#ifndef HC_CASES_TRAIL_H
#define HC_CASES_TRAIL_H

#include "case.h"

/* Starts as zero. */
struct hc_running_tally {
    int64_t checked;
    int64_t wrong;
    char first[96];
};

/* Notes at a step whether `got` is `want`: NaN equals NaN, +0 and -0 differ. */
void hc_running_tally_note(struct hc_running_tally *tally, int64_t step, double want, double got);

/* Claims that all did. */
void hc_running_tally_claim(struct hc_check *check, const struct hc_running_tally *tally);

/* Whether a table of steps has a row for this one: 0 to 5, then 10, 20, 50, 100, 200, ... . */
bool hc_running_tally_row(int64_t step);

#endif
