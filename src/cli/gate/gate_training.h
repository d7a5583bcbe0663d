/* The trainings of two records: a recipe trains as well as it did, or not, or that is not known. */
#ifndef HC_CLI_GATE_GATE_TRAINING_H
#define HC_CLI_GATE_GATE_TRAINING_H

#include "cli/gate/gate.h"
#include "cli/gate/training_runs.h"

/* Finds claims whose names begin like that and whose numbers are compared elsewhere: those that
   fail now, and did not fail before, are worse. */
void hc_gate_find_failures(struct hc_gate *gate, const char *prefix);

/* What the runs show, in words: "-0.31 points, 90 % interval -0.66 .. +0.04 (5 pairs), margin
   0.5". */
enum { HC_TRAINING_TEXT = 480 };

#endif
