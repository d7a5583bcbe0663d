#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/library/handles.h"

void hc_cuda_driver(char text[64])
{
    char line[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    const char *at = file && fgets(line, sizeof line, file) ? strstr(line, "Kernel Module") : NULL;
    if (!at || sscanf(at, "Kernel Module%*[^0-9]%63[0-9.]", text) != 1)
        text[0] = 0;
    if (file)
        (void)fclose(file);
}

/* Tells "580.65.06, CUDA 13.0", without the first if the driver's version cannot be read. */
static void tell_driver(hc_tell *tell, void *context)
{
    char version[64];
    char text[128];
    int cuda = 0;
    hc_cuda_driver(version);
    if (cudaDriverGetVersion(&cuda) != cudaSuccess)
        return;
    (void)snprintf(text, sizeof text, "%s%sCUDA %d.%d", version, version[0] ? ", " : "",
                   cuda / 1000, cuda % 1000 / 10);
    tell("driver", text, context);
}

static void tell_device(hc_tell *tell, void *context)
{
    struct cudaDeviceProp device;
    char text[64];
    if (cudaGetDeviceProperties(&device, hc_cuda_number()) != cudaSuccess)
        return;
    tell("gpu", device.name, context);
    (void)snprintf(text, sizeof text, "%d.%d", device.major, device.minor);
    tell("capability", text, context);
    (void)snprintf(text, sizeof text, "%d", device.multiProcessorCount);
    tell("multiprocessors", text, context);
    (void)snprintf(text, sizeof text, "%.1f GiB", (double)device.totalGlobalMem / (1 << 30));
    tell("memory", text, context);
}

void hc_cuda_describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    const struct hc_library *library;
    char text[64];
    tell_device(tell, context);
    tell_driver(tell, context);
    (void)snprintf(text, sizeof text, "%d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    tell("cuda", text, context);
    if (hc_library_load(&library) == HC_OK)
        hc_library_describe(library, tell, context);
    if (queue && queue->libraries)
        hc_libraries_describe(queue->libraries, tell, context);
}
