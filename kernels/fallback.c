#include "kernels/fallback.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/own_calls.h"

struct fallback {
    struct hc_backend backend;
    const struct hc_backend *subject;
    const struct hc_backend *other;
    char name[96];
    struct fallback *next;
    _Atomic int64_t on_subject[HC_OP_ROOM];
    _Atomic int64_t on_other[HC_OP_ROOM];

    /* Who ran the last call of an op on inputs of a format. */
    _Atomic(const struct hc_backend *) last[HC_OP_ROOM][HC_FORMAT_COUNT];
};

struct hc_queue {
    struct fallback *f;
    struct hc_queue *subject;
    struct hc_queue *other;
};

static struct fallback *all;

static enum hc_status run_either(struct hc_queue *queue, const struct hc_call *call)
{
    struct fallback *f = queue->f;
    enum hc_status status = hc_backend_has(f->subject, call);
    if (status == HC_OK)
        status = f->subject->kernel[call->op](queue->subject, call);
    if (status != HC_UNSUPPORTED) {
        f->on_subject[call->op]++;
        f->last[call->op][call->in[HC_FIRST].format] = f->subject;
        hc_own_calls_add(1);
        return status;
    }
    status = hc_backend_has(f->other, call);
    if (status != HC_OK)
        return status;
    f->on_other[call->op]++;
    f->last[call->op][call->in[HC_FIRST].format] = f->other;
    return f->other->kernel[call->op](queue->other, call);
}

static enum hc_status open(const struct hc_backend *backend, struct hc_queue **queue, int threads)
{
    struct fallback *f = (struct fallback *)backend->self;
    struct hc_queue *q = calloc(1, sizeof *q);
    if (!q)
        return hc_fail(HC_NO_MEMORY, "no memory for a queue of %s", backend->name);
    q->f = f;
    enum hc_status status = f->subject->open(f->subject, &q->subject, threads);
    if (status != HC_OK) {
        free(q);
        return status;
    }
    status = f->other->open(f->other, &q->other, threads);
    if (status != HC_OK) {
        f->subject->close(q->subject);
        free(q);
        return status;
    }
    *queue = q;
    return HC_OK;
}

static void close(struct hc_queue *queue)
{
    queue->f->subject->close(queue->subject);
    queue->f->other->close(queue->other);
    free(queue);
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    return queue->f->other->allocate(queue->other, bytes);
}

static void release(struct hc_queue *queue, void *memory)
{
    queue->f->other->release(queue->other, memory);
}

static enum hc_status upload(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    return queue->f->other->upload(queue->other, to, from, bytes);
}

static enum hc_status download(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    return queue->f->other->download(queue->other, to, from, bytes);
}

static size_t needed(const struct hc_backend *backend, struct hc_queue *queue,
                     const struct hc_call *call)
{
    return backend->scratch && hc_backend_has(backend, call) == HC_OK
               ? backend->scratch(queue, call)
               : 0;
}

static size_t scratch(struct hc_queue *queue, const struct hc_call *call)
{
    size_t subject = needed(queue->f->subject, queue->subject, call);
    size_t other = needed(queue->f->other, queue->other, call);
    return subject > other ? subject : other;
}

/* "host: conv2d 12, gemm 3" */
static void tell_counts(const struct fallback *f, hc_tell *tell, void *context)
{
    char text[2048];
    size_t used = (size_t)snprintf(text, sizeof text, "%s:", f->other->name);
    bool any = false;
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (f->on_other[op] && used < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %lld", any ? "," : "",
                                     hc_ops[op].name, (long long)f->on_other[op]);
            any = true;
        }
    tell("fallback", any ? text : f->other->name, context);
}

static void describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    struct fallback *f = queue ? queue->f : NULL;
    if (!f)
        return;
    if (f->subject->describe)
        f->subject->describe(queue->subject, tell, context);
    tell_counts(f, tell, context);
}

