#include "kernels/cuda/launch.h"

#include <assert.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/emulator.h"

#define HC_DEVICE_KERNEL(name)                                                                     \
    void hc_dk_##name##_entry(const void *args);                                                   \
    extern const size_t hc_dk_##name##_size;
#include "kernels/cuda/device_kernels.def"
#undef HC_DEVICE_KERNEL

static const struct {
    const char *name;
    void (*entry)(const void *args);
    const size_t *size;
} kernels[] = {
#define HC_DEVICE_KERNEL(name) {#name, hc_dk_##name##_entry, &hc_dk_##name##_size},
#include "kernels/cuda/device_kernels.def"
#undef HC_DEVICE_KERNEL
};

enum hc_status hc_launch(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                         int threads, size_t shared, const void *args, size_t args_size)
{
    assert(blocks >= 0 && args_size == *kernels[which].size && args_size <= HC_MAX_ARGUMENTS);
    struct hc_grid grid = {kernels[which].name, kernels[which].entry, blocks, threads, shared};
    if (blocks > 0)
        hc_emulate(queue->stream, &grid, args);
    return HC_OK;
}
