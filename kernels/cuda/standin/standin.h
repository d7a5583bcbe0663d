/* For tests: the functions of the CUDA runtime that kernels/cuda/device calls, without a device, so
   that the plug-in's own code runs in the tests. It is linked against these functions instead of
   the runtime; kernels run in the emulation, cuBLAS and cuDNN are libraries made of the emulation's
   functions (cmake/standin.cmake). An error must end in one line and a status wherever it comes, so
   that the environment variable HALFCHECK_STANDIN says what there is and which call fails:
     devices=0  driver=12040  capability=75     what there is (default: 1, this runtime's, 90)
     by_thread=1                                each thread keeps the device that it has
     cudaMalloc:3=2                             the third call of cudaMalloc returns 2
   with commas between. An error that a device does not recover from is returned for ever after. */
#ifndef HC_KERNELS_CUDA_STANDIN_H
#define HC_KERNELS_CUDA_STANDIN_H

#include <cuda_runtime_api.h>

/* The number behind "name=" in HALFCHECK_STANDIN, or `otherwise`. */
int hc_standin_setting(const char *name, int otherwise);

/* Counts a call of the function in *calls and returns the error with which it is to fail, if
   any. */
cudaError_t hc_standin_error(const char *function, int *calls);

#endif
