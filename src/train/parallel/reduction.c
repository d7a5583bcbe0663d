#include "train/parallel/reduction.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "comm/all_reduce.h"
#include "comm/partial.h"
#include "op/elementwise.h"

/* The bucket that is being filled for each format, as a chain of gradients: next[i] is the number
   of the one behind gradient i, or -1. */
struct open_bucket {
    int head;
    int tail;
    int64_t size;
    int64_t limit; /* of this bucket */
};

struct filling {
    const struct hc_wrapper *wrapper;
    const struct hc_gradient *gradients;
    struct hc_buckets *buckets;
    struct open_bucket open[HC_FORMAT_COUNT];
    int *next;
    int placed; /* gradients that stand in buckets->order */
};

/* Moves the open bucket of the format behind those that are closed. */
static void close_bucket(struct filling *f, enum hc_format held)
{
    struct open_bucket *o = &f->open[held];
    struct hc_bucket *b = &f->buckets->bucket[f->buckets->n];
    if (o->head < 0)
        return;
    *b = (struct hc_bucket){.held = held, .first = f->placed};
    for (int i = o->head; i >= 0; i = f->next[i]) {
        f->buckets->order[f->placed++] = i;
        b->count += f->gradients[i].count;
        b->n++;
    }
    f->buckets->n++;
    *o = (struct open_bucket){.head = -1, .tail = -1, .limit = f->wrapper->bucket};
}

static void append_gradient(struct filling *f, int i, int64_t size)
{
    struct open_bucket *o = &f->open[f->gradients[i].held];
    f->next[i] = -1;
    if (o->head < 0)
        o->head = i;
    else
        f->next[o->tail] = i;
    o->tail = i;
    o->size += size;
}

static void take_gradient(struct filling *f, int i)
{
    const struct hc_wrapper *w = f->wrapper;
    const struct hc_gradient *g = &f->gradients[i];
    struct open_bucket *o = &f->open[g->held];
    int64_t size = w->unit == HC_UNIT_BYTES ? g->count * hc_formats[g->held].bytes : g->count;
    if (w->bucketing == HC_BUCKET_AT_MOST && o->size + size > o->limit)
        close_bucket(f, g->held);
    if (w->bucketing == HC_BUCKET_OF_LAYER && o->head >= 0 &&
        f->gradients[o->head].layer != g->layer)
        close_bucket(f, g->held);
    append_gradient(f, i, size);
    if (w->bucketing == HC_BUCKET_AT_LEAST && o->size >= o->limit)
        close_bucket(f, g->held);
}

enum hc_status hc_buckets_open(struct hc_buckets *buckets, const struct hc_wrapper *wrapper,
                               const struct hc_gradient *gradients, int n)
{
    bool backward =
        wrapper->bucketing == HC_BUCKET_AT_LEAST || wrapper->bucketing == HC_BUCKET_AT_MOST;
    size_t room = n > 0 ? (size_t)n : 1;
    struct filling f = {wrapper, gradients, buckets, .next = malloc(room * sizeof *f.next)};
    *buckets = (struct hc_buckets){.bucket = malloc(room * sizeof *buckets->bucket),
                                   .order = malloc(room * sizeof *buckets->order)};
    if (!f.next || !buckets->bucket || !buckets->order) {
        free(f.next);
        hc_buckets_close(buckets);
        return hc_fail(HC_NO_MEMORY, "no memory for the buckets of %d gradients", n);
    }
    for (int k = 0; k < HC_FORMAT_COUNT; k++)
        f.open[k] = (struct open_bucket){.head = -1, .tail = -1, .limit = wrapper->first_bucket};
    for (int i = 0; i < n; i++)
        take_gradient(&f, backward ? n - 1 - i : i);
    for (int k = 0; k < HC_FORMAT_COUNT; k++)
        close_bucket(&f, (enum hc_format)k);
    free(f.next);
    return HC_OK;
}

void hc_buckets_close(struct hc_buckets *buckets)
{
    free(buckets->bucket);
    free(buckets->order);
    *buckets = (struct hc_buckets){0};
}

/* A rank may have 2^31 shards; their sums wait on a stack, at most one of each power of two, and
   the newest beside it. */
enum { DEPTH = 33 };

struct hc_reduction {
    struct hc_comm *comm;
    int mine; /* shards of this rank in a step */
    int taken;
    bool tree;

