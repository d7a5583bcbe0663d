#include "train/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/checkpoint_format.h"

enum { MAX_PATH = 4096 };

uint64_t hc_fnv(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

/* A file being written, and the hash of what it holds so far. */
struct writer {
    int file;
    uint64_t hash;
};

static bool emit(struct writer *writer, const void *data, size_t bytes)
{
    const char *at = data;
    writer->hash = hc_fnv(writer->hash, data, bytes);
    while (bytes > 0) {
        ssize_t written = write(writer->file, at, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

static bool emit_number(struct writer *writer, uint64_t value, int bytes)
{
    unsigned char little[8];
    put(little, value, bytes);
    return emit(writer, little, (size_t)bytes);
}

static bool emit_text(struct writer *writer, const char *text)
{
    return emit_number(writer, strlen(text), 4) && emit(writer, text, strlen(text));
}

static bool emit_all(int file, const char *identity, const struct hc_blob *blobs, int count)
{
    struct writer writer = {.file = file, .hash = HC_FNV_START};
    uint64_t length = HC_CHECKPOINT_FIXED + 4 + strlen(identity) + HC_CHECKPOINT_CHECKSUM;
    for (int i = 0; i < count; i++)
        length += 4 + strlen(blobs[i].name) + 8 + blobs[i].bytes;
    bool good = emit(&writer, HC_CHECKPOINT_MAGIC, HC_CHECKPOINT_MAGIC_BYTES) &&
                emit_number(&writer, HC_CHECKPOINT_VERSION, 4) &&
                emit_number(&writer, (uint64_t)count, 4) && emit_number(&writer, length, 8) &&
                emit_text(&writer, identity);
    for (int i = 0; i < count && good; i++)
        good = emit_text(&writer, blobs[i].name) && emit_number(&writer, blobs[i].bytes, 8) &&
               emit(&writer, blobs[i].data, blobs[i].bytes);
    return good && emit_number(&writer, writer.hash, 8) && fsync(file) == 0;
}

/* Makes the rename itself last. */
static bool sync_folder_of(const char *path)
{
    char folder[MAX_PATH];
    const char *slash = strrchr(path, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path + 1),
                   slash == NULL ? "." : path);
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return false;
    bool good = fsync(handle) == 0;
    (void)close(handle);
    return good;
}

enum hc_status hc_checkpoint_write(const char *path, const char *identity,
                                   const struct hc_blob *blobs, int count)
{
    char beside[MAX_PATH];
    int length = snprintf(beside, sizeof beside, "%s.new", path);
    if (length < 0 || (size_t)length >= sizeof beside)
        return hc_fail(HC_INVALID, "the name of the checkpoint is too long");
    int file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return hc_fail(HC_IO, "%s: %s", beside, strerror(errno));
    bool good = emit_all(file, identity, blobs, count);
    int error = errno;
    if (close(file) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && (rename(beside, path) != 0 || !sync_folder_of(path))) {
        good = false;
        error = errno;
    }
    if (good)
        return HC_OK;
    (void)unlink(beside);
    return hc_fail(HC_IO, "%s: %s", path, strerror(error));
}
