#include "train/parallel/reduction.h"

#include <assert.h>
#include <stdlib.h>

#include "comm/all_reduce.h"
#include "comm/partial.h"

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
static enum hc_status reduce(struct hc_reduction *r, int b, const struct hc_gradient *gradients,
                             struct hc_sent *sent)
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
            status = reduce(r, b, gradients, sent);
    r->depth = 0;
    r->taken = 0;
    return status;
}
