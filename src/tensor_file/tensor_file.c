/* What both kinds of files share: opening, memory, and the bytes of elements. */
#include "tensor_file/tensor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor_file/inner.h"

/* The blocks of memory of a file, the last one first. */
struct hc_tensor_blocks {
    struct hc_tensor_blocks *before;
    void *block;
};

enum hc_status hc_tensor_refuse(const struct hc_tensor_source *source, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return hc_fail(HC_INVALID, "%s: %s", source->path, text);
}

void *hc_tensor_memory(struct hc_tensor_source *source, size_t bytes)
{
    struct hc_tensor_blocks *owner = malloc(sizeof *owner);
    size_t whole = bytes > SIZE_MAX - 64 ? 0 : (bytes + 64) / 64 * 64;
    void *block = owner && whole > 0 ? aligned_alloc(64, whole) : NULL;
    if (!block) {
        free(owner);
        (void)hc_fail(HC_NO_MEMORY, "%s: no memory for %zu bytes", source->path, bytes);
        return NULL;
    }
    *owner = (struct hc_tensor_blocks){source->file->owned, block};
    source->file->owned = owner;
    return block;
}

const char *hc_tensor_text(struct hc_tensor_source *source, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = hc_tensor_memory(source, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

enum hc_status hc_tensor_fetch(const struct hc_tensor_source *source, uint64_t at, void *to,
                               size_t bytes)
{
    char *next = to;
    while (bytes > 0) {
        ssize_t n = pread(source->handle, next, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return hc_fail(HC_IO, "cannot read %s: %s", source->path,
                           n < 0 ? strerror(errno) : "it was cut while it was read");
        next += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return HC_OK;
}

bool hc_tensor_elements(const int64_t *shape, int rank, int64_t *count)
{
    int64_t n = 1;
    bool empty = false;
    for (int d = 0; d < rank; d++) {
        if (shape[d] < 0 || (shape[d] > 0 && n > INT64_MAX / 8 / shape[d]))
            return false;
        empty = empty || shape[d] == 0;
        n *= shape[d] > 0 ? shape[d] : 1;
    }
    *count = empty ? 0 : n;
    return true;
}

static void turn(unsigned char *data, int64_t count, int bytes)
{
    for (int64_t i = 0; i < count; i++, data += bytes)
        for (int low = 0, high = bytes - 1; low < high; low++, high--) {
            unsigned char byte = data[low];
            data[low] = data[high];
            data[high] = byte;
        }
}

/* Writes the i32 in place of the i64, from the first to the last; false if one does not fit. */
static bool narrow(void *data, int64_t count)
{
    unsigned char *bytes = data;
    for (int64_t i = 0; i < count; i++) {
        int64_t wide;
        memcpy(&wide, bytes + i * 8, sizeof wide);
        if (wide < INT32_MIN || wide > INT32_MAX)
            return false;
        int32_t fits = (int32_t)wide;
        memcpy(bytes + i * 4, &fits, sizeof fits);
    }
    return true;
}

static bool are_bools(const unsigned char *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (data[i] > 1)
            return false;
    return true;
}

enum hc_status hc_tensor_elements_read(struct hc_tensor_source *source,
                                       const struct hc_stored_type *type, uint64_t at, bool turned,
                                       struct hc_tensor *tensor, const char **unread)
{
    int64_t count = hc_tensor_count(tensor);
    size_t bytes = (size_t)count * (size_t)type->bytes;
    void *data = hc_tensor_memory(source, bytes);
    if (!data)
        return HC_NO_MEMORY;
    enum hc_status status = hc_tensor_fetch(source, at, data, bytes);
    if (status != HC_OK)
        return status;
    if (turned)
        turn(data, count, type->bytes);
    if (type->stored == HC_STORED_I64 && !narrow(data, count))
        *unread = "it has an i64 beyond i32";
    else if (type->stored == HC_STORED_BOOL && !are_bools(data, count))
        *unread = "it has a bool that is neither 0 nor 1";
    else
        *tensor = (struct hc_tensor){
            type->format,
            tensor->rank,
            {tensor->shape[0], tensor->shape[1], tensor->shape[2], tensor->shape[3]},
            data};
    return HC_OK;
}

/* Tells the kind by the first bytes. What people give by mistake is named. */
static enum hc_status read_kind(struct hc_tensor_source *source)
{
    unsigned char first[10] = {0};
    size_t known = source->size < sizeof first ? (size_t)source->size : sizeof first;
    enum hc_status status = hc_tensor_fetch(source, 0, first, known);
    if (status != HC_OK)
        return status;
    if (known >= 6 && memcmp(first, "\x93NUMPY", 6) == 0)
        return hc_npy_read(source);
    if (known >= 4 && memcmp(first, "PK\3\4", 4) == 0)
        return hc_tensor_refuse(source, "it is a zip archive (.npz or .pt); save its tensors as "
                                        "safetensors or with numpy.save");
    if (known >= 2 && first[0] == 0x80 && first[1] <= 5)
        return hc_tensor_refuse(source, "it is a pickle, which is never loaded; save its tensors "
                                        "as safetensors or with numpy.save");
    if (known >= 9 && first[8] == '{')
        return hc_safetensors_read(source);
    return hc_tensor_refuse(source, "it is neither .npy nor safetensors");
}

enum hc_status hc_tensor_file_read(struct hc_tensor_file *file, const char *path)
{
    *file = (struct hc_tensor_file){0};
    struct hc_tensor_source source = {.path = path, .file = file};
    struct stat is;
    source.handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (source.handle < 0)
        return hc_fail(HC_IO, "cannot read %s: %s", path, strerror(errno));
    enum hc_status status = HC_OK;
    if (fstat(source.handle, &is) != 0)
        status = hc_fail(HC_IO, "cannot read %s: %s", path, strerror(errno));
    else if (!S_ISREG(is.st_mode))
        status = hc_fail(HC_IO, "cannot read %s: it is no regular file", path);
    source.size = status == HC_OK ? (uint64_t)is.st_size : 0;
    if (status == HC_OK)
        status = read_kind(&source);
    (void)close(source.handle);
    return status;
}

void hc_tensor_file_close(struct hc_tensor_file *file)
{
    while (file->owned) {
        struct hc_tensor_blocks *owner = file->owned;
        file->owned = owner->before;
        free(owner->block);
        free(owner);
    }
    *file = (struct hc_tensor_file){0};
}

const struct hc_tensor *hc_tensor_file_find(const struct hc_tensor_file *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return file->tensors[i].unread ? NULL : &file->tensors[i].tensor;
    return NULL;
}

const char *hc_tensor_file_metadata(const struct hc_tensor_file *file, const char *key)
{
    for (int i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}
