#include "train/run/tensor_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room grows at powers of two. */
static void *grown(void *rows, int count, size_t bytes)
{
    bool full = (count & (count - 1)) == 0;
    return full ? realloc(rows, 2 * ((size_t)count + 1) * bytes) : rows;
}

static void lack(struct hc_tensor_list *list)
{
    list->status = hc_fail(HC_NO_MEMORY, "no memory for the tensors of a file");
}

static char *joined(const char *prefix, const char *name)
{
    size_t bytes = strlen(prefix) + strlen(name) + 1;
    char *text = malloc(bytes);
    if (text)
        (void)snprintf(text, bytes, "%s%s", prefix, name);
    return text;
}

/* Takes over `data`, which may be NULL for lack of memory. */
static void append_tensor(struct hc_tensor_list *list, const char *prefix, const char *name,
                          const struct hc_tensor *t, void *data)
{
    struct hc_named_tensor *rows = grown(list->tensors, list->count, sizeof *rows);
    char *text = joined(prefix, name);
    if (rows)
        list->tensors = rows;
    if (!rows || !text || !data) {
        free(text);
        free(data);
        lack(list);
        return;
    }
    rows[list->count] = (struct hc_named_tensor){.name = text, .tensor = *t};
    rows[list->count++].tensor.data = data;
}

static void *memory(const struct hc_tensor *t)
{
    size_t bytes = hc_tensor_bytes(t);
    return malloc(bytes ? bytes : 1);
}

struct hc_tensor hc_torch_shape(struct hc_tensor t)
{
    if (t.rank == 4) {
        int64_t channels = t.shape[3];
        t.shape[3] = t.shape[2];
        t.shape[2] = t.shape[1];
        t.shape[1] = channels;
    }
    return t;
}

void hc_tensor_list_add(struct hc_tensor_list *list, const struct hc_device *device,
                        const char *prefix, const char *name, const struct hc_tensor *t)
{
    struct hc_tensor here = *t;
    struct hc_tensor file = hc_torch_shape(*t);
    if (list->status != HC_OK || !t->data)
        return;
    here.data = memory(t);
    if (here.data)
        list->status =
            device->backend->download(device->queue, here.data, t->data, hc_tensor_bytes(t));
    if (here.data && list->status == HC_OK && t->rank == 4) {
        file.data = memory(t);
        if (file.data)
            hc_tensor_to_nchw(&here, &file);
        free(here.data);
        here.data = file.data;
    }
    if (list->status == HC_OK)
        append_tensor(list, prefix, name, &file, here.data);
    else
        free(here.data);
}

enum hc_status hc_torch_upload(const struct hc_device *device, const struct hc_tensor *from,
                               const struct hc_tensor *to)
{
    struct hc_tensor here = *to;
    here.data = to->rank == 4 ? memory(to) : from->data;
    if (!here.data)
        return hc_fail(HC_NO_MEMORY, "no memory for a tensor of a file");
    if (to->rank == 4)
        hc_tensor_to_nhwc(from, &here);
    enum hc_status status =
        device->backend->upload(device->queue, to->data, here.data, hc_tensor_bytes(to));
    if (to->rank == 4)
        free(here.data);
    return status;
}

void hc_tensor_list_copy(struct hc_tensor_list *list, const char *prefix, const char *name,
                         const struct hc_tensor *t)
{
    if (list->status != HC_OK)
        return;
    void *data = memory(t);
    if (data)
        memcpy(data, t->data, hc_tensor_bytes(t));
    append_tensor(list, prefix, name, t, data);
}

void hc_tensor_list_text(struct hc_tensor_list *list, const char *key, const char *format, ...)
{
    char value[4096];
    va_list arguments;
    if (list->status != HC_OK)
        return;
    va_start(arguments, format);
    (void)vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    struct hc_metadata *rows = grown(list->metadata, list->texts, sizeof *rows);
    char *texts[2] = {joined(key, ""), joined(value, "")};
    if (rows)
        list->metadata = rows;
    if (!rows || !texts[0] || !texts[1]) {
        free(texts[0]);
        free(texts[1]);
        lack(list);
        return;
    }
    rows[list->texts++] = (struct hc_metadata){texts[0], texts[1]};
}

enum hc_status hc_tensor_list_write(const struct hc_tensor_list *list, const char *path)
{
    return list->status == HC_OK
               ? hc_safetensors_write(path, list->tensors, list->count, list->metadata, list->texts)
               : list->status;
}

void hc_tensor_list_end(struct hc_tensor_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free((void *)list->tensors[i].name);
        free(list->tensors[i].tensor.data);
    }
    for (int i = 0; i < list->texts; i++) {
        free((void *)list->metadata[i].key);
        free((void *)list->metadata[i].value);
    }
    free(list->tensors);
    free(list->metadata);
    *list = (struct hc_tensor_list){0};
}
