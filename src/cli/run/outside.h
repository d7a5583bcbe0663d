/* What a run says of backends that came from outside: programs behind pipes, plug-ins, anything of
   free order (struct hc_backend), and those with a fallback. */
#ifndef HC_CLI_RUN_OUTSIDE_H
#define HC_CLI_RUN_OUTSIDE_H

#include <stdio.h>

#include "check/record/rows.h"

/* Whether all backends of a run did; its table is then 80 columns wide. */
bool hc_all_outside(const struct hc_run_options *options);

/* For each of them, in lines of 80 columns: what passed and failed, and by which of the two
   verdicts; the ops that it lacks, what it refused, which cases state an order, and what ran on
   another backend. */
void hc_print_outside(FILE *out, const struct hc_rows *rows, const struct hc_run_options *options);

/* The line about what ran on another backend; nothing where the backend has no fallback. */
void hc_print_fallback(FILE *out, const struct hc_backend *backend);

#endif
