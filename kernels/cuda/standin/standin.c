#include "kernels/cuda/standin/standin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/standin/blocks.h"

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

/* The setting of this call of the function. */
static int planted(const char *function, int *calls)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char name[80];
    (void)pthread_mutex_lock(&lock);
    (void)snprintf(name, sizeof name, "%s:%d", function, ++*calls);
    (void)pthread_mutex_unlock(&lock);
    return hc_standin_setting(name, 0);
}

cudaError_t hc_standin_error(const char *function, int *calls)
{
    cudaError_t error = (cudaError_t)planted(function, calls);
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
    cudaError_t error = hc_standin_error("cudaSetDevice", &calls);
    if (hc_standin_setting("by_thread", 0))
        return error;
    if (number < 0 || number >= hc_standin_setting("devices", 1))
        return cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        hc_standin_take_device(number);
    return error;
}

cudaError_t cudaGetDevice(int *number)
{
    static int calls;
    *number = hc_standin_device();
    return hc_standin_error("cudaGetDevice", &calls);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int number)
{
    static int calls;
    (void)snprintf(text, (size_t)length, "0000:%02x:00.0", number);
    return hc_standin_error("cudaDeviceGetPCIBusId", &calls);
}
