/* Backends by what the user typed. */
#ifndef HC_CLI_CHOOSE_H
#define HC_CLI_CHOOSE_H

#include "check/runner.h"

/* The backends of a comma-separated list, in its order; all when the list is NULL. HC_INVALID, with
   a line that names those there are, when one is unknown or named twice. */
enum hc_status hc_choose_backends(const char *list,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count);

#endif
