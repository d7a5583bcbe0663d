/* The backends that a command line asks for. */
#ifndef HC_CLI_CHOOSE_H
#define HC_CLI_CHOOSE_H

#include "check/runner.h"

/* The backends of a list (op/typed.h), in its order. If the list is NULL: all that can run here,
   except those that run on request only. HC_INVALID, with a line, if a name is unknown (the line
   names those that exist), empty, or there twice. */
enum hc_status hc_choose_backends(const char *list,
                                  const struct hc_backend *chosen[HC_MAX_BACKENDS], int *count);

/* The one backend of a list, which must be able to run here. HC_INVALID or HC_DEVICE, with a
   line that begins with `what` ("a training runs") if there are several. */
enum hc_status hc_choose_backend(const char *what, const char *list,
                                 const struct hc_backend **backend);

/* Why a run on all backends leaves this one out. NULL if it does not, or if the backend runs on
   request only. */
const char *hc_backend_left_out(const struct hc_backend *backend);

#endif
