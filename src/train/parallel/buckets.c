#include "train/parallel/buckets.h"

#include <stdlib.h>
#include <string.h>

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

static void append(struct filling *f, int i, int64_t size)
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

static void take(struct filling *f, int i)
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
    append(f, i, size);
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
        take(&f, backward ? n - 1 - i : i);
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
