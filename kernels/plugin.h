/* Backends in shared objects. */
#ifndef HC_KERNELS_PLUGIN_H
#define HC_KERNELS_PLUGIN_H

#include "backend.h"

/* How many backends a plug-in may have. */
#define HC_MAX_PLUGIN 8

/* The plug-in in the shared object `path`, which stays loaded. NULL, with the reason in
   hc_message(), if there is no such file, if it is truncated or no plug-in, if it has another
   version, or if it has no backend `name`. */
const struct hc_plugin *hc_plugin_load(const char *path, const char *name);

/* The plug-in of the backend `cuda`: the file that the environment variable HALFCHECK_CUDA_PLUGIN
   names, or else halfcheck-cuda.so in the program's own folder. If it cannot be loaded, this is a
   plug-in whose backends are unavailable for that reason. It is looked for once. */
const struct hc_plugin *hc_plugin_cuda(void);

/* The backend of that name among n backends; NULL if there is none. */
const struct hc_backend *hc_backend_among(const struct hc_backend *const *backends, int n,
                                          const char *name);

#endif
