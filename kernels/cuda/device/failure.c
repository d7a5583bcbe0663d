/* Turns errors of the CUDA runtime into statuses. */
#include <stdio.h>

#include "kernels/cuda/device/device.h"

#if CUDART_VERSION < 12080
/* What newer runtimes return, by their numbers in newer headers. */
enum { cudaErrorContained = 226, cudaErrorTensorMemoryLeak = 721 };
#endif

/* After these errors "any further CUDA work will return the same error" (driver_types.h), or the
   device is gone. The process cannot use it again. */
static const int fatal[] = {
    cudaErrorDevicesUnavailable,  cudaErrorECCUncorrectable,
    cudaErrorNvlinkUncorrectable, cudaErrorContained,
    cudaErrorIllegalAddress,      cudaErrorLaunchTimeout,
    cudaErrorContextIsDestroyed,  cudaErrorAssert,
    cudaErrorHardwareStackError,  cudaErrorIllegalInstruction,
    cudaErrorMisalignedAddress,   cudaErrorInvalidAddressSpace,
    cudaErrorInvalidPc,           cudaErrorLaunchFailure,
    cudaErrorTensorMemoryLeak,    cudaErrorMpsClientTerminated,
    cudaErrorExternalDevice,      cudaErrorUnknown,
};

static char lost[320]; /* what lost the device; empty: it is there */

enum hc_status hc_cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return HC_OK;
    (void)cudaGetLastError(); /* resets the error, so that the next launch does not report it */
    if (lost[0])
        return hc_fail(HC_DEVICE, "cuda: the device is lost: %s", lost);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        if (fatal[i] == (int)error)
            (void)snprintf(lost, sizeof lost, "%s: %s", what, cudaGetErrorString(error));
    return hc_fail(error == cudaErrorMemoryAllocation ? HC_NO_MEMORY : HC_DEVICE, "cuda: %s: %s",
                   what, cudaGetErrorString(error));
}
