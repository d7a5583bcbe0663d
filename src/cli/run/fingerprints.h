/* Fingerprints at the start of a run. */
#ifndef HC_CLI_RUN_FINGERPRINTS_H
#define HC_CLI_RUN_FINGERPRINTS_H

#include "cli/run/run_command.h"

/* Whether a run takes the backend's fingerprint: of a device unless that was forbidden, of others
   on request. */
bool hc_run_wants_fingerprint(const struct hc_run_settings *settings,
                              const struct hc_backend *backend);

/* Takes them, prints what bounds make of them, and keeps their texts for the record. A backend that
   has none is no error here: the text says why, and its cases show the rest. What is returned is
   the status of a queue that could not be opened. */
enum hc_status hc_run_fingerprints(struct hc_run_command *run);

#endif
