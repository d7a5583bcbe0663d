/* The drift of two records: of gradients and weights as a whole, by layer and by source of
   rounding. */
#ifndef HC_CLI_GATE_GATE_DRIFT_H
#define HC_CLI_GATE_GATE_DRIFT_H

#include "cli/gate/gate.h"

/* For records that both have drift (compare --drift --seeds N). Each number that grew is a finding
   "drift/<recipe>/<number>"; what moved by less than seeds differ, or shrank, is one for the
   recipe. Too few seeds are a finding, too, unless all numbers are equal. What the record claims
   ("drift/<recipe>-gradients-explained") is worse if it fails and did not. */
extern const struct hc_gate_way hc_gate_drift;

#endif