    struct hc_buckets buckets;
    struct hc_all_reduce *how; /* of each bucket */
    size_t *at;                /* bytes before each bucket in a part */
    size_t bytes;              /* of a part: all buckets in the formats of their sums */

    /* Sums over so many of this rank's shards, the oldest first. */
    unsigned char *part[DEPTH];
    int shards[DEPTH];
    int depth;
    int parts; /* that have memory */

    void *room; /* of the all-reduce */
};

/* What lies where. Buckets begin aligned for every format. */
static size_t plan(struct hc_reduction *r, const struct hc_wrapper *wrapper, int shards, bool sums)
{
    size_t room = 0;
    for (int b = 0; b < r->buckets.n; b++) {
        const struct hc_bucket *bucket = &r->buckets.bucket[b];
        r->how[b] = hc_wrapper_all_reduce(wrapper, bucket->held, shards, sums);
        r->at[b] = r->bytes;
        r->bytes += (size_t)bucket->count * (size_t)hc_formats[r->how[b].sum].bytes;
        r->bytes = (r->bytes + 63) / 64 * 64;
        size_t needed = hc_all_reduce_room(&r->how[b], bucket->count);
        room = needed > room ? needed : room;
    }
    return room;
}

/* As many parts as are ever on the stack at once. */
static bool make_parts(struct hc_reduction *r)
{
    r->parts = r->mine > 1 ? 2 : 1;
    for (int64_t k = 4; r->tree && k <= r->mine; k *= 2)
        r->parts++;
    for (int i = 0; i < r->parts; i++)
        if (!(r->part[i] = malloc(r->bytes + 1)))
            return false;
    return true;
}

enum hc_status hc_reduction_open(struct hc_reduction **reduction, const struct hc_recipe *recipe,
                                 struct hc_comm *comm, int shards,
                                 const struct hc_gradient *gradients, int n)
{
    struct hc_wrapper wrapper = hc_wrapper_of(recipe);
    struct hc_reduction *r = calloc(1, sizeof *r);
    assert(shards >= comm->size && shards % comm->size == 0);
    *reduction = r;
    if (!r)
        return hc_fail(HC_NO_MEMORY, "no memory to reduce gradients");
    r->comm = comm;
    r->mine = shards / comm->size;
    r->tree = wrapper.algorithm == HC_COLLECTIVE_TREE;
    enum hc_status status = hc_buckets_open(&r->buckets, &wrapper, gradients, n);
    if (status == HC_OK) {
        r->how = malloc(((size_t)r->buckets.n + 1) * sizeof *r->how);
        r->at = malloc(((size_t)r->buckets.n + 1) * sizeof *r->at);
        if (!r->how || !r->at ||
            !(r->room = malloc(plan(r, &wrapper, shards, recipe->sum_loss) + 1)) || !make_parts(r))
            status = hc_fail(HC_NO_MEMORY, "no memory to reduce gradients");
    }
    if (status != HC_OK) {
        hc_reduction_close(r);
        *reduction = NULL;
    }
    return status;
}

void hc_reduction_close(struct hc_reduction *r)
{
    if (!r)
        return;
    for (int i = 0; i < DEPTH; i++)
        free(r->part[i]);
    free(r->room);
    free(r->at);
    free(r->how);
    hc_buckets_close(&r->buckets);
    free(r);
}

/* Adds the newest part on the stack to the one before it. */
static void merge(struct hc_reduction *r)
{
    int newest = --r->depth;
    for (int b = 0; b < r->buckets.n; b++)
        hc_partial_add(r->how[b].sum, r->part[newest - 1] + r->at[b], r->part[newest] + r->at[b],
                       r->buckets.bucket[b].count);
    r->shards[newest - 1] += r->shards[newest];
}

void hc_reduction_add(struct hc_reduction *r, const struct hc_gradient *gradients)
{
    assert(r->taken < r->mine && r->depth < r->parts);
    for (int b = 0; b < r->buckets.n; b++) {
        const struct hc_bucket *bucket = &r->buckets.bucket[b];
        unsigned char *to = r->part[r->depth] + r->at[b];
        for (int k = 0; k < bucket->n; k++) {
            const struct hc_gradient *g = &gradients[r->buckets.order[bucket->first + k]];
            hc_partial_begin(&r->how[b], g->format, g->data, g->count, to);
            to += (size_t)g->count * (size_t)hc_formats[r->how[b].sum].bytes;
        }
    }
    r->shards[r->depth++] = 1;
    r->taken++;
    while (r->depth > 1 && (!r->tree || r->shards[r->depth - 2] == r->shards[r->depth - 1]))
        merge(r);
}

