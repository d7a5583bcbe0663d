#include "kernels/plugin/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/plugin/load.h"

static char reason[512];

static const char *unavailable(void)
{
    return reason;
}

/* An unavailable backend is never opened, so the rest of the table is not used. */
static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    (void)queue;
    (void)threads;
    return hc_fail(HC_DEVICE, "cuda: %s", reason);
}

static const struct hc_backend absent_cuda = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda",
    .title = "CUDA kernels on the GPU",
    .accumulator = {.precision = 24, .block = 1},
    .unavailable = unavailable,
    .open = open_queue,
};

static const struct hc_backend absent_half = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda-half",
    .title = "half and bfloat16 arithmetic of the GPU, a few ops",
    .accumulator = {.precision = 11, .block = 1},
    .partial = true,
    .unavailable = unavailable,
    .open = open_queue,
};

static const struct hc_backend *const absent_backends[] = {&absent_cuda, &absent_half};

static const struct hc_plugin absent = {
    HC_BACKEND_ABI, sizeof absent_backends / sizeof absent_backends[0], absent_backends};

static const struct hc_plugin *cuda = &absent;

static void find_cuda(void)
{
    char found[4096];
    const char *path = getenv("HALFCHECK_CUDA_PLUGIN");
    if (!path) {
        hc_plugin_by_program(found, sizeof found, "halfcheck-cuda.so");
        path = found;
#ifdef HC_NO_CUDA
        if (access(path, F_OK) != 0) {
            (void)snprintf(reason, sizeof reason, "%s", HC_NO_CUDA);
            return;
        }
#endif
    }
    void *library = hc_plugin_load(path);
    const struct hc_plugin *loaded = library ? hc_plugin_backends(library, path, "cuda") : NULL;
    if (loaded)
        cuda = loaded;
    else
        (void)snprintf(reason, sizeof reason, "%s", hc_message());
}

const struct hc_plugin *hc_plugin_cuda(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_cuda);
    return cuda;
}
