/* The backends of the plug-ins that were added on the command line (plugins.h). */
#ifndef HC_KERNELS_PLUGIN_ADDED_H
#define HC_KERNELS_PLUGIN_ADDED_H

#include "backend.h"

enum { HC_MAX_ADDED = 16 };

/* In the order in which they were added; *n is their number, at most HC_MAX_ADDED. */
const struct hc_backend *const *hc_backends_added(int *n);

#endif
