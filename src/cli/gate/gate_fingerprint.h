/* The fingerprints of two records: how the gemm of each backend sums. */
#ifndef HC_CLI_GATE_GATE_FINGERPRINT_H
#define HC_CLI_GATE_GATE_FINGERPRINT_H

#include "cli/gate/gate.h"

/* For records that have fingerprints (check/record/environment.h). One that is another now is a
   finding "fingerprint/<format>" of its backend; one that the record lacks, though it has results
   of that backend, is, too. One that only the record has is new. A part of a merged record is
   compared with the baseline's part of its name, or, if none of that name has the fingerprint, with
   all that have it: names are those of files, which may change. */
extern const struct hc_gate_way hc_gate_fingerprint;

/* Whether one of the record's fingerprints, "fingerprint/fp16" of "cuda", fits. */
bool hc_gate_has_fingerprint(const struct hc_record *record,
                             bool (*fits)(const void *what, const char *name, const char *backend),
                             const void *what);

#endif
