#include "kernels/cuda/emulate/kernels.h"

#include <string.h>

#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/emulate/stream.h"

#define HC_DEVICE_KERNEL(name)                                                                     \
    void hc_dk_##name##_entry(const void *args);                                                   \
    extern const size_t hc_dk_##name##_size;
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL

const struct hc_emulated_kernel hc_emulated_kernels[HC_DEVICE_KERNEL_COUNT] = {
#define HC_DEVICE_KERNEL(name) {#name, hc_dk_##name##_entry, &hc_dk_##name##_size},
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
};

/* Only as much of it as the kernel takes is recorded. */
struct launch {
    struct hc_grid grid;
    _Alignas(max_align_t) unsigned char args[HC_MAX_ARGUMENTS];
};

static void run_kernel(struct hc_emulated_stream *stream, const void *args)
{
    const struct launch *launch = args;
    hc_emulate(hc_emulated_stream_emulator(stream), &launch->grid, launch->args);
}

bool hc_emulated_launch(struct hc_emulated_stream *stream, const struct hc_emulated_kernel *kernel,
                        int blocks, int threads, size_t shared, const void *args)
{
    struct launch launch = {
        .grid = {kernel->name, kernel->entry, blocks, threads, shared, *kernel->size}};
    memcpy(launch.args, args, *kernel->size);
    return hc_emulated_stream_submit(stream, run_kernel, &launch,
                                     offsetof(struct launch, args) + *kernel->size);
}
