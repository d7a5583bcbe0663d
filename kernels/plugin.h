/* Backends in shared objects. */
#ifndef HC_KERNELS_PLUGIN_H
#define HC_KERNELS_PLUGIN_H

#include "backend.h"

/* The backend of that name in the shared object `path`, which stays loaded. NULL, with the reason in
   hc_message(), when there is no such file, it is no plug-in, or one of another version. */
const struct hc_backend *hc_plugin_load(const char *path, const char *name);

/* The backend `cuda`: from the file that the environment variable HALFCHECK_CUDA_PLUGIN names, or from
   halfcheck-cuda.so in the program's own folder. Where it cannot be loaded, a backend that is
   unavailable for that reason. Looked for once. */
const struct hc_backend *hc_plugin_cuda(void);

#endif
