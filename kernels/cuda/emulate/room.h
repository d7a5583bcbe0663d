/* A block's shared memory, between guards. */
#ifndef HC_KERNELS_CUDA_EMULATE_ROOM_H
#define HC_KERNELS_CUDA_EMULATE_ROOM_H

#include <stddef.h>

#include "kernels/cuda/launch.h"

enum { HC_ROOM_GUARD = 1024 };

struct hc_room {
    size_t bytes;
    _Alignas(16) unsigned char memory[HC_ROOM_GUARD + HC_MAX_SHARED + HC_ROOM_GUARD];
};

/* Fills `bytes` of it with NaN, and the guards. */
void hc_room_open(struct hc_room *room, size_t bytes);

/* NULL, or the text of what was written beside it. */
const char *hc_room_wrong(const struct hc_room *room, char text[96]);

#endif
