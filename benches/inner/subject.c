#include "benches/inner/subject.h"

#include <assert.h>
#include <stdlib.h>

#include "op/descriptor.h"

enum { PATTERN = 1 << 14 }; /* elements that are made, and then repeated */

/* Element i of an input, in the range that the op expects of it. */
static double value(const struct hc_call *call, int slot, int64_t i)
{
    static const double hyper[HC_HYPER_COUNT] = {
        [HC_HYPER_LR] = 1e-3, [HC_HYPER_BETA1] = 0.9, [HC_HYPER_STEP] = 1};
    enum hc_op_class class_ = hc_ops[call->op].class_;
    double x = hc_random_normal(1, (uint64_t)slot, (uint64_t)i);
    if (hc_slot(call->op, slot)->values == HC_VALUES_LABELS)
        return (double)(hc_random(1, (uint64_t)slot, (uint64_t)i) % 10);
    if (class_ == HC_CLASS_OPTIMIZER && slot == hc_optimizer_slots(call->op)->hyper) {
        assert(i >= 0 && i < HC_HYPER_COUNT);
        return hyper[i];
    }
    if (call->op == HC_OP_unscale && slot != HC_UNSCALE_X)
        return slot == HC_UNSCALE_SCALE ? 1024 : 0;
    bool is_square = (class_ == HC_CLASS_OPTIMIZER && slot == hc_optimizer_slots(call->op)->v) ||
                     (class_ == HC_CLASS_BATCH_NORM && slot >= HC_BN_MEAN);
    return is_square ? x * x : x;
}

static enum hc_status fill(struct hc_subject *s, struct hc_tensor *t, int slot)
{
    const struct hc_backend *backend = s->device.backend;
    struct hc_tensor pattern = hc_tensor1(t->format, PATTERN, NULL);
    size_t bytes = hc_tensor_bytes(t);
    size_t part = hc_tensor_bytes(&pattern);
    enum hc_status status = HC_OK;
    t->data = backend->allocate(s->device.queue, bytes);
    pattern.data = calloc(1, part);
    if (!t->data || !pattern.data)
        status = hc_fail(HC_NO_MEMORY, "%s: no memory for %zu bytes", backend->name, bytes);
    for (int64_t i = 0; status == HC_OK && slot >= 0 && i < PATTERN && i < hc_tensor_count(t); i++)
        hc_tensor_set(&pattern, i, value(&s->call, slot, i));
    for (size_t at = 0; status == HC_OK && at < bytes; at += part)
        status = backend->upload(s->device.queue, (char *)t->data + at, pattern.data,
                                 bytes - at < part ? bytes - at : part);
    free(pattern.data);
    return status;
}

enum hc_status hc_subject_open(struct hc_subject *subject, const struct hc_backend *backend,
                               const struct hc_call *shapes, int times)
{
    const struct hc_op_info *op = &hc_ops[shapes->op];
    *subject = (struct hc_subject){.device.backend = backend, .call = *shapes, .times = times};
    if (!backend->kernel[shapes->op])
        return hc_fail(HC_UNSUPPORTED, "%s has no %s", backend->name, op->name);
    enum hc_status status = hc_backend_open(backend, &subject->device.queue, 0);
    for (int i = 0; status == HC_OK && i < op->inputs; i++)
        if (subject->call.in[i].rank)
            status = fill(subject, &subject->call.in[i], i);
    for (int i = 0; status == HC_OK && i < op->outputs; i++)
        if (subject->call.out[i].rank)
            status = fill(subject, &subject->call.out[i], -1);
    return status;
}

void hc_subject_close(struct hc_subject *subject)
{
    struct hc_device *device = &subject->device;
    if (!device->queue)
        return;
    for (int i = 0; i < HC_MAX_IN; i++)
        if (subject->call.in[i].data)
            device->backend->release(device->queue, subject->call.in[i].data);
    for (int i = 0; i < HC_MAX_OUT; i++)
        if (subject->call.out[i].data)
            device->backend->release(device->queue, subject->call.out[i].data);
    hc_device_end(device);
    device->backend->close(device->queue);
    device->queue = NULL;
}

enum hc_status hc_subject_run(struct hc_subject *subject)
{
    char byte;
    enum hc_status status = HC_OK;
    for (int i = 0; status == HC_OK && i < subject->times; i++)
        status = hc_device_run(&subject->device, &subject->call);
    if (status == HC_OK && !subject->device.backend->host_memory)
        status = subject->device.backend->download(subject->device.queue, &byte,
                                                   subject->call.out[HC_FIRST].data, 1);
    return status;
}
