/* The shards of a step: their gradients become one average, their losses one loss.

   Losses are gathered from all ranks, in the order of the shards, and every rank adds them up in
   this order, in fp64: the same bits for any number of ranks. */
#include <stdlib.h>
#include <string.h>

#include "train/parallel/on_device.h"
#include "train/run/shared.h"

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

static struct hc_tensor gradient(const struct hc_run *run, int p)
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
        struct hc_tensor t = gradient(run, p);
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
        struct hc_tensor t = gradient(run, p);
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
        struct hc_tensor t = gradient(run, p);
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
