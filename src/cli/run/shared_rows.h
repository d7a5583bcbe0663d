/* What a rank of a run tells rank 0: a document like a record, with its results, what it has left
   out, what its backends said, and how it ended. */
#ifndef HC_CLI_RUN_SHARED_ROWS_H
#define HC_CLI_RUN_SHARED_ROWS_H

#include "cli/run/run_command.h"

/* The document of this rank. The caller frees *text. HC_NO_MEMORY. */
enum hc_status hc_shared_rows_text(const struct hc_run_command *run, char **text);

/* Joins the document of another rank to what `run` has. HC_INVALID if it is none; HC_NO_MEMORY. */
enum hc_status hc_shared_rows_join(struct hc_run_command *run, int rank, const char *text,
                                   size_t bytes);

/* Puts results and omissions into the order of a run of one process. HC_NO_MEMORY. */
enum hc_status hc_shared_rows_order(struct hc_run_command *run);

#endif
