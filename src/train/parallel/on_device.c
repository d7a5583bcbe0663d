#include "train/parallel/on_device.h"

#include <stdlib.h>
#include <string.h>

#include "op/elementwise.h"

/* A gradient, and its sum: where the sum has the gradient's format, they are one. */
struct part {
    struct hc_tensor gradient;
    struct hc_tensor sum;
    struct hc_tensor before; /* fp32 [1]; without data: nothing is divided */
    struct hc_tensor after;
};

struct hc_on_device {
    const struct hc_device_comm_kind *kind;
    struct hc_device_comm *comm;
    struct hc_device *device;
    bool reciprocal;
    int n;
    struct part *part;
    struct hc_device_span *spans;
    void *memory; /* sums, then two divisors of each part, then a flag that nobody reads */
    size_t bytes;
    struct hc_tensor flag;
};

/* What each part needs beside its gradient, and where it lies. */
static enum hc_status lay_out(struct hc_on_device *r, const struct hc_all_reduce *how)
{
    size_t at = 0;
    size_t divisors = (2 * (size_t)r->n + 1) * sizeof(float);
    float *values = calloc(2 * (size_t)r->n + 1, sizeof *values);
    for (int p = 0; p < r->n; p++)
        if (how[p].sum != r->part[p].gradient.format)
            at += ((size_t)hc_tensor_count(&r->part[p].gradient) *
                       (size_t)hc_formats[how[p].sum].bytes +
                   63) /
                  64 * 64;
    r->bytes = at + divisors;
    r->memory = values ? hc_device_memory_unset(r->device, r->bytes) : NULL;
    if (!r->memory) {
        free(values);
        return values ? HC_NO_MEMORY : hc_fail(HC_NO_MEMORY, "no memory to average gradients");
    }
    char *sum = r->memory;
    float *divisor = (float *)(void *)(sum + at);
    for (int p = 0; p < r->n; p++) {
        struct part *part = &r->part[p];
        part->sum = part->gradient;
        if (how[p].sum != part->gradient.format) {
            part->sum.format = how[p].sum;
            part->sum.data = sum;
            sum += (hc_tensor_bytes(&part->sum) + 63) / 64 * 64;
        }
        values[2 * p] = (float)how[p].before;
        values[2 * p + 1] = (float)how[p].after;
        part->before = hc_tensor1(HC_FP32, 1, how[p].before != 1 ? &divisor[2 * p] : NULL);
        part->after = hc_tensor1(HC_FP32, 1, how[p].after != 1 ? &divisor[2 * p + 1] : NULL);
    }
    r->flag = hc_tensor1(HC_FP32, 1, &divisor[2 * r->n]);
    enum hc_status status = r->device->backend->upload(r->device->queue, divisor, values, divisors);
    free(values);
    return status;
}

static enum hc_status fill(struct hc_on_device *r, const struct hc_recipe *recipe, int shards,
                           const struct hc_gradient *gradients)
{
    struct hc_wrapper wrapper = hc_wrapper_of(recipe);
    size_t n = (size_t)r->n + 1;
    struct hc_all_reduce *how = calloc(n, sizeof *how);
    r->part = calloc(n, sizeof *r->part);
    r->spans = calloc(n, sizeof *r->spans);
    r->reciprocal = wrapper.multiplies;
    if (!how || !r->part || !r->spans) {
        free(how);
        return hc_fail(HC_NO_MEMORY, "no memory to average gradients");
    }
    for (int p = 0; p < r->n; p++) {
        const struct hc_gradient *g = &gradients[p];
        how[p] = hc_wrapper_all_reduce(&wrapper, g->held, shards, recipe->sum_loss);
        r->part[p].gradient = hc_tensor1(g->format, g->count, g->data);
    }
    enum hc_status status = lay_out(r, how);
    free(how);
    return status;
}

/* Whether all ranks have the plug-in. Without it on one, none uses it. */
static enum hc_status find(struct hc_comm *comm, const struct hc_device_comm_kind **kind)
{
    double lacking = 0;
    bool lacks = hc_device_comm_load(kind) != HC_OK;
    enum hc_status status = hc_comm_max(comm, lacks ? 1 : 0, &lacking);
    if (status == HC_OK && lacking > 0)
        *kind = NULL;
    return status;
}

