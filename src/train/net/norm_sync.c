#include "train/net/net_inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "comm/all_reduce.h"
#include "train/net/parameter.h"

/* Statistics come in pairs, mean and variance or dgamma and dbeta: [2, C], in the format `wide`. */
enum { PAIR = 2 };

struct hc_norm_sync {
    struct hc_device *device;
    struct hc_comm *comm;
    enum hc_format wide;       /* of statistics: fp64 in a network in fp64, else fp32 */
    int64_t channels;          /* at most */
    struct hc_storage *pair;   /* this rank's moments or sums, then what all ranks have */
    struct hc_storage *all;    /* means and variances of all ranks, [2, R, C] */
    struct hc_storage *counts; /* i32 [R] */
    struct hc_storage *dz;     /* the gradient behind leaky ReLU */
    char *letter;              /* host memory: a pair and a count, of this rank ... */
    char *letters;             /* ... and of all ranks */
    char *sorted;              /* host memory for `all`, and room for sums over ranks */
    int32_t *sorted_counts;
};

static size_t bytes_of(const struct hc_norm_sync *sync, int64_t numbers)
{
    return (size_t)numbers * (size_t)hc_formats[sync->wide].bytes;
}

/* A pair of so many channels, and this rank's number of elements. */
static size_t letter_bytes(const struct hc_norm_sync *sync, int64_t channels)
{
    return bytes_of(sync, PAIR * channels) + sizeof(int32_t);
}

static enum hc_status allocate_sync(struct hc_norm_sync *sync, const struct hc_norm_sync_size *size)
{
    int64_t ranks = sync->comm->size;
    int64_t pair = PAIR * size->channels;
    struct hc_all_reduce how = {.sum = sync->wide};
    sync->pair = hc_storage_new(sync->device, sync->wide, pair);
    sync->all = hc_storage_new(sync->device, sync->wide, pair * ranks);
    sync->counts = hc_storage_new(sync->device, HC_I32, ranks);
    sync->dz = hc_storage_new(sync->device, size->format, size->elements);
    if (!sync->pair || !sync->all || !sync->counts || !sync->dz)
        return HC_NO_MEMORY;
    size_t letter = letter_bytes(sync, size->channels);
    sync->letter = malloc(letter);
    sync->letters = malloc(letter * (size_t)ranks);
    size_t sorted = bytes_of(sync, pair * ranks);
    size_t room = hc_all_reduce_room(&how, pair);
    sync->sorted = malloc(sorted > room ? sorted : room);
    sync->sorted_counts = malloc((size_t)ranks * sizeof *sync->sorted_counts);
    if (!sync->letter || !sync->letters || !sync->sorted || !sync->sorted_counts)
        return hc_fail(HC_NO_MEMORY, "no memory for the statistics of %d ranks", sync->comm->size);
    return HC_OK;
}

enum hc_status hc_norm_sync_open(struct hc_norm_sync **out, struct hc_device *device,
                                 struct hc_comm *comm, const struct hc_norm_sync_size *size)
{
    struct hc_norm_sync *sync = calloc(1, sizeof *sync);
    *out = NULL;
    if (!sync)
        return hc_fail(HC_NO_MEMORY, "no memory for the statistics of %d ranks", comm->size);
    sync->device = device;
    sync->comm = comm;
    sync->wide = size->format == HC_FP64 ? HC_FP64 : HC_FP32;
    sync->channels = size->channels;
    enum hc_status status = allocate_sync(sync, size);
    if (status == HC_OK)
        *out = sync;
    else
        hc_norm_sync_close(sync);
    return status;
}

void hc_norm_sync_close(struct hc_norm_sync *sync)
{
    if (!sync)
        return;
    hc_storage_drop(sync->pair);
    hc_storage_drop(sync->all);
    hc_storage_drop(sync->counts);
    hc_storage_drop(sync->dz);
    free(sync->letter);
    free(sync->letters);
    free(sync->sorted);
    free(sync->sorted_counts);
    free(sync);
}

/* The first or the second of the pair, in the backend's memory. */
static struct hc_tensor half_of(const struct hc_norm_sync *sync, int which, int64_t channels)
{
    char *data = sync->pair->data;
    return hc_tensor1(sync->wide, channels, data + bytes_of(sync, which * channels));
}

/* The means or the variances of all ranks. */
static struct hc_tensor rows_of(const struct hc_norm_sync *sync, int which, int64_t channels)
{
    int64_t ranks = sync->comm->size;
    char *data = sync->all->data;
    return hc_tensor2(sync->wide, ranks, channels, data + bytes_of(sync, which * ranks * channels));
}

