/* The options that everything takes which runs on backends: one table, for all commands. */
#ifndef HC_CLI_BACKEND_OPTIONS_H
#define HC_CLI_BACKEND_OPTIONS_H

#include "cli/command.h"

struct hc_backend_options {
    struct hc_words named; /* by --backend, each word a list; none: what the command does then */
    double call_limit;     /* seconds that a program may take for one call */
    int order;             /* of enum hc_adam_order; HC_ORDER_COUNT if none was asked for */
    const char *fallback;  /* the backend that runs what the others lack, or NULL */

    struct hc_option table[8]; /* made by hc_backend_options */
};

/* What a command takes besides one backend. */
enum hc_backend_takes {
    HC_ONE_BACKEND = 0,
    HC_SEVERAL_BACKENDS = 1,
    HC_TAKES_ORDER = 2,
    HC_TAKES_FALLBACK = 4,
    HC_HAS_ITS_OWN_SET = 8 /* an option --set, by way of which settings.h is reached, too */
};

/* Sets the defaults. Returns the table that changes them, for a command's table to include; it
   lives in `options`. `takes` adds up the words above. `help` says what --backend does there. */
const struct hc_option *hc_backend_options(struct hc_backend_options *options, int takes,
                                           const char *help);

/* The name of the order that was asked for, or NULL. */
const char *hc_backend_order(const struct hc_backend_options *options);

#endif
