#include "train/run/checkpoint.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "op/output.h"
#include "train/run/checkpoint_format.h"

uint64_t hc_fnv(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void store_little(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

/* A file being written, and the hash of what it holds so far. */
struct writer {
    struct hc_output file;
    uint64_t hash;
};

static bool emit(struct writer *writer, const void *data, size_t bytes)
{
    writer->hash = hc_fnv(writer->hash, data, bytes);
    return hc_output_append(&writer->file, data, bytes);
}

static bool emit_number(struct writer *writer, uint64_t value, int bytes)
{
    unsigned char little[8];
    store_little(little, value, bytes);
    return emit(writer, little, (size_t)bytes);
}

static bool emit_text(struct writer *writer, const char *text)
{
    return emit_number(writer, strlen(text), 4) && emit(writer, text, strlen(text));
}

static bool emit_all(struct writer *writer, const char *identity, const struct hc_blob *blobs,
                     int count)
{
    uint64_t length = HC_CHECKPOINT_FIXED + 4 + strlen(identity) + HC_CHECKPOINT_CHECKSUM;
    for (int i = 0; i < count; i++)
        length += 4 + strlen(blobs[i].name) + 8 + blobs[i].bytes;
    bool good = emit(writer, HC_CHECKPOINT_MAGIC, HC_CHECKPOINT_MAGIC_BYTES) &&
                emit_number(writer, HC_CHECKPOINT_VERSION, 4) &&
                emit_number(writer, (uint64_t)count, 4) && emit_number(writer, length, 8) &&
                emit_text(writer, identity);
    for (int i = 0; i < count && good; i++)
        good = emit_text(writer, blobs[i].name) && emit_number(writer, blobs[i].bytes, 8) &&
               emit(writer, blobs[i].data, blobs[i].bytes);
    return good && emit_number(writer, writer->hash, 8);
}

enum hc_status hc_checkpoint_write(const char *path, const char *identity,
                                   const struct hc_blob *blobs, int count)
{
    struct writer writer = {.hash = HC_FNV_START};
    enum hc_status status = hc_output_open(&writer.file, path);
    return status == HC_OK
               ? hc_output_close(&writer.file, emit_all(&writer, identity, blobs, count))
               : status;
}
