#include "train/net/parameter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hc_storage *make_storage_of(struct hc_device *device, enum hc_format format,
                                          int64_t count)
{
    struct hc_storage *storage = calloc(1, sizeof *storage);
    if (!storage) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for a storage");
        return NULL;
    }
    *storage =
        (struct hc_storage){.device = device, .references = 1, .format = format, .count = count};
    return storage;
}

struct hc_storage *hc_storage_new(struct hc_device *device, enum hc_format format, int64_t count)
{
    struct hc_storage *storage = make_storage_of(device, format, count);
    if (!storage)
        return NULL;
    storage->data = hc_device_memory(device, (size_t)count * (size_t)hc_formats[format].bytes);
    if (!storage->data) {
        free(storage);
        return NULL;
    }
    return storage;
}

struct hc_storage *hc_storage_view(struct hc_storage *arena, int64_t offset, int64_t count)
{
    assert(!arena->arena && offset >= 0 && count >= 0 && offset + count <= arena->count);
    struct hc_storage *storage = make_storage_of(arena->device, arena->format, count);
    if (!storage)
        return NULL;
    storage->arena = hc_storage_hold(arena);
    storage->data =
        (unsigned char *)arena->data + (size_t)offset * (size_t)hc_formats[arena->format].bytes;
    return storage;
}

struct hc_storage *hc_storage_hold(struct hc_storage *storage)
{
    storage->references++;
    return storage;
}

void hc_storage_drop(struct hc_storage *storage)
{
    if (!storage || --storage->references > 0)
        return;
    if (storage->arena)
        hc_storage_drop(storage->arena);
    else
        hc_device_release(storage->device, storage->data,
                          (size_t)storage->count * (size_t)hc_formats[storage->format].bytes);
    free(storage);
}

struct hc_tensor hc_storage_tensor(const struct hc_storage *storage)
{
    return hc_tensor1(storage->format, storage->count, storage->data);
}

enum hc_status hc_storage_read(const struct hc_storage *storage, void *to)
{
    struct hc_tensor t = hc_storage_tensor(storage);
    const struct hc_device *device = storage->device;
    return device->backend->download(device->queue, to, t.data, hc_tensor_bytes(&t));
}

enum hc_status hc_storage_write(const struct hc_storage *storage, const void *from)
{
    struct hc_tensor t = hc_storage_tensor(storage);
    const struct hc_device *device = storage->device;
    return device->backend->upload(device->queue, t.data, from, hc_tensor_bytes(&t));
}

enum hc_status hc_parameter_open(struct hc_parameter *parameter, struct hc_device *device,
                                 const char *name, enum hc_role role, const struct hc_tensor *as)
{
    *parameter = (struct hc_parameter){.role = role, .rank = as->rank, .device = device};
    (void)snprintf(parameter->name, sizeof parameter->name, "%s", name);
    memcpy(parameter->shape, as->shape, sizeof parameter->shape);
    parameter->storage = hc_storage_new(device, as->format, hc_tensor_count(as));
    return parameter->storage ? HC_OK : HC_NO_MEMORY;
}

void hc_parameter_close(struct hc_parameter *parameter)
{
    hc_storage_drop(parameter->storage);
    parameter->storage = NULL;
}

int64_t hc_parameter_count(const struct hc_parameter *parameter)
{
    return parameter->storage->count;
}

struct hc_tensor hc_parameter_tensor(const struct hc_parameter *parameter)
{
    struct hc_tensor t = {.format = parameter->storage->format,
                          .rank = parameter->rank,
                          .data = parameter->storage->data};
    memcpy(t.shape, parameter->shape, sizeof t.shape);
    return t;
}

enum hc_status hc_parameter_place(struct hc_parameter *parameter, struct hc_storage *fresh)
{
    if (!fresh)
        return HC_NO_MEMORY;
    enum hc_status status = hc_device_cast(parameter->device, hc_storage_tensor(parameter->storage),
                                           hc_storage_tensor(fresh));
    if (status != HC_OK) {
        hc_storage_drop(fresh);
        return status;
    }
    hc_storage_drop(parameter->storage);
    parameter->storage = fresh;
    return HC_OK;
}

enum hc_status hc_parameter_to(struct hc_parameter *parameter, enum hc_format format)
{
    if (parameter->storage->format == format)
        return HC_OK;
    return hc_parameter_place(parameter,
                              hc_storage_new(parameter->device, format, parameter->storage->count));
}

enum hc_status hc_parameter_flatten(struct hc_parameter *const *parameters, int n,
                                    struct hc_storage **arena)
{
    assert(n > 0);
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        assert(parameters[i]->storage->format == parameters[0]->storage->format);
        total += parameters[i]->storage->count;
    }
    *arena = hc_storage_new(parameters[0]->device, parameters[0]->storage->format, total);
    if (!*arena)
        return HC_NO_MEMORY;
    int64_t offset = 0;
    for (int i = 0; i < n; i++) {
        int64_t count = parameters[i]->storage->count;
        enum hc_status status =
            hc_parameter_place(parameters[i], hc_storage_view(*arena, offset, count));
        if (status != HC_OK) {
            hc_storage_drop(*arena);
            *arena = NULL;
            return status;
        }
        offset += count;
    }
    return HC_OK;
}
