/* Plug-ins that somebody built outside this tree: --plugin FILE. A plug-in is a shared object that
   exports backends (hc_plugin, backend.h), or cases (hc_plugin_cases, case.h), or both. */
#ifndef HC_KERNELS_PLUGIN_PLUGINS_H
#define HC_KERNELS_PLUGIN_PLUGINS_H

#include "op/status.h"

/* Loads the file, which stays loaded. Its backends join hc_backends(). HC_IO or HC_INVALID, with a
   line, if it cannot be loaded, crashes when it is loaded, exports neither backends nor cases, or
   has a backend that is wrong, of another version, or named as another one is. */
enum hc_status hc_plugins_add(const char *path);

/* What the file that was added last exports by that name; NULL if it exports no such thing. */
const void *hc_plugins_symbol(const char *name);

/* The options of a command line that adds the same files again: " --plugin FILE" for each, as one
   pastes it into a shell. Empty if none was added. */
const char *hc_plugins_options(void);

/* The file that the backend of this name comes from; NULL if that is the program itself or
   halfcheck-cuda.so. */
const char *hc_plugins_file_of(const char *backend);

#endif
