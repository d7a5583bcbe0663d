/* For tests: the CUDA runtime as far as kernels/cuda/device/ uses it, without a device. Kernels run in
   the emulation, and the environment variable HALFCHECK_STANDIN says what goes wrong:
     devices=0  driver=12040  capability=75     what is there (else: 1, this runtime's, 90)
     cudaMalloc:3=2                             the third call of cudaMalloc returns 2
   with commas between. An error that a device does not recover from is returned for ever after. */
#ifndef HC_KERNELS_CUDA_STANDIN_H
#define HC_KERNELS_CUDA_STANDIN_H

#include <cuda_runtime_api.h>

/* The number behind "name=", or `otherwise`. */
int hc_standin_setting(const char *name, int otherwise);

/* What the next call of `function` returns before it does anything; it counts calls in *calls. */
cudaError_t hc_standin_error(const char *function, int *calls);

#endif
