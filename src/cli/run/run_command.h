/* One run of `halfcheck run`: its options, and its results so far. */
#ifndef HC_CLI_RUN_RUN_COMMAND_H
#define HC_CLI_RUN_RUN_COMMAND_H

#include "check/record/rows.h"
#include "cli/backend_options.h"
#include "cli/run/table.h"

/* The options of the command line that are not in hc_run_options. */
struct hc_run_settings {
    struct hc_backend_options backends;
    const char *json;
    const char *junit;
    const char *fault;
    const char *shard;        /* "3/16" */
    struct hc_words required; /* patterns of what must be taken */
    const char *times;        /* a record that says how long the cases take */
    int level;
    bool tap;
    bool strict;
    bool verbose;
    bool fingerprint;    /* of all backends, not only of devices */
    bool no_fingerprint; /* not of devices either */
};

struct hc_run_command {
    struct hc_run_settings settings;
    struct hc_run_options options;
    struct hc_shard shard; /* only if the options point to it */
    struct hc_shard share; /* of this rank, likewise */
    const struct hc_backend *backends[HC_MAX_BACKENDS];
    struct hc_rows rows;
    struct hc_table table;
    FILE *out;             /* for people: stderr if a file has stdout */
    int folder;            /* in which the program was started; a kernel may go elsewhere */
    json_t *facts;         /* by backend; check/record/facts.h */
    json_t *fingerprints;  /* by backend and format: "cuda fp16" (cli/run/fingerprints.h) */
    int length;            /* how many results there will be, of all ranks */
    int started;           /* how often a case was started on a backend */
    int tests;             /* how many lines of TAP were printed */
    int signal;            /* that stopped another rank, or 0 */
    enum hc_status status; /* not HC_OK: a result could not be kept */
};

/* Completes the options, chooses the backends and plants the fault. Whatever cannot work is found
   here, before the first case runs. */
enum hc_status hc_run_command_prepare(struct hc_run_command *run);

/* From now on a crash says in a line in which case it was, and ends with status 2. NULL: the run is
   over, and it was in none. */
void hc_run_report_crashes(const struct hc_run_command *run);

/* Fails the cases that a kernel refused by the numbers in their tensors, which is known only when
   all have run, and prints them. HC_NO_MEMORY. */
enum hc_status hc_run_command_refuse(struct hc_run_command *run);

/* Prints a result, as a line of the table or of TAP. */
void hc_run_command_print(struct hc_run_command *run, int number);

/* Why it ended before its last case, or NULL. */
const char *hc_run_command_cut(const struct hc_run_command *run);

/* Writes the record and the JUnit file that were asked for, and says where they are. */
enum hc_status hc_run_command_write(struct hc_run_command *run);

/* The program's exit status, with a line on stderr if it is HC_WRONG. */
int hc_run_command_status(const struct hc_run_command *run);

/* The first line of a run and the last ones: what is going to run, and the results. */

/* Prints what is checked, on which backends, and how; at once, also into a pipe. */
void hc_run_begins(const struct hc_run_command *run);

/* Prints what to type next, and the verdict in a word with its reason. `status` is the program's;
   `kept`: the files that were asked for are written. */
void hc_run_ends(const struct hc_run_command *run, int status, bool kept);

#endif
