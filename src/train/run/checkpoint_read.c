#include "train/run/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "train/run/checkpoint_format.h"

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static enum hc_status read_all(const char *path, unsigned char **bytes, size_t *length)
{
    struct stat facts;
    FILE *stream = fopen(path, "rb");
    *bytes = NULL;
    *length = 0;
    if (stream == NULL)
        return hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    enum hc_status status = HC_OK;
    if (fstat(fileno(stream), &facts) != 0)
        status = hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        status = hc_fail(HC_INVALID, "%s: not a file", path);
    if (status == HC_OK) {
        *length = (size_t)facts.st_size;
        *bytes = malloc(*length + 1);
        if (*bytes == NULL)
            status = hc_fail(HC_NO_MEMORY, "no memory for %s", path);
        else if (fread(*bytes, 1, *length, stream) != *length)
            status =
                hc_fail(HC_IO, "%s: %s", path, ferror(stream) ? strerror(errno) : "ends too early");
    }
    (void)fclose(stream);
    return status;
}

static enum hc_status check_sound(const char *path, const unsigned char *bytes, size_t length)
{
    if (length < HC_CHECKPOINT_MAGIC_BYTES ||
        memcmp(bytes, HC_CHECKPOINT_MAGIC, HC_CHECKPOINT_MAGIC_BYTES) != 0)
        return hc_fail(HC_INVALID, "%s: not a checkpoint of halfcheck", path);
    if (length < HC_CHECKPOINT_FIXED + 4 + HC_CHECKPOINT_CHECKSUM)
        return hc_fail(HC_INVALID, "%s: cut off after %zu bytes", path, length);
    if (get(bytes + 8, 4) != HC_CHECKPOINT_VERSION)
        return hc_fail(HC_INVALID, "%s: format %llu, this program reads format %d", path,
                       (unsigned long long)get(bytes + 8, 4), HC_CHECKPOINT_VERSION);
    if (get(bytes + 16, 8) != length)
        return hc_fail(HC_INVALID, "%s: %zu bytes where its header says %llu: cut or changed", path,
                       length, (unsigned long long)get(bytes + 16, 8));
    if (get(bytes + length - HC_CHECKPOINT_CHECKSUM, 8) !=
        hc_fnv(HC_FNV_START, bytes, length - HC_CHECKPOINT_CHECKSUM))
        return hc_fail(HC_INVALID, "%s: damaged, its checksum does not match", path);
    return HC_OK;
}

/* The rest of a sound file. */
struct cursor {
    const unsigned char *at;
    size_t left;
};

static const unsigned char *take(struct cursor *cursor, uint64_t bytes)
{
    const unsigned char *at = cursor->at;
    if (bytes > cursor->left)
        return NULL;
    cursor->at += bytes;
    cursor->left -= (size_t)bytes;
    return at;
}

/* A length of `bytes` bytes and what follows it. */
static const unsigned char *take_sized(struct cursor *cursor, int bytes, size_t *size)
{
    const unsigned char *field = take(cursor, (uint64_t)bytes);
    *size = field == NULL ? 0 : (size_t)get(field, bytes);
    return field == NULL ? NULL : take(cursor, *size);
}

/* Names the first word in which the identities differ. */
static enum hc_status check_identity(const char *path, const char *got, size_t length,
                                     const char *want)
{
    const char *end = got + length;
    while (got < end || *want != '\0') {
        const char *space = got < end ? memchr(got, ' ', (size_t)(end - got)) : NULL;
        int got_word = (int)((space == NULL ? end : space) - got);
        int want_word = (int)strcspn(want, " ");
        if (got_word == 0)
            return hc_fail(HC_INVALID, "%s: the checkpoint of another run: it has no %.*s", path,
                           want_word, want);
        if (want_word == 0)
            return hc_fail(HC_INVALID,
                           "%s: the checkpoint of another run: its %.*s, which this run has not",
                           path, got_word, got);
        if (got_word != want_word || memcmp(got, want, (size_t)want_word) != 0)
            return hc_fail(HC_INVALID, "%s: the checkpoint of another run: its %.*s, not %.*s",
                           path, got_word, got, want_word, want);
        got += got_word + (space != NULL);
        want += want_word + (want[want_word] == ' ');
    }
    return HC_OK;
}

