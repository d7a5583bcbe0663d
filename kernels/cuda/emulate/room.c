#include "kernels/cuda/emulate/room.h"

#include <stdio.h>
#include <string.h>

enum { GUARD_BYTE = 0xfe, NAN_BYTE = 0xff };

void hc_room_open(struct hc_room *room, size_t bytes)
{
    room->bytes = bytes;
    memset(room->memory, GUARD_BYTE, HC_ROOM_GUARD);
    memset(room->memory + HC_ROOM_GUARD, NAN_BYTE, bytes);
    memset(room->memory + HC_ROOM_GUARD + bytes, GUARD_BYTE, HC_ROOM_GUARD);
}

const char *hc_room_wrong(const struct hc_room *room, char text[96])
{
    const unsigned char *after = room->memory + HC_ROOM_GUARD + room->bytes;
    for (size_t i = 0; i < HC_ROOM_GUARD; i++) {
        if (room->memory[i] != GUARD_BYTE) {
            (void)snprintf(text, 96, "wrote %zu bytes before its shared memory", HC_ROOM_GUARD - i);
            return text;
        }
        if (after[i] != GUARD_BYTE) {
            (void)snprintf(text, 96, "wrote byte %zu of its %zu bytes of shared memory",
                           room->bytes + i, room->bytes);
            return text;
        }
    }
    return NULL;
}
