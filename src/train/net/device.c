#include "train/net/device.h"

#include <stdlib.h>

#include "op/digest.h"

void *hc_device_memory_unset(struct hc_device *device, size_t bytes)
{
    void *memory = device->backend->allocate(device->queue, bytes ? bytes : 1);
    if (!memory)
        return NULL;
    device->bytes += (int64_t)bytes;
    if (device->peak < device->bytes)
        device->peak = device->bytes;
    return memory;
}

void hc_device_release(struct hc_device *device, void *memory, size_t bytes)
{
    if (!memory)
        return;
    device->backend->release(device->queue, memory);
    device->bytes -= (int64_t)bytes;
}

void hc_device_end(struct hc_device *device)
{
    for (int i = 0; i < device->kept_count; i++)
        hc_device_release(device, device->kept[i], device->kept_bytes[i]);
    device->kept_count = 0;
    hc_device_release(device, device->scratch, device->scratch_bytes);
    device->scratch = NULL;
    device->scratch_bytes = 0;
}

static enum hc_status reserve(struct hc_device *device, size_t bytes)
{
    if (bytes <= device->scratch_bytes)
        return HC_OK;
    if (device->held && device->scratch) {
        if (device->kept_count == HC_SCRATCH_KEPT)
            return hc_fail(HC_NO_MEMORY, "%s: scratch grew %d times under a graph",
                           device->backend->name, HC_SCRATCH_KEPT + 1);
        device->kept_bytes[device->kept_count] = device->scratch_bytes;
        device->kept[device->kept_count++] = device->scratch;
    } else {
        hc_device_end(device);
    }
    device->scratch_bytes = 0;
    device->scratch = hc_device_memory_unset(device, bytes);
    if (!device->scratch)
        return HC_NO_MEMORY;
    device->scratch_bytes = bytes;
    return HC_OK;
}

enum hc_status hc_device_run(struct hc_device *device, struct hc_call *call)
{
    const struct hc_backend *backend = device->backend;
    enum hc_status status = hc_backend_has(backend, call);
    if (status == HC_OK)
        status = hc_call_check(call);
    if (status == HC_OK && backend->scratch)
        status = reserve(device, backend->scratch(device->queue, call));
    if (status != HC_OK)
        return status;
    call->scratch = device->scratch;
    if (device->observe)
        device->observe(call, device->context);
    uint64_t inputs = device->digest ? hc_digest_inputs(call) : 0;
    status = device->override ? device->override(device, call, device->override_context)
                              : backend->kernel[call->op](device->queue, call);
    if (device->digest && status == HC_OK)
        *device->digest += hc_digest_outputs(inputs, call);
    return status;
}

/* Where the backend clears nothing, zeros are uploaded in blocks of this size. */
enum { ZEROS = 1 << 20 };

static enum hc_status upload_zeros(struct hc_device *device, unsigned char *to, size_t bytes)
{
    size_t block = bytes < ZEROS ? bytes : ZEROS;
    enum hc_status status = HC_OK;
    void *zeros = calloc(1, block ? block : 1);
    if (!zeros)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu zeros", block);
    for (size_t done = 0; done < bytes && status == HC_OK; done += block) {
        size_t part = bytes - done < block ? bytes - done : block;
        status = device->backend->upload(device->queue, to + done, zeros, part);
    }
    free(zeros);
    return status;
}

void *hc_device_memory(struct hc_device *device, size_t bytes)
{
    const struct hc_backend *backend = device->backend;
    void *memory = hc_device_memory_unset(device, bytes);
    if (!memory)
        return NULL;
    enum hc_status status = backend->clear ? backend->clear(device->queue, memory, bytes)
                                           : upload_zeros(device, memory, bytes);
    if (status == HC_OK)
        return memory;
    hc_device_release(device, memory, bytes);
    return NULL;
}

enum hc_status hc_device_cast(struct hc_device *device, struct hc_tensor from, struct hc_tensor to)
{
    struct hc_call call = {.op = HC_OP_cast,
                           .in = {[HC_X] = from},
                           .out = {[HC_OUT] = to},
                           .params.cast = {HC_NEAREST}};
    return hc_device_run(device, &call);
}
