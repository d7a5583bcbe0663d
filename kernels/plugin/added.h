/* The backends of the plug-ins that were added on the command line (plugins.h). */
#ifndef HC_KERNELS_PLUGIN_ADDED_H
#define HC_KERNELS_PLUGIN_ADDED_H

#include "backend.h"

enum { HC_MAX_ADDED = 16 };

/* The backends in the order in which they were added; *n, at most HC_MAX_ADDED, is their number. */
const struct hc_backend *const *hc_backends_added(int *n);

#endif
