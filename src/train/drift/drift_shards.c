#include "train/drift/drift_shards.h"

#include <stdlib.h>

#include "comm/comm.h"
#include "train/parallel/reduction.h"

int hc_drift_shards(int ranks, const struct hc_recipe *recipe)
{
    return ranks > 0 && recipe->shards > 0 ? recipe->shards : ranks > 0 ? ranks : 1;
}

static struct hc_tensor tensor_of(const struct hc_gradient *g)
{
    return hc_tensor1(g->format, g->count, g->data);
}

static size_t padded(const struct hc_gradient *g)
{
    struct hc_tensor t = tensor_of(g);
    return (hc_tensor_bytes(&t) + 63) / 64 * 64;
}

enum hc_status hc_drift_shards_open(struct hc_drift_shards *s, struct hc_device *device, int ranks,
                                    const struct hc_recipe *recipe,
                                    const struct hc_gradient *gradients, int parameters)
{
    size_t bytes = 0;
    *s = (struct hc_drift_shards){.ranks = ranks,
                                  .shards = hc_drift_shards(ranks, recipe),
                                  .parameters = parameters,
                                  .recipe = recipe,
                                  .device = device};
    int n = s->shards * parameters;
    for (int p = 0; p < parameters; p++)
        bytes += (size_t)s->shards * padded(&gradients[p]);
    s->gradient = calloc((size_t)n + 1, sizeof *s->gradient);
    s->memory = aligned_alloc(64, bytes + 64);
    if (!s->gradient || !s->memory)
        return hc_fail(HC_NO_MEMORY, "no memory for the gradients of %d shards", s->shards);
    unsigned char *at = s->memory;
    for (int i = 0; i < n; i++) {
        s->gradient[i] = gradients[i % parameters];
        s->gradient[i].data = at;
        at += padded(&s->gradient[i]);
    }
    return HC_OK;
}

void hc_drift_shards_close(struct hc_drift_shards *s)
{
    free(s->gradient);
    free(s->memory);
}

enum hc_status hc_drift_shards_take(struct hc_drift_shards *s, int shard, double *g)
{
    enum hc_status status = HC_OK;
    const struct hc_gradient *own = s->gradient + (ptrdiff_t)shard * s->parameters;
    for (int p = 0; p < s->parameters && status == HC_OK; p++) {
        struct hc_tensor from = hc_tensor1(HC_FP64, own[p].count, g);
        if (own[p].count > 0)
            status = hc_device_cast(s->device, from, tensor_of(&own[p]));
        g += own[p].count;
    }
    return status;
}

/* What one rank does. */
static enum hc_status reduce(struct hc_comm *comm, void *context)
{
    const struct hc_drift_shards *s = context;
    struct hc_reduction *reduction;
    int own = s->shards / comm->size;
    const struct hc_gradient *first = s->gradient + (ptrdiff_t)comm->rank * own * s->parameters;
    enum hc_status status =
        hc_reduction_open(&reduction, s->recipe, comm, s->shards, first, s->parameters);
    if (status != HC_OK)
        return status;
    for (int i = 0; i < own; i++)
        hc_reduction_add(reduction, first + (ptrdiff_t)i * s->parameters);
    status = hc_reduction_finish(reduction, first, NULL);
    hc_reduction_close(reduction);
    return status;
}

/* All ranks have the same average; rank 0's is taken. */
enum hc_status hc_drift_shards_average(struct hc_drift_shards *s, double *g)
{
    enum hc_status status = hc_comm_threads(s->ranks, reduce, s);
    for (int p = 0; p < s->parameters && status == HC_OK; p++) {
        const struct hc_gradient *average = &s->gradient[p];
        struct hc_tensor to = hc_tensor1(HC_FP64, average->count, g);
        if (average->count > 0)
            status = hc_device_cast(s->device, tensor_of(average), to);
        g += average->count;
    }
    return status;
}
