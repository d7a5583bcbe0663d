/* Whether a change made anything worse: each result of a baseline is compared with the one of the
   same case and backend now.

   A verdict got worse, an error grew by more than a factor, a bound was raised, fewer elements
   were compared, or the result is gone. Each of these hides an error in its own way, so each is
   a finding of its own kind. Errors are measured by the baseline's bound on both sides: a raised
   bound then hides no growth, and a lowered one shows none. Numbers are compared only if the
   inputs are the same, which takes the same level and seed: random errors of other inputs may be
   a hundred times as large. What cannot be compared is found, too, and fails the gate unless it
   is allowed: an empty comparison must not pass for a good one. */
#ifndef HC_CLI_GATE_GATE_ROWS_H
#define HC_CLI_GATE_GATE_ROWS_H

#include "cli/gate/findings.h"

struct hc_gate {
    struct hc_record baseline;
    struct hc_record record;
    double growth; /* how many times the baseline's error an error may be */
    struct hc_findings findings;
    int better;    /* results that are PASS and were not */
    int still_bad; /* results that are FAIL or ERROR as before */
};

/* Adds all findings. */
void hc_gate_compare(struct hc_gate *gate);

#endif
