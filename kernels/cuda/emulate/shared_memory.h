/* A block's shared memory, between guard bytes that show a write beside it. */
#ifndef HC_KERNELS_CUDA_EMULATE_SHARED_MEMORY_H
#define HC_KERNELS_CUDA_EMULATE_SHARED_MEMORY_H

#include <stddef.h>

#include "kernels/cuda/launch.h"

enum { HC_SHARED_GUARD = 1024 };

struct hc_shared_memory {
    size_t bytes;
    _Alignas(16) unsigned char memory[HC_SHARED_GUARD + HC_MAX_SHARED + HC_SHARED_GUARD];
};

/* Sets its size, and fills it with NaN and the guards with their bytes. */
void hc_shared_memory_fill(struct hc_shared_memory *shared, size_t bytes);

/* NULL, or in `text` where something was written beside it. */
const char *hc_shared_memory_error(const struct hc_shared_memory *shared, char text[96]);

#endif
