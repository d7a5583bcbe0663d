/* The fingerprints of two records: how the gemm of each backend sums. */
#ifndef HC_CLI_GATE_GATE_FINGERPRINT_H
#define HC_CLI_GATE_GATE_FINGERPRINT_H

#include "cli/gate/gate.h"

/* The member of an environment: {"cuda fp16": "h100wgmma-fp16-fp32; bits 12345678", ...}. */
#define HC_FINGERPRINT_MEMBER "fingerprint"

/* For a baseline that has fingerprints. One that is another now is a finding
   "fingerprint/<format>" of its backend; one that the record lacks, though it has results of that
   backend, is, too. Parts of merged records are matched by their names. */
extern const struct hc_gate_way hc_gate_fingerprint;

#endif
