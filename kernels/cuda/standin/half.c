/* cuda-half is unavailable with the stand-in: nothing on the CPU stands for these instructions. */
#include "kernels/cuda/device/device.h"

static const char *unavailable(void)
{
    return "the stand-in of the tests has no half instructions";
}

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    (void)queue;
    (void)threads;
    return hc_fail(HC_DEVICE, "cuda-half: %s", unavailable());
}

const struct hc_backend hc_cuda_half = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda-half",
    .title = "half and bfloat16 arithmetic of the GPU, a few ops",
    .accumulator = {.precision = 11, .block = 1},
    .partial = true,
    .unavailable = unavailable,
    .open = open_queue,
};