/* Names the first blob that the file lacks. */
static enum hc_status check_complete(const char *path, const struct hc_blob *blobs, int count,
                                     const unsigned char *const *content)
{
    const char *first = NULL;
    int missing = 0;
    for (int i = 0; i < count; i++)
        if (content[i] == NULL && missing++ == 0)
            first = blobs[i].name;
    if (missing == 0)
        return HC_OK;
    if (missing == 1)
        return hc_fail(HC_INVALID, "%s: lacks \"%s\" of this run's state", path, first);
    return hc_fail(HC_INVALID, "%s: lacks \"%s\" of this run's state, and %d more", path, first,
                   missing - 1);
}

/* Points content[i] at what the file holds for blobs[i]. */
static enum hc_status find_blobs(const char *path, struct cursor *cursor, uint64_t held,
                                 const struct hc_blob *blobs, int count,
                                 const unsigned char **content)
{
    for (uint64_t n = 0; n < held; n++) {
        size_t name_length;
        size_t bytes;
        const char *name = (const char *)take_sized(cursor, 4, &name_length);
        const unsigned char *data = take_sized(cursor, 8, &bytes);
        if (name == NULL || data == NULL)
            return hc_fail(HC_INVALID, "%s: damaged, its parts do not fit", path);
        int i = 0;
        while (i < count && (strlen(blobs[i].name) != name_length ||
                             memcmp(blobs[i].name, name, name_length) != 0))
            i++;
        if (i == count || content[i] != NULL)
            return hc_fail(HC_INVALID, "%s: holds \"%.*s\", which this run has not", path,
                           name_length < 60 ? (int)name_length : 60, name);
        if (blobs[i].bytes != bytes)
            return hc_fail(HC_INVALID, "%s: %zu bytes of \"%s\" where this run has %zu", path,
                           bytes, blobs[i].name, blobs[i].bytes);
        content[i] = data;
    }
    return check_complete(path, blobs, count, content);
}

/* Takes a whole file, and checks everything before it copies anything. */
static enum hc_status unpack(const char *path, const char *identity, const unsigned char *bytes,
                             size_t length, struct hc_blob *blobs, int count,
                             const unsigned char **content)
{
    size_t size;
    enum hc_status status = check_sound(path, bytes, length);
    if (status != HC_OK)
        return status;
    struct cursor cursor = {.at = bytes + HC_CHECKPOINT_FIXED,
                            .left = length - HC_CHECKPOINT_FIXED - HC_CHECKPOINT_CHECKSUM};
    const char *held = (const char *)take_sized(&cursor, 4, &size);
    if (held == NULL)
        return hc_fail(HC_INVALID, "%s: damaged, its parts do not fit", path);
    status = check_identity(path, held, size, identity);
    if (status == HC_OK)
        status = find_blobs(path, &cursor, get(bytes + 12, 4), blobs, count, content);
    for (int i = 0; i < count && status == HC_OK; i++) {
        assert(content[i] != NULL);
        memcpy(blobs[i].data, content[i], blobs[i].bytes);
    }
    return status;
}

enum hc_status hc_checkpoint_read(const char *path, const char *identity, struct hc_blob *blobs,
                                  int count)
{
    unsigned char *bytes;
    size_t length;
    enum hc_status status = read_all(path, &bytes, &length);
    const unsigned char **content = calloc((size_t)count + 1, sizeof *content);
    if (status == HC_OK && content == NULL)
        status = hc_fail(HC_NO_MEMORY, "no memory for %s", path);
    if (status == HC_OK && bytes != NULL && content != NULL)
        status = unpack(path, identity, bytes, length, blobs, count, content);
    free(bytes);
    free((void *)content);
    return status;
}
