/* The options of all commands that run backends: one table. */
#ifndef HC_CLI_BACKEND_OPTIONS_H
#define HC_CLI_BACKEND_OPTIONS_H

#include "check/runner.h"
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

/* The option --plugin FILE. */

/* Its table, for a command's table to include. Each file is loaded when its option is read: its
   backends and cases are then there like all others. */
extern const struct hc_option hc_plugin_option[2];

/* The backends that a command line asks for.

   --backend takes a list of names; or pipe:COMMAND, a program that is one (kernels/pipe/pipe.h),
   whose command runs to the end of the option's value, so that it may hold commas. */

/* The backends that the options name, in their order. If they name none: all that can run here,
   except those that run on request only. HC_INVALID, with a line, if a name is unknown (the line
   names those that exist), empty, or there twice. Programs are started: HC_DEVICE or HC_INVALID,
   with a line, if one does not greet as it should. */
enum hc_status hc_choose_backends(const struct hc_backend_options *options,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count);

/* The one backend that the options name, or the one named `otherwise` if they name none. It must be
   able to run here. HC_INVALID or HC_DEVICE, with a line that begins with `what` ("a training
   runs") if they name several. */
enum hc_status hc_choose_backend(const char *what, const struct hc_backend_options *options,
                                 const char *otherwise, const struct hc_backend **backend);

/* The same for one backend or more. */
enum hc_status hc_choose_able(const struct hc_backend_options *options, const char *otherwise,
                              const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count);

/* Why a run on all backends leaves this one out. NULL if it does not, or if the backend runs on
   request only. */
const char *hc_backend_left_out(const struct hc_backend *backend);

#endif
