#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/library/accumulator.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/library/library.h"

/* Whether a device and the libraries can be used, and if not, why. */

/* The oldest compute capability that the kernels are built for, times ten. */
enum { CAPABILITY = 80 };

static char line[512];

/* The device that is used, and its compute capability, once they are known. */
static int chosen;
static int capability[2];

static const char *version(char text[16], int v)
{
    (void)snprintf(text, 16, "%d.%d", v / 1000, v % 1000 / 10);
    return text;
}

/* The first driver of each CUDA, which runs what any toolkit of that major version builds: CUDA
   Toolkit Release Notes, "Minimum Required Driver Version for Minor Version Compatibility". */
static const char *first_driver(int cuda)
{
    return cuda == 12 ? " (driver 525)" : cuda == 13 ? " (driver 580)" : "";
}

static const char *too_old(int driver)
{
    char has[16];
    char needs[16];
    char own[64];
    hc_cuda_driver(own);
    (void)snprintf(
        line, sizeof line, "the NVIDIA driver is too old: it has CUDA %s%s%s%s, needed %s%s",
        version(has, driver), own[0] ? " (driver " : "", own, own[0] ? ")" : "",
        version(needs, CUDART_VERSION / 1000 * 1000), first_driver(CUDART_VERSION / 1000));
    return line;
}

/* The reason behind an error of counting devices. cudaDriverGetVersion gives 0 where there is no
   driver. */
static const char *no_device(cudaError_t error)
{
    int driver = 0;
    (void)cudaDriverGetVersion(&driver);
    if (driver == 0)
        return "no NVIDIA driver";
    if (error == cudaErrorNoDevice)
        return "the NVIDIA driver finds no GPU";
    if (driver / 1000 < CUDART_VERSION / 1000)
        return too_old(driver);
    (void)snprintf(line, sizeof line, "%s", cudaGetErrorString(error));
    return line;
}

static const char *no_library(void)
{
    const struct hc_library *library;
    static const char prefix[] = "cuda: ";
    if (hc_library_load(&library) == HC_OK)
        return NULL;
    const char *message = hc_message();
    bool prefixed = strncmp(message, prefix, sizeof prefix - 1) == 0;
    (void)snprintf(line, sizeof line, "%s", message + (prefixed ? sizeof prefix - 1 : 0));
    return line;
}

/* What starts a process says which one of its machine it is: Open MPI, Slurm, MPICH and Intel MPI,
   MVAPICH. Where each process sees one device alone, as Slurm can have it, that is device 0. */
static void choose(int count)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
                                        "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        if (text) {
            chosen = (int)(strtoul(text, NULL, 10) % (unsigned)count);
            return;
        }
    }
}

int hc_cuda_number(void)
{
    (void)hc_cuda_no_device();
    return chosen;
}

static const char *find_device(void)
{
    struct cudaDeviceProp device;
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        return no_device(error);
    if (count == 0)
        return "the NVIDIA driver finds no GPU";
    choose(count);
    error = cudaGetDeviceProperties(&device, chosen);
    if (error != cudaSuccess)
        return no_device(error);
    capability[0] = device.major;
    capability[1] = device.minor;
    if (10 * device.major + device.minor >= CAPABILITY)
        return NULL;
    (void)snprintf(line, sizeof line, "%.100s has compute capability %d.%d, needed 8.0",
                   device.name, device.major, device.minor);
    return line;
}

const char *hc_cuda_no_device(void)
{
    static const char *why;
    static bool known;
    if (!known)
        why = find_device();
    known = true;
    return why;
}

const char *hc_cuda_unavailable(void)
{
    static const char *why;
    static bool known;
    if (!known)
        why = hc_cuda_no_device() ? hc_cuda_no_device() : no_library();
    known = true;
    return why;
}

struct hc_accumulator hc_cuda_accumulator_here(void)
{
    (void)hc_cuda_no_device();
    return hc_cuda_accumulator(capability[0], capability[1]);
}
