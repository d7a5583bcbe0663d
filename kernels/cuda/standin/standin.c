#include "kernels/cuda/standin/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cudaError_t permanent = cudaSuccess;
static cudaError_t last = cudaSuccess;

int hc_standin_setting(const char *name, int otherwise)
{
    const char *at = getenv("HALFCHECK_STANDIN");
    size_t length = strlen(name);
    while (at && (strncmp(at, name, length) != 0 || at[length] != '='))
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return at ? (int)strtol(at + length + 1, NULL, 10) : otherwise;
}

cudaError_t hc_standin_error(const char *function, int *calls)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s:%d", function, ++*calls);
    cudaError_t error = (cudaError_t)hc_standin_setting(name, cudaSuccess);
    if (permanent != cudaSuccess)
        return permanent;
    if (error >= cudaErrorIllegalAddress && error < cudaErrorStreamCaptureUnsupported)
        permanent = error;
    if (error != cudaSuccess)
        last = error;
    return error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = permanent;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    default:
        return "some error";
    }
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = hc_standin_setting("driver", CUDART_VERSION);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    static int calls;
    cudaError_t error = hc_standin_error("cudaGetDeviceCount", &calls);
    *count = hc_standin_setting("devices", 1);
    if (hc_standin_setting("driver", CUDART_VERSION) < CUDART_VERSION / 1000 * 1000)
        return cudaErrorInsufficientDriver;
    return error == cudaSuccess && *count == 0 ? cudaErrorNoDevice : error;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *device, int number)
{
    static int calls;
    int capability = hc_standin_setting("capability", 90);
    (void)number;
    memset(device, 0, sizeof *device);
    (void)snprintf(device->name, sizeof device->name, "none, a stand-in of the tests");
    device->major = capability / 10;
    device->minor = capability % 10;
    return hc_standin_error("cudaGetDeviceProperties", &calls);
}

cudaError_t cudaSetDevice(int number)
{
    static int calls;
    (void)number;
    return hc_standin_error("cudaSetDevice", &calls);
}
