/* A run that several ranks share: its state, which stays the same on all of them; the shards of its
   steps; and ranks that are threads of this process. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/parallel/reduction.h"
#include "train/run/checkpoint.h"
#include "train/run/state.h"
#include "train/run/trainer.h"
#include "train/run/trainer_inner.h"

/* The state of a run that several ranks share: it begins with rank 0's, and stays the same on all
   of them.

   Rank 0 alone reads files, so that a cluster needs no common disk. What it has read, or begun
   with, goes to the others. At every checkpoint ranks compare hashes of each tensor: a rank whose
   weights have gone another way is found before its error reaches a file. */

/* Room in host memory for the largest of the rows. */
static unsigned char *make_room(const struct hc_state_rows *rows)
{
    size_t most = 1;
    for (int i = 0; i < rows->count; i++)
        if (hc_tensor_bytes(&rows->row[i].tensor) > most)
            most = hc_tensor_bytes(&rows->row[i].tensor);
    unsigned char *room = malloc(most);
    if (!room)
        (void)hc_fail(HC_NO_MEMORY, "no memory for the state of ranks");
    return room;
}

/* Even if a transfer of this rank's own fails, in which case *own says so, it takes its part, so
   that no other waits for it. Returns what the comm says. */
static enum hc_status broadcast_row(struct hc_run *run, const struct hc_state_row *row,
                                    unsigned char *room, enum hc_status *own)
{
    const struct hc_backend *backend = run->device.backend;
    size_t bytes = hc_tensor_bytes(&row->tensor);
    if (run->parallel.rank == 0 && *own == HC_OK)
        *own = backend->download(run->device.queue, room, row->tensor.data, bytes);
    enum hc_status status = hc_comm_broadcast(run->parallel.comm, 0, room, bytes);
    if (run->parallel.rank > 0 && *own == HC_OK && status == HC_OK)
        *own = backend->upload(run->device.queue, row->tensor.data, room, bytes);
    return status;
}

/* All rows, or the running statistics alone. */
static enum hc_status broadcast_rows(struct hc_run *run, bool all)
{
    enum hc_status own = HC_OK;
    struct hc_state_rows *rows = hc_state_list(run->net, run->update);
    unsigned char *room = rows ? make_room(rows) : NULL;
    enum hc_status status = hc_parallel_agree(&run->parallel, room ? HC_OK : HC_NO_MEMORY, NULL);
    for (int i = 0; room && status == HC_OK && i < rows->count; i++)
        if (all || strncmp(rows->row[i].name, "buffers.", strlen("buffers.")) == 0)
            status = broadcast_row(run, &rows->row[i], room, &own);
    free(room);
    free(rows);
    return status == HC_OK ? hc_parallel_agree(&run->parallel, own, NULL) : status;
}

static enum hc_status broadcast_counters(struct hc_run *run)
{
    struct hc_counters counters = {0};
    enum hc_status own = hc_update_counters(run->update, &counters);
    enum hc_status status = hc_comm_broadcast(run->parallel.comm, 0, &counters, sizeof counters);
    if (own == HC_OK && status == HC_OK && run->parallel.rank > 0)
        own = hc_update_set_counters(run->update, &counters);
    return status == HC_OK ? hc_parallel_agree(&run->parallel, own, NULL) : status;
}

static enum hc_status broadcast_totals(struct hc_run *run)
{
    unsigned char packed[sizeof run->totals];
    size_t bytes = hc_state_bytes(hc_run_totals_fields);
    assert(bytes <= sizeof packed);
    hc_state_pack(hc_run_totals_fields, &run->totals, packed);
    enum hc_status status = hc_comm_broadcast(run->parallel.comm, 0, packed, bytes);
    if (status == HC_OK)
        hc_state_unpack(hc_run_totals_fields, packed, &run->totals);
    return status;
}

enum hc_status hc_shared_statistics(struct hc_run *run)
{
    return run->parallel.ranks > 1 ? broadcast_rows(run, false) : HC_OK;
}

