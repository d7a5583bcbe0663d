/* A record that becomes the new baseline. */
#ifndef HC_CLI_GATE_GATE_UPDATE_H
#define HC_CLI_GATE_GATE_UPDATE_H

#include <stdio.h>

#include "cli/gate/gate.h"

/* HC_INVALID, with a line, for what cannot be a baseline: a lone shard, or bits that no reference
   has judged. */
enum hc_status hc_gate_check_update(const char *path, const struct hc_record *record);

/* Replaces the baseline by the record, and says what of it fails. It is left as it is, and
   *written is false, if a result fails that neither the old baseline nor an allowance knows: a
   failure must not become what later runs are held against without a word. `old` may be NULL.
   `reason` then says why, or what was written. HC_IO; HC_INVALID; HC_NO_MEMORY. */
enum hc_status hc_gate_update(FILE *out, const struct hc_allowances *allowances,
                              const struct hc_record *old, const struct hc_record *record,
                              const char *path, bool *written, char *reason, size_t bytes);

#endif