static enum hc_status pair_to_host(struct hc_norm_sync *sync, int64_t channels, void *to)
{
    struct hc_device *d = sync->device;
    return d->backend->download(d->queue, to, sync->pair->data, bytes_of(sync, PAIR * channels));
}

static enum hc_status to_device(struct hc_norm_sync *sync, void *to, const void *from, size_t bytes)
{
    struct hc_device *d = sync->device;
    return d->backend->upload(d->queue, to, from, bytes);
}

/* Letters hold a pair each; the op takes the first of all pairs, then the second. */
static int64_t sort_letters(struct hc_norm_sync *sync, int64_t channels)
{
    int64_t ranks = sync->comm->size;
    int64_t elements = 0;
    size_t half = bytes_of(sync, channels);
    for (int64_t r = 0; r < ranks; r++) {
        const char *letter = sync->letters + (size_t)r * letter_bytes(sync, channels);
        memcpy(sync->sorted + (size_t)r * half, letter, half);
        memcpy(sync->sorted + (size_t)(ranks + r) * half, letter + half, half);
        memcpy(&sync->sorted_counts[r], letter + PAIR * half, sizeof sync->sorted_counts[r]);
        elements += sync->sorted_counts[r];
    }
    return elements;
}

/* Everybody's moments and counts, to the backend's memory. */
static enum hc_status exchange_moments(struct hc_norm_sync *sync, int64_t channels, int32_t rows,
                                       int64_t *elements)
{
    size_t ranks = (size_t)sync->comm->size;
    enum hc_status status = pair_to_host(sync, channels, sync->letter);
    memcpy(sync->letter + bytes_of(sync, PAIR * channels), &rows, sizeof rows);
    if (status == HC_OK)
        status = hc_comm_all_gather(sync->comm, sync->letter, letter_bytes(sync, channels),
                                    sync->letters);
    if (status != HC_OK)
        return status;
    *elements = sort_letters(sync, channels);
    status =
        to_device(sync, sync->all->data, sync->sorted, ranks * bytes_of(sync, PAIR * channels));
    return status == HC_OK ? to_device(sync, sync->counts->data, sync->sorted_counts,
                                       ranks * sizeof *sync->sorted_counts)
                           : status;
}

static int64_t channels_of(const struct hc_norm_sync *sync, const struct hc_tensor *x)
{
    int64_t channels = x->shape[x->rank - 1];
    assert(channels <= sync->channels);
    return channels;
}

enum hc_status hc_norm_sync_train(struct hc_norm_sync *sync, const struct hc_call *norm,
                                  int64_t *elements)
{
    bool leaky = norm->op == HC_OP_bn_leaky_train;
    const struct hc_tensor *x = &norm->in[HC_BN_X];
    int64_t channels = channels_of(sync, x);
    struct hc_tensor variance = half_of(sync, 1, channels);
    struct hc_call moments = {.op = HC_OP_bn_moments,
                              .in = {[HC_BN_MOMENTS_X] = *x},
                              .out = {[HC_BN_MOMENTS_MEAN] = half_of(sync, 0, channels),
                                      [HC_BN_MOMENTS_VARIANCE] = variance}};
    struct hc_call combine = {.op = HC_OP_bn_combine,
                              .in = {[HC_BN_COMBINE_MEANS] = rows_of(sync, 0, channels),
                                     [HC_BN_COMBINE_VARIANCES] = rows_of(sync, 1, channels),
                                     [HC_BN_COMBINE_COUNTS] = hc_storage_tensor(sync->counts),
                                     [HC_BN_COMBINE_MEAN] = norm->in[HC_BN_MEAN],
                                     [HC_BN_COMBINE_VARIANCE] = norm->in[HC_BN_VARIANCE]},
                              .out = {[HC_BN_COMBINE_SAVED_MEAN] = norm->out[HC_BN_SAVED_MEAN],
                                      [HC_BN_COMBINE_SAVED_VARIANCE] = variance,
                                      [HC_BN_COMBINE_SAVED_INVSTD] = norm->out[HC_BN_SAVED_INVSTD],
                                      [HC_BN_COMBINE_NEW_MEAN] = norm->out[HC_BN_NEW_MEAN],
                                      [HC_BN_COMBINE_NEW_VARIANCE] = norm->out[HC_BN_NEW_VARIANCE]},
                              .params.bn = norm->params.bn};
    struct hc_call apply = {.op = leaky ? HC_OP_bn_leaky_infer : HC_OP_bn_infer,
                            .in = {[HC_BN_X] = *x,
                                   [HC_BN_GAMMA] = norm->in[HC_BN_GAMMA],
                                   [HC_BN_BETA] = norm->in[HC_BN_BETA],
                                   [HC_BN_MEAN] = norm->out[HC_BN_SAVED_MEAN],
                                   [HC_BN_VARIANCE] = variance},
                            .out = {[HC_BN_Y] = norm->out[HC_BN_Y]},
                            .params.bn = norm->params.bn};
    assert(leaky || norm->op == HC_OP_bn_train);
    enum hc_status status = hc_device_run(sync->device, &moments);
    if (status == HC_OK)
        status =
            exchange_moments(sync, channels, (int32_t)(hc_tensor_count(x) / channels), elements);
    if (status == HC_OK)
        status = hc_device_run(sync->device, &combine);
    return status == HC_OK ? hc_device_run(sync->device, &apply) : status;
}