enum hc_status hc_shared_begin(struct hc_run *run)
{
    if (run->parallel.ranks == 1)
        return HC_OK;
    enum hc_status status = broadcast_rows(run, true);
    if (status == HC_OK)
        status = broadcast_counters(run);
    if (status == HC_OK)
        status = broadcast_totals(run);
    return status == HC_OK ? hc_shared_compare(run) : status;
}

/* hashes[i] of the bits of row i. */
static enum hc_status hash_rows(struct hc_run *run, const struct hc_state_rows *rows,
                                uint64_t *hashes)
{
    const struct hc_backend *backend = run->device.backend;
    unsigned char *room = make_room(rows);
    enum hc_status status = room ? HC_OK : HC_NO_MEMORY;
    for (int i = 0; i < rows->count && status == HC_OK; i++) {
        const struct hc_tensor *t = &rows->row[i].tensor;
        status = backend->download(run->device.queue, room, t->data, hc_tensor_bytes(t));
        hashes[i] = hc_fnv(HC_FNV_START, room, hc_tensor_bytes(t));
    }
    free(room);
    return status;
}

/* all[rank * n + row]. Names the lowest rank that differs from rank 0, and its first row. */
static void find_other(struct hc_run *run, const struct hc_state_rows *rows, const uint64_t *all)
{
    int n = rows->count;
    for (int r = 1; r < run->parallel.ranks; r++)
        for (int i = 0; i < n && run->apart[0] == '\0'; i++)
            if (all[(ptrdiff_t)r * n + i] != all[i])
                (void)snprintf(run->apart, sizeof run->apart,
                               "rank %d has another %s than rank 0 after step %lld", r,
                               rows->row[i].name, (long long)run->totals.step);
}

static enum hc_status compare_rows(struct hc_run *run, const struct hc_state_rows *rows,
                                   uint64_t *hashes)
{
    size_t n = (size_t)rows->count;
    enum hc_status status = hash_rows(run, rows, hashes);
    status = hc_parallel_agree(&run->parallel, status, NULL);
    if (status == HC_OK)
        status = hc_comm_all_gather(run->parallel.comm, hashes, n * sizeof *hashes, hashes + n);
    if (status == HC_OK)
        find_other(run, rows, hashes + n);
    return status;
}

enum hc_status hc_shared_compare(struct hc_run *run)
{
    if (run->parallel.ranks == 1)
        return HC_OK;
    struct hc_state_rows *rows = hc_state_list(run->net, run->update);
    size_t n = rows ? (size_t)rows->count : 0;
    uint64_t *hashes = calloc((size_t)(run->parallel.ranks + 1) * n + 1, sizeof *hashes);
    enum hc_status status = rows && hashes ? compare_rows(run, rows, hashes)
                                           : hc_parallel_agree(&run->parallel, HC_NO_MEMORY, NULL);
    free(hashes);
    free(rows);
    return status;
}

/* The shards of a step: their gradients become one average, their losses one loss.

   Losses are gathered from all ranks, in the order of the shards, and every rank adds them up in
   this order, in fp64: the same bits for any number of ranks. */

/* What a shard reports. */
struct hc_shard_report {
    float loss;
    float right;
};

struct hc_shards {
    struct hc_reduction *reduction;
    struct hc_on_device *on_device; /* in its place, where GPUs add; or NULL */
    struct hc_gradient *gradients;  /* of the parameters; `data` in host memory */
    unsigned char *staged;          /* where the backend's memory is not the host's; or NULL */
    size_t staged_bytes;
    struct hc_shard_report *reports; /* of this rank's shards, then of all */
};

static struct hc_tensor parameter_gradient(const struct hc_run *run, int p)
{
    return hc_update_tensor(run->update, HC_STATE_GRADIENT, p);
}

