/* Backends in shared objects. */
#ifndef HC_KERNELS_PLUGIN_H
#define HC_KERNELS_PLUGIN_H

#include "backend.h"

/* The most backends that a plug-in may have. */
#define HC_MAX_PLUGIN 8

/* The plug-in in the shared object `path`, which stays loaded. NULL, with the reason in
   hc_message(), when there is no such file, it is cut short, no plug-in, one of another version, or
   has no backend `name`. */
const struct hc_plugin *hc_plugin_load(const char *path, const char *name);

/* The plug-in of the backend `cuda`: from the file that the environment variable
   HALFCHECK_CUDA_PLUGIN names, or from halfcheck-cuda.so in the program's own folder. Where it
   cannot be loaded, one whose backends are unavailable for that reason. Looked for once. */
const struct hc_plugin *hc_plugin_cuda(void);

#endif