/* The gradient behind leaky ReLU, in dy's format. */
static enum hc_status leave_leaky(struct hc_norm_sync *sync, const struct hc_call *norm,
                                  struct hc_tensor *dz)
{
    struct hc_call leaky = {.op = HC_OP_leaky_relu_bwd,
                            .in = {[HC_LEAKY_BWD_Y] = norm->in[HC_BN_LEAKY_BWD_Y],
                                   [HC_LEAKY_BWD_DY] = norm->in[HC_BN_LEAKY_BWD_DY]},
                            .params.leaky = {norm->params.bn.slope}};
    assert(dz->format == sync->dz->format && hc_tensor_count(dz) <= sync->dz->count);
    dz->data = sync->dz->data;
    leaky.out[HC_LEAKY_BWD_DX] = *dz;
    return hc_device_run(sync->device, &leaky);
}

/* The pair becomes the means over all ranks' elements. */
static enum hc_status average_sums(struct hc_norm_sync *sync, int64_t channels, int64_t elements)
{
    const struct hc_all_reduce how = {
        .algorithm = HC_COLLECTIVE_TREE, .sum = sync->wide, .before = 1, .after = (double)elements};
    enum hc_status status = pair_to_host(sync, channels, sync->letter);
    if (status == HC_OK)
        status = hc_comm_all_reduce(sync->comm, &how, sync->wide, sync->letter, PAIR * channels,
                                    sync->sorted, NULL);
    return status == HC_OK
               ? to_device(sync, sync->pair->data, sync->letter, bytes_of(sync, PAIR * channels))
               : status;
}

enum hc_status hc_norm_sync_bwd(struct hc_norm_sync *sync, const struct hc_call *norm,
                                int64_t elements)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(norm->op);
    struct hc_tensor dz = norm->in[s->dy];
    int64_t channels = channels_of(sync, &norm->in[s->x]);
    struct hc_tensor dgamma = half_of(sync, 0, channels);
    struct hc_tensor dbeta = half_of(sync, 1, channels);
    enum hc_status status = s->y < 0 ? HC_OK : leave_leaky(sync, norm, &dz);
    struct hc_call sums = {
        .op = HC_OP_bn_bwd_sums,
        .in = {[HC_BN_BWD_SUMS_X] = norm->in[s->x],
               [HC_BN_BWD_SUMS_DY] = dz,
               [HC_BN_BWD_SUMS_MEAN] = norm->in[s->mean],
               [HC_BN_BWD_SUMS_INVSTD] = norm->in[s->invstd]},
        .out = {[HC_BN_BWD_SUMS_DGAMMA] = dgamma, [HC_BN_BWD_SUMS_DBETA] = dbeta}};
    struct hc_call apply = {.op = HC_OP_bn_bwd_apply,
                            .in = {[HC_BN_BWD_APPLY_X] = norm->in[s->x],
                                   [HC_BN_BWD_APPLY_DY] = dz,
                                   [HC_BN_BWD_APPLY_GAMMA] = norm->in[s->gamma],
                                   [HC_BN_BWD_APPLY_MEAN] = norm->in[s->mean],
                                   [HC_BN_BWD_APPLY_INVSTD] = norm->in[s->invstd],
                                   [HC_BN_BWD_APPLY_MEAN_DGAMMA] = dgamma,
                                   [HC_BN_BWD_APPLY_MEAN_DBETA] = dbeta},
                            .out = {[HC_BN_BWD_APPLY_DX] = norm->out[s->dx]}};
    if (status == HC_OK)
        status = hc_device_run(sync->device, &sums);
    if (status == HC_OK)
        status = hc_device_cast(sync->device, dgamma, norm->out[s->dgamma]);
    if (status == HC_OK)
        status = hc_device_cast(sync->device, dbeta, norm->out[s->dbeta]);
    if (status == HC_OK)
        status = average_sums(sync, channels, elements);
    return status == HC_OK ? hc_device_run(sync->device, &apply) : status;
}
