/* The options that everything takes which runs on backends: one table, for all commands. */
#ifndef HC_CLI_BACKEND_OPTIONS_H
#define HC_CLI_BACKEND_OPTIONS_H

#include "cli/command.h"

struct hc_backend_options {
    struct hc_words named; /* by --backend, each word a list; none: what the command does then */
    double call_limit;     /* seconds that a program may take for one call */

    struct hc_option table[8]; /* made by hc_backend_options */
};

/* Sets the defaults. Returns the table that changes them, for a command's table to include; it
   lives in `options`. `several`: the command takes more than one backend. `help` says what
   --backend does there. */
const struct hc_option *hc_backend_options(struct hc_backend_options *options, bool several,
                                           const char *help);

#endif
