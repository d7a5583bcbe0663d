/* The first line of a run and the last ones: what is going to run, and what came of it. */
#ifndef HC_CLI_RUN_FRAME_H
#define HC_CLI_RUN_FRAME_H

#include "cli/run/run_command.h"

/* Prints what is checked, on which backends, and how; at once, also into a pipe. */
void hc_run_begins(const struct hc_run_command *run);

/* Prints what to type next, and the verdict in a word with its reason. `status` is the program's;
   `kept`: the files that were asked for are written. */
void hc_run_ends(const struct hc_run_command *run, int status, bool kept);

#endif
