/* Backends by what the user typed. */
#ifndef HC_CLI_CHOOSE_H
#define HC_CLI_CHOOSE_H

#include "check/runner.h"

/* The backends of a list (op/typed.h), in its order; when the list is NULL all that can run here,
   save those that run on request only. HC_INVALID, with a line, when one is
   unknown (it names those there are), empty or named twice. */
enum hc_status hc_choose_backends(const char *list,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count);

/* Why a run on all backends leaves this one out although it is not on request only; NULL: it does not. */
const char *hc_backend_left_out(const struct hc_backend *backend);

#endif
