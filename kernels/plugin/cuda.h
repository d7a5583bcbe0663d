/* The plug-in halfcheck-cuda.so. */
#ifndef HC_KERNELS_PLUGIN_CUDA_H
#define HC_KERNELS_PLUGIN_CUDA_H

#include "backend.h"

/* The plug-in of the backend `cuda`: the file that the environment variable HALFCHECK_CUDA_PLUGIN
   names; or else halfcheck-cuda.so in ../lib/halfcheck, seen from the program's folder, or in that
   folder. If it cannot be loaded, this is a plug-in whose backends are unavailable for that reason.
   It is looked for once. */
const struct hc_plugin *hc_plugin_cuda(void);

#endif
