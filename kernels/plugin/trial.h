/* Loading a plug-in for trial. */
#ifndef HC_KERNELS_PLUGIN_TRIAL_H
#define HC_KERNELS_PLUGIN_TRIAL_H

#include "op/status.h"

/* Loads the shared object in a process of its own, and asks it for its backends. HC_INVALID, with a
   line, if that process crashes or ends; what the loader refuses is not looked at here. */
enum hc_status hc_plugin_trial(const char *path);

#endif
