#include "kernels/cuda/emulate/shared_memory.h"

#include <stdio.h>
#include <string.h>

enum { GUARD_BYTE = 0xfe, NAN_BYTE = 0xff };

void hc_shared_memory_fill(struct hc_shared_memory *shared, size_t bytes)
{
    shared->bytes = bytes;
    memset(shared->memory, GUARD_BYTE, HC_SHARED_GUARD);
    memset(shared->memory + HC_SHARED_GUARD, NAN_BYTE, bytes);
    memset(shared->memory + HC_SHARED_GUARD + bytes, GUARD_BYTE, HC_SHARED_GUARD);
}

const char *hc_shared_memory_error(const struct hc_shared_memory *shared, char text[96])
{
    const unsigned char *after = shared->memory + HC_SHARED_GUARD + shared->bytes;
    for (size_t i = 0; i < HC_SHARED_GUARD; i++) {
        if (shared->memory[i] != GUARD_BYTE) {
            (void)snprintf(text, 96, "wrote %zu bytes before its shared memory",
                           HC_SHARED_GUARD - i);
            return text;
        }
        if (after[i] != GUARD_BYTE) {
            (void)snprintf(text, 96, "wrote byte %zu of its %zu bytes of shared memory",
                           shared->bytes + i, shared->bytes);
            return text;
        }
    }
    return NULL;
}
