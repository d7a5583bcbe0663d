#include "train/run/checkpoint_contents.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "train/run/checkpoint_format.h"

static uint64_t number(const unsigned char **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t) * (*at)++ << 8 * i;
    return value;
}

static bool text(const unsigned char **at, char *to, size_t most)
{
    size_t length = number(at, 4);
    if (length >= most)
        return false;
    memcpy(to, *at, length);
    to[length] = '\0';
    *at += length;
    return true;
}

static bool take_apart(struct hc_checkpoint_contents *parts)
{
    const unsigned char *at = parts->bytes + HC_CHECKPOINT_MAGIC_BYTES + 4;
    parts->count = (int)number(&at, 4);
    at += 8;
    if (parts->count > HC_CONTENTS_BLOBS || !text(&at, parts->identity, sizeof parts->identity))
        return false;
    for (int i = 0; i < parts->count; i++) {
        if (!text(&at, parts->name[i], sizeof parts->name[i]))
            return false;
        size_t bytes = number(&at, 8);
        parts->blob[i] =
            (struct hc_blob){parts->name[i], parts->bytes + (at - parts->bytes), bytes};
        at += bytes;
    }
    return true;
}

enum hc_status hc_checkpoint_unpack(const char *path, struct hc_checkpoint_contents *parts)
{
    FILE *stream = fopen(path, "rb");
    parts->size = stream ? fread(parts->bytes, 1, HC_CONTENTS_BYTES, stream) : 0;
    if (stream)
        (void)fclose(stream);
    if (parts->size > HC_CHECKPOINT_FIXED && parts->size < HC_CONTENTS_BYTES && take_apart(parts))
        return HC_OK;
    return hc_fail(HC_IO, "%s: cannot be read", path);
}