static struct hc_accumulator coarser_sum(const struct hc_accumulator *a,
                                         const struct hc_accumulator *b)
{
    if (a->precision != b->precision)
        return a->precision < b->precision ? *a : *b;
    if (a->truncates != b->truncates)
        return a->truncates ? *a : *b;
    return a->block - a->extra_bits > b->block - b->extra_bits ? *a : *b;
}

/* The coarser of both: sums of either must lie within its bound. */
static struct hc_accumulator coarser(const struct hc_accumulator *a, const struct hc_accumulator *b)
{
    struct hc_accumulator both = coarser_sum(a, b);
    both.flushes = a->flushes || b->flushes;
    both.aligns_subnormals = a->aligns_subnormals || b->aligns_subnormals;
    return both;
}

/* A subject refuses calls by their formats, as a rule, so that the last call tells who runs the
   next one. Before there was one nobody knows. */
static struct hc_accumulator accumulates(const struct hc_backend *backend,
                                         const struct hc_call *call)
{
    struct fallback *f = (struct fallback *)backend->self;
    const struct hc_backend *last = f->last[call->op][call->in[HC_FIRST].format];
    struct hc_accumulator other = hc_backend_accumulator(f->other, call);
    struct hc_accumulator subject = hc_backend_accumulator(f->subject, call);
    if (last || !f->subject->kernel[call->op])
        return last == f->subject ? subject : other;
    return coarser(&subject, &other);
}

static void combine(struct fallback *f)
{
    const struct hc_backend *subject = f->subject;
    const struct hc_backend *other = f->other;
    (void)snprintf(f->name, sizeof f->name, "%s+%s", subject->name, other->name);
    f->backend = (struct hc_backend){
        .abi = HC_BACKEND_ABI,
        .name = f->name,
        .title = subject->title,
        .accumulator = coarser(&subject->accumulator, &other->accumulator),
        .accumulates = accumulates,
        .borders = subject->borders ? subject->borders : other->borders,
        .fp64 = subject->fp64 || other->fp64,
        .concurrent = subject->concurrent && other->concurrent,
        .on_request = true,
        .canonical_nan = subject->canonical_nan || other->canonical_nan,
        .host_memory = true,
        .nondeterministic = subject->nondeterministic || other->nondeterministic,
        .free_order = subject->free_order || other->free_order,
        .spelled = subject->spelled ? subject->spelled : subject->name,
        .self = f,
        .open = open,
        .close = close,
        .allocate = allocate,
        .release = release,
        .upload = upload,
        .download = download,
        .scratch = scratch,
        .describe = describe,
    };
    for (int op = 0; op < HC_OP_COUNT; op++) {
        f->backend.kernel[op] = subject->kernel[op] || other->kernel[op] ? run_either : NULL;
        f->backend.partial |= !f->backend.kernel[op];
    }
}

enum hc_status hc_fallback(const struct hc_backend *subject, const struct hc_backend *other,
                           const struct hc_backend **both)
{
    for (struct fallback *f = all; f; f = f->next)
        if (f->subject == subject && f->other == other) {
            *both = &f->backend;
            return HC_OK;
        }
    const struct hc_backend *apart = !subject->host_memory ? subject : other;
    if (!apart->host_memory)
        return hc_fail(HC_INVALID, "%s does not work in the host's memory, as --fallback needs",
                       apart->name);
    struct fallback *f = calloc(1, sizeof *f);
    if (!f)
        return hc_fail(HC_NO_MEMORY, "no memory for %s with a fallback", subject->name);
    f->subject = subject;
    f->other = other;
    f->next = all;
    combine(f);
    all = f;
    *both = &f->backend;
    return HC_OK;
}

bool hc_fallback_count(const struct hc_backend *both, struct hc_fallback_counts *counts)
{
    struct fallback *f = all;
    while (f && &f->backend != both)
        f = f->next;
    if (!f)
        return false;
    counts->other = f->other->name;
    for (int op = 0; op < HC_OP_COUNT; op++) {
        counts->on_subject[op] = f->on_subject[op];
        counts->on_other[op] = f->on_other[op];
    }
    return true;
}