/* Each gradient where it lies, or its place in host memory. */
static enum hc_status list_gradients(struct hc_run *run, struct hc_shards *shards)
{
    int n = hc_update_parameters(run->update);
    struct hc_parameter *const *parameters = hc_net_parameters(run->net);
    bool staged = !run->device.backend->host_memory;
    enum hc_status status = HC_OK;
    shards->gradients = calloc((size_t)n + 1, sizeof *shards->gradients);
    if (!shards->gradients)
        return hc_fail(HC_NO_MEMORY, "no memory for a list of %d gradients", n);
    for (int p = 0; p < n; p++) {
        struct hc_tensor t = parameter_gradient(run, p);
        shards->gradients[p] =
            (struct hc_gradient){.format = t.format,
                                 .held = hc_wrapper_held(run->options.recipe, t.format),
                                 .count = hc_tensor_count(&t),
                                 .layer = parameters[p]->layer,
                                 .data = t.data};
        shards->staged_bytes += (hc_tensor_bytes(&t) + 63) / 64 * 64;
    }
    if (staged)
        status = hc_on_device_open(&shards->on_device, run->options.recipe, run->parallel.comm,
                                   run->parallel.shards, &run->device, shards->gradients, n);
    if (!staged || shards->on_device || status != HC_OK)
        return status;
    shards->staged = aligned_alloc(64, shards->staged_bytes + 64);
    if (!shards->staged)
        return hc_fail(HC_NO_MEMORY, "no memory for gradients");
    unsigned char *at = shards->staged;
    for (int p = 0; p < n; p++) {
        struct hc_tensor t = parameter_gradient(run, p);
        shards->gradients[p].data = at;
        at += (hc_tensor_bytes(&t) + 63) / 64 * 64;
    }
    return HC_OK;
}

/* The ranks' largest `found` becomes everybody's. */
static enum hc_status agree_on_found(void *context)
{
    struct hc_run *run = context;
    struct hc_tensor found = hc_update_found(run->update);
    const struct hc_backend *backend = run->device.backend;
    float own = 0;
    enum hc_status status = backend->download(run->device.queue, &own, found.data, sizeof own);
    struct hc_agreement agreement = {.number = (double)own};
    status = hc_parallel_agree(&run->parallel, status, &agreement);
    float all = (float)agreement.number;
    if (status != HC_OK || all == own)
        return status;
    return backend->upload(run->device.queue, found.data, &all, sizeof all);
}

enum hc_status hc_shards_open(struct hc_run *run)
{
    const struct hc_parallel *parallel = &run->parallel;
    const struct hc_recipe *recipe = run->options.recipe;
    if (parallel->ranks > 1 && recipe->scaler.rule != HC_SCALER_NONE)
        hc_update_share(run->update, agree_on_found, run);
    if (parallel->shards == 1)
        return HC_OK;
    run->shards = calloc(1, sizeof *run->shards);
    if (!run->shards)
        return hc_fail(HC_NO_MEMORY, "no memory for shards");
    size_t reports = (size_t)(parallel->own + parallel->shards);
    run->shards->reports = calloc(reports, sizeof *run->shards->reports);
    enum hc_status status = run->shards->reports ? hc_net_hold_statistics(run->net, true)
                                                 : hc_fail(HC_NO_MEMORY, "no memory for shards");
    if (status == HC_OK)
        status = list_gradients(run, run->shards);
    if (run->shards->on_device)
        return status;
    return status == HC_OK ? hc_reduction_open(&run->shards->reduction, recipe, parallel->comm,
                                               parallel->shards, run->shards->gradients,
                                               hc_update_parameters(run->update))
                           : status;
}

void hc_shards_close(struct hc_run *run)
{
    if (!run->shards)
        return;
    hc_reduction_close(run->shards->reduction);
    hc_on_device_close(run->shards->on_device);
    free(run->shards->gradients);
    free(run->shards->staged);
    free(run->shards->reports);
    free(run->shards);
    run->shards = NULL;
}

/* Between the backend's memory and the host's, where they are two. */
static enum hc_status stage(struct hc_run *run, bool back)
{
    const struct hc_backend *backend = run->device.backend;
    enum hc_status status = HC_OK;
    for (int p = 0; run->shards->staged && p < hc_update_parameters(run->update) && status == HC_OK;
         p++) {
        struct hc_tensor t = parameter_gradient(run, p);
        void *host = run->shards->gradients[p].data;
        status = back ? backend->upload(run->device.queue, t.data, host, hc_tensor_bytes(&t))
                      : backend->download(run->device.queue, host, t.data, hc_tensor_bytes(&t));
    }
    return status;
}

