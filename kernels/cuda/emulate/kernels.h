/* The device kernels as the emulation runs them, and their launch on a stream. */
#ifndef HC_KERNELS_CUDA_EMULATE_KERNELS_H
#define HC_KERNELS_CUDA_EMULATE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cuda/launch.h"

struct hc_emulated_stream;

struct hc_emulated_kernel {
    const char *name;
    void (*entry)(const void *args);
    const size_t *size; /* of the arguments */
};

extern const struct hc_emulated_kernel hc_emulated_kernels[HC_DEVICE_KERNEL_COUNT];

/* Runs the kernel, or records it with a copy of its arguments while the stream captures. Returns
   whether there was memory. */
bool hc_emulated_launch(struct hc_emulated_stream *stream, const struct hc_emulated_kernel *kernel,
                        int blocks, int threads, size_t shared, const void *args);

#endif