/* One bucket's sum over this rank's shards becomes the average over all ranks. */
static enum hc_status reduce_bucket(struct hc_reduction *r, int b,
                                    const struct hc_gradient *gradients, struct hc_sent *sent)
{
    const struct hc_bucket *bucket = &r->buckets.bucket[b];
    struct hc_all_reduce how = r->how[b];
    unsigned char *sum = r->part[0] + r->at[b];
    how.before = 1; /* hc_reduction_add has divided */
    enum hc_status status =
        hc_comm_all_reduce(r->comm, &how, how.sum, sum, bucket->count, r->room, sent);
    how.after = 1; /* and the all-reduce */
    for (int k = 0; k < bucket->n && status == HC_OK; k++) {
        const struct hc_gradient *g = &gradients[r->buckets.order[bucket->first + k]];
        hc_partial_end(&how, g->format, sum, g->count, g->data);
        sum += (size_t)g->count * (size_t)hc_formats[how.sum].bytes;
    }
    return status;
}

enum hc_status hc_reduction_finish(struct hc_reduction *r, const struct hc_gradient *gradients,
                                   struct hc_sent *sent)
{
    enum hc_status status = HC_OK;
    assert(r->taken == r->mine);
    while (r->depth > 1)
        merge(r);
    for (int b = 0; b < r->buckets.n && status == HC_OK; b++)
        if (r->buckets.bucket[b].count > 0)
            status = reduce_bucket(r, b, gradients, sent);
    r->depth = 0;
    r->taken = 0;
    return status;
}

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
static enum hc_status lay_out_parts(struct hc_on_device *r, const struct hc_all_reduce *how)
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

static enum hc_status fill_parts(struct hc_on_device *r, const struct hc_recipe *recipe, int shards,
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
    enum hc_status status = lay_out_parts(r, how);
    free(how);
    return status;
}

/* Whether all ranks have the plug-in. Without it on one, none uses it. */
static enum hc_status agree_on_plugin(struct hc_comm *comm, const struct hc_device_comm_kind **kind)
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
    enum hc_status status = agree_on_plugin(comm, &kind);
    if (status != HC_OK || !kind)
        return status;
    struct hc_on_device *r = calloc(1, sizeof *r);
    if (!r)
        return hc_fail(HC_NO_MEMORY, "no memory to average gradients");
    *r = (struct hc_on_device){.kind = kind, .device = device, .n = n};
    status = fill_parts(r, recipe, shards, gradients);
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
static enum hc_status divide_parts(struct hc_on_device *r, struct hc_tensor x, struct hc_tensor by)
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

static enum hc_status begin_part(struct hc_on_device *r, const struct part *part)
{
    enum hc_status status = HC_OK;
    if (part->sum.data != part->gradient.data)
        status = hc_device_cast(r->device, part->gradient, part->sum);
    return status == HC_OK ? divide_parts(r, part->sum, part->before) : status;
}

static enum hc_status end_part(struct hc_on_device *r, const struct part *part)
{
    enum hc_status status = divide_parts(r, part->sum, part->after);
    if (status == HC_OK && part->sum.data != part->gradient.data)
        status = hc_device_cast(r->device, part->sum, part->gradient);
    return status;
}

/* All sums of a format go in one group. */
static enum hc_status queue_sums(struct hc_on_device *r, void *stream, enum hc_format format)
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
        status = begin_part(r, &r->part[p]);
    void *stream = status == HC_OK ? r->device->backend->stream(r->device->queue) : NULL;
    if (!stream)
        return status == HC_OK ? HC_DEVICE : status;
    for (int f = 0; f < HC_FORMAT_COUNT && status == HC_OK; f++)
        status = queue_sums(r, stream, (enum hc_format)f);
    if (status == HC_OK)
        status = r->kind->wait(r->comm, stream);
    for (int p = 0; p < r->n && status == HC_OK; p++)
        status = end_part(r, &r->part[p]);
    return status;
}
