/* The backends that a command line asks for.

   --backend takes a list of names; or pipe:COMMAND, a program that is one (kernels/pipe/pipe.h),
   whose command runs to the end of the option's value, so that it may hold commas. */
#ifndef HC_CLI_CHOOSE_H
#define HC_CLI_CHOOSE_H

#include "check/runner.h"
#include "cli/backend_options.h"

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