enum hc_status hc_on_device_open(struct hc_on_device **made, const struct hc_recipe *recipe,
                                 struct hc_comm *comm, int shards, struct hc_device *device,
                                 const struct hc_gradient *gradients, int n)
{
    const struct hc_device_comm_kind *kind;
    *made = NULL;
    if (hc_wrapper_of(recipe).algorithm != HC_COLLECTIVE_LIBRARY || !device->backend->stream ||
        comm->size == 1 || shards != comm->size)
        return HC_OK;
    enum hc_status status = find(comm, &kind);
    if (status != HC_OK || !kind)
        return status;
    struct hc_on_device *r = calloc(1, sizeof *r);
    if (!r)
        return hc_fail(HC_NO_MEMORY, "no memory to average gradients");
    *r = (struct hc_on_device){.kind = kind, .device = device, .n = n};
    status = fill(r, recipe, shards, gradients);
    if (status == HC_OK)
        status = kind->open(&r->comm, comm);
    if (status == HC_OK)
        *made = r;
    else
        hc_on_device_close(r);
    return status;
}

void hc_on_device_close(struct hc_on_device *r)
{
    if (!r)
        return;
    r->kind->close(r->comm);
    if (r->memory)
        hc_device_release(r->device, r->memory, r->bytes);
    free(r->part);
    free(r->spans);
    free(r);
}

/* In place. Nothing where there is no divisor. */
static enum hc_status divide(struct hc_on_device *r, struct hc_tensor x, struct hc_tensor by)
{
    struct hc_call call = {.op = HC_OP_unscale, .params.unscale = {.reciprocal = r->reciprocal}};
    if (!by.data || hc_tensor_count(&x) == 0)
        return HC_OK;
    call.in[HC_UNSCALE_X] = x;
    call.in[HC_UNSCALE_SCALE] = by;
    call.out[HC_UNSCALE_OUT] = x;
    call.out[HC_UNSCALE_NEW_FOUND_INF] = r->flag;
    return hc_device_run(r->device, &call);
}

static enum hc_status begin(struct hc_on_device *r, const struct part *part)
{
    enum hc_status status = HC_OK;
    if (part->sum.data != part->gradient.data)
        status = hc_device_cast(r->device, part->gradient, part->sum);
    return status == HC_OK ? divide(r, part->sum, part->before) : status;
}

static enum hc_status end(struct hc_on_device *r, const struct part *part)
{
    enum hc_status status = divide(r, part->sum, part->after);
    if (status == HC_OK && part->sum.data != part->gradient.data)
        status = hc_device_cast(r->device, part->sum, part->gradient);
    return status;
}

/* All sums of a format go in one group. */
static enum hc_status add(struct hc_on_device *r, void *stream, enum hc_format format)
{
    int n = 0;
    for (int p = 0; p < r->n; p++)
        if (r->part[p].sum.format == format)
            r->spans[n++] =
                (struct hc_device_span){r->part[p].sum.data, hc_tensor_count(&r->part[p].sum)};
    return n > 0 ? r->kind->sum(r->comm, stream, format, r->spans, n) : HC_OK;
}

enum hc_status hc_on_device_average(struct hc_on_device *r)
{
    enum hc_status status = HC_OK;
    for (int p = 0; p < r->n && status == HC_OK; p++)
        status = begin(r, &r->part[p]);
    void *stream = status == HC_OK ? r->device->backend->stream(r->device->queue) : NULL;
    if (!stream)
        return status == HC_OK ? HC_DEVICE : status;
    for (int f = 0; f < HC_FORMAT_COUNT && status == HC_OK; f++)
        status = add(r, stream, (enum hc_format)f);
    if (status == HC_OK)
        status = r->kind->wait(r->comm, stream);
    for (int p = 0; p < r->n && status == HC_OK; p++)
        status = end(r, &r->part[p]);
    return status;
}
