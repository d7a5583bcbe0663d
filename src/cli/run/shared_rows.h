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

/* A run that several ranks share (cli/ranks/ranks.h). Each runs the cases of its share, as shards
   do; then the results come together at rank 0, in the order that they have in a run of one
   process, and rank 0 goes on as if all of them were its own. */

/* Lets the options run only what belongs to this rank; nothing where there is one alone. */
void hc_run_share_out(struct hc_run_command *run);

/* Before the first case: whether all ranks are ready for the same plan. `mine` is this rank's
   status; what comes back is that of all. */
enum hc_status hc_run_share_begin(struct hc_run_command *run, enum hc_status mine);

/* After the last case: gives all results to rank 0, which prints those that it would have printed
   as they came. On the other ranks nothing is left to do then. */
enum hc_status hc_run_share_end(struct hc_run_command *run, enum hc_status mine);

#endif
