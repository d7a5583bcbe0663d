/* What a plug-in says of its backends, checked before any of it is believed. */
#ifndef HC_KERNELS_PLUGIN_CHECK_H
#define HC_KERNELS_PLUGIN_CHECK_H

#include "backend.h"

/* HC_OK, or HC_INVALID with a line that begins with the name of the plug-in's file. */
enum hc_status hc_plugin_check(const struct hc_plugin *plugin, const char *file);

#endif
