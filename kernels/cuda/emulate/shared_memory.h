/* A block's shared memory, between guards. */
#ifndef HC_KERNELS_CUDA_EMULATE_SHARED_MEMORY_H
#define HC_KERNELS_CUDA_EMULATE_SHARED_MEMORY_H

#include <stddef.h>

#include "kernels/cuda/launch.h"

enum { HC_SHARED_GUARD = 1024 };

struct hc_shared_memory {
    size_t bytes;
    _Alignas(16) unsigned char memory[HC_SHARED_GUARD + HC_MAX_SHARED + HC_SHARED_GUARD];
};

/* Fills `bytes` of it with NaN, and the guards. */
void hc_shared_memory_fill(struct hc_shared_memory *shared, size_t bytes);

/* NULL, or the text of what was written beside it. */
const char *hc_shared_memory_error(const struct hc_shared_memory *shared, char text[96]);

#endif
