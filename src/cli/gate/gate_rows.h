/* What `halfcheck gate` compares. */
#ifndef HC_CLI_GATE_GATE_ROWS_H
#define HC_CLI_GATE_GATE_ROWS_H

#include "cli/gate/findings.h"

struct hc_gate {
    struct hc_record baseline;
    struct hc_record record;
    double growth; /* the error may be that many times the baseline's */
    struct hc_findings findings;
    int better;    /* PASS that was not */
    int still_bad; /* FAIL or ERROR as before */
};

/* Finds all that is worse in the record than in the baseline, and all that cannot be compared. */
void hc_gate_compare(struct hc_gate *gate);

#endif