enum hc_status hc_shards_add(struct hc_run *run, int shard)
{
    struct hc_shard_report *report = &run->shards->reports[shard];
    const struct hc_backend *backend = run->device.backend;
    enum hc_status status = backend->download(run->device.queue, &report->loss,
                                              hc_net_loss(run->net).data, sizeof report->loss);
    if (status == HC_OK)
        status = backend->download(run->device.queue, &report->right, hc_net_right(run->net).data,
                                   sizeof report->right);
    if (status == HC_OK && run->shards->on_device)
        return HC_OK;
    if (status == HC_OK)
        status = stage(run, false);
    if (status == HC_OK)
        hc_reduction_add(run->shards->reduction, run->shards->gradients);
    return status;
}

/* The loss as the net holds it: a mean over the batch, or a sum. */
static enum hc_status average_reports(struct hc_run *run)
{
    const struct hc_parallel *parallel = &run->parallel;
    const struct hc_backend *backend = run->device.backend;
    const struct hc_shard_report *own = run->shards->reports;
    struct hc_shard_report *all = run->shards->reports + parallel->own;
    double loss = 0;
    double right = 0;
    enum hc_status status =
        hc_comm_all_gather(parallel->comm, own, (size_t)parallel->own * sizeof *own, all);
    for (int s = 0; s < parallel->shards && status == HC_OK; s++) {
        loss += (double)all[s].loss;
        right += (double)all[s].right;
    }
    float mean = (float)(run->options.recipe->sum_loss ? loss : loss / parallel->shards);
    float count = (float)right;
    if (status == HC_OK)
        status = backend->upload(run->device.queue, hc_net_loss(run->net).data, &mean, sizeof mean);
    return status == HC_OK ? backend->upload(run->device.queue, hc_net_right(run->net).data, &count,
                                             sizeof count)
                           : status;
}

enum hc_status hc_shards_average(struct hc_run *run)
{
    enum hc_status status =
        run->shards->on_device
            ? hc_on_device_average(run->shards->on_device)
            : hc_reduction_finish(run->shards->reduction, run->shards->gradients, NULL);
    if (status == HC_OK)
        status = average_reports(run);
    return status == HC_OK ? stage(run, true) : status;
}

/* A run whose ranks are threads of this process. */

struct job {
    struct hc_train_options options; /* of every rank, but for its comm */
    struct hc_train_result *result;
    enum hc_status status; /* rank 0's */
};

/* What all ranks know of is rank 0's to say. */
static enum hc_status train_rank(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    struct hc_train_options options = job->options;
    struct hc_train_result result;
    options.comm = comm;
    enum hc_status status = hc_train(&options, &result);
    if (comm->rank == 0) {
        *job->result = result;
        job->status = status;
    }
    return status != HC_OK && (result.says && comm->rank > 0) ? status : HC_OK;
}

enum hc_status hc_train_ranks(const struct hc_train_options *options, int ranks,
                              struct hc_train_result *result)
{
    const struct hc_backend *backend = options->backend;
    struct job job = {.options = *options, .result = result};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = options->threads > 0 ? options->threads : (int)cores;
    memset(result, 0, sizeof *result);
    if (ranks < 1 || ranks > HC_MAX_THREAD_RANKS)
        return hc_fail(HC_INVALID, "ranks in one process are 1 to %d, not %d", HC_MAX_THREAD_RANKS,
                       ranks);
    job.options.comm = NULL;
    if (ranks == 1)
        return hc_train(&job.options, result);
    if (!backend->host_memory || !backend->concurrent)
        return hc_fail(HC_INVALID,
                       "%s: its queues do not work beside each other, as ranks in one process must",
                       backend->name);
    job.options.threads = threads > ranks ? threads / ranks : 1;
    enum hc_status status = hc_comm_threads(ranks, train_rank, &job);
    return status != HC_OK ? status : job.status;
}
