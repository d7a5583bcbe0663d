#include "kernels/cuda/launch.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/emulate/stream.h"

#define HC_DEVICE_KERNEL(name)                                                                     \
    void hc_dk_##name##_entry(const void *args);                                                   \
    extern const size_t hc_dk_##name##_size;
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL

static const struct {
    const char *name;
    void (*entry)(const void *args);
    const size_t *size;
} kernels[] = {
#define HC_DEVICE_KERNEL(name) {#name, hc_dk_##name##_entry, &hc_dk_##name##_size},
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
};

struct launch {
    struct hc_grid grid;
    _Alignas(
        max_align_t) unsigned char args[HC_MAX_ARGUMENTS]; /* as much of it as the kernel takes */
};

static void run(struct hc_emulated_stream *stream, const void *args)
{
    const struct launch *launch = args;
    hc_emulate(hc_emulated_stream_emulator(stream), &launch->grid, launch->args);
}

enum hc_status hc_launch(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                         int threads, size_t shared, const void *args, size_t args_size)
{
    assert(blocks >= 0 && args_size == *kernels[which].size && args_size <= HC_MAX_ARGUMENTS);
    struct launch launch = {
        .grid = {kernels[which].name, kernels[which].entry, blocks, threads, shared}};
    if (blocks == 0)
        return HC_OK;
    memcpy(launch.args, args, args_size);
    if (hc_emulated_stream_submit(queue->stream, run, &launch,
                                  offsetof(struct launch, args) + args_size))
        return HC_OK;
    return hc_fail(HC_NO_MEMORY, "cuda-emulated: no memory for a graph");
}
