/* Steps: queued in blocks, replayed as a graph, and read from the step log afterwards.

   A training step on a device should wait for nothing. So many steps are queued at once, and each
   leaves its loss, its scale and whether it overflowed in a row of a log on the device, which is
   read when the block is done. Since the arguments of a step's ops never change, the step can be
   captured as a graph once and then be replayed. A step that is measured or dumped comes alone: its
   gradients are looked at on the way, and its weights before and after the update. */
#include <stdio.h>
#include <stdlib.h>

#include "train/run/trainer_inner.h"

/* Rows of the step log of a device. In host memory each step is read as it ends. */
enum { ROWS = 256 };

static struct hc_rates rates(const struct hc_run *run, int64_t step)
{
    const struct hc_train_options *o = &run->options;
    if (o->schedule)
        return o->schedule(step, o->plan);
    return o->network->gpt ? hc_warmup_cosine(o->max_lr, run->steps / 10, run->steps, step)
                           : hc_one_cycle(o->max_lr, run->steps, step);
}

static enum hc_status schedule(struct hc_run *run)
{
    struct hc_rates *all = malloc((size_t)run->steps * sizeof *all);
    if (!all)
        return hc_fail(HC_NO_MEMORY, "no memory for a schedule");
    for (int64_t s = 0; s < run->steps; s++)
        all[s] = rates(run, s);
    enum hc_status status = hc_update_schedule(run->update, all, run->steps);
    free(all);
    return status;
}

enum hc_status hc_steps_open(struct hc_run *run)
{
    run->rows = run->device.backend->host_memory || run->shards ? 1 : ROWS;
    run->step_log = malloc((size_t)run->rows * sizeof *run->step_log);
    if (!run->step_log)
        return hc_fail(HC_NO_MEMORY, "no memory for a step log");
    enum hc_status status = schedule(run);
    if (status == HC_OK)
        status = hc_update_step_log(run->update, run->rows, hc_net_loss(run->net),
                                    hc_net_right(run->net));
    hc_metrics_watch(run->metrics, false);
    return status == HC_OK ? hc_update_counters(run->update, &run->counters) : status;
}

void hc_steps_close(struct hc_run *run)
{
    if (run->graph)
        run->device.backend->forget(run->device.queue, run->graph);
    run->graph = NULL;
    run->device.held = false;
    free(run->step_log);
}

static enum hc_status update_step(struct hc_run *run, int64_t step)
{
    if (hc_update_is_fixed(run->update))
        return hc_update_queue(run->update);
    struct hc_rates r = rates(run, step);
    return hc_update_step(run->update, r.lr, r.beta1);
}

/* `piece` counts the pieces of batches that all ranks have passed through, from the run's start. */
static enum hc_status forward_and_back(struct hc_run *run, int64_t piece)
{
    struct hc_tensor scale = hc_update_scale(run->update);
    enum hc_status status = hc_feed_make(run->train);
    if (hc_net_quant(run->net))
        hc_quant_step(hc_net_quant(run->net), run->options.seed, piece);
    hc_net_feed(run->net, hc_feed_images(run->train), hc_feed_labels(run->train));
    return status == HC_OK ? hc_net_queue_train(run->net, &scale) : status;
}

/* The same for each of this rank's shards, then the average over all. The first shard alone moves
   the running statistics, and only rank 0's are ever read: those of one shard, as where one rank
   has one shard and the others' statistics are overwritten with its own (torch's DDP). Metrics look
   at that shard, too. */
static enum hc_status passes(struct hc_run *run, int64_t step)
{
    enum hc_status status = HC_OK;
    int64_t piece = step * run->parallel.shards + run->parallel.first;
    if (!run->shards)
        return forward_and_back(run, piece);
    for (int s = 0; s < run->parallel.own && status == HC_OK; s++) {
        if (s > 0) {
            hc_metrics_watch(run->metrics, false);
            hc_quant_metrics_watch(run->quant, false);
            status = hc_feed_prepare(run->train);
        }
        if (status == HC_OK)
            status = hc_net_hold_statistics(run->net, run->parallel.first + s > 0);
        if (status == HC_OK)
            status = forward_and_back(run, piece + s);
        if (status == HC_OK)
            status = hc_shards_add(run, s);
    }
    if (status != HC_OK && run->options.recipe->norm_sync) {
        run->parallel.ended = true; /* the others wait within a pass, and not to agree */
        return status;
    }
    status = hc_parallel_agree(&run->parallel, status, NULL);
    return status == HC_OK ? hc_shards_average(run) : status;
}

static struct hc_work work_of(const struct hc_run *run)
{
    const struct hc_backend *backend = run->device.backend;
    return backend->work ? backend->work(run->device.queue) : (struct hc_work){0};
}

/* Also counts what the step gives to the backend. */
static enum hc_status plain_step(struct hc_run *run, int64_t step)
{
    struct hc_work before = work_of(run);
    enum hc_status status = passes(run, step);
    if (status == HC_OK)
        status = update_step(run, step);
    struct hc_work after = work_of(run);
    run->work = (struct hc_work){.kernels = after.kernels - before.kernels,
                                 .calls = after.calls - before.calls,
                                 .copies = after.copies - before.copies,
                                 .bytes = after.bytes - before.bytes};
    return status;
}

/* A step that is measured, dumped or both. */
static enum hc_status observed(struct hc_run *run, int64_t step, bool measures, bool dumps)
{
    struct hc_rates r = rates(run, step);
    struct hc_rates last = rates(run, step > 0 ? step - 1 : step);
    enum hc_status status = dumps ? hc_dump_before(run) : HC_OK;
    hc_metrics_watch(run->metrics, measures);
    hc_quant_metrics_watch(run->quant, measures);
    if (status == HC_OK)
        status = passes(run, step);
    hc_metrics_watch(run->metrics, false);
    hc_quant_metrics_watch(run->quant, false);
    if (status == HC_OK && measures)
        status = hc_metrics_before(run->metrics, &run->totals.histogram);
    if (status == HC_OK && dumps)
        status = hc_dump_passes(run);
    if (status == HC_OK)
        status = update_step(run, step);
    if (status == HC_OK && measures)
        status = hc_metrics_after(run->metrics, r.lr, r.beta1);
    return status == HC_OK && dumps ? hc_dump_after(run, r, step > 0 ? &last : NULL) : status;
}

/* Captures a step, once in a call and after a first step, which has made the backend's plans and
   scratch. If it cannot be captured, steps are queued as before, and run->captured says why. */
static void capture(struct hc_run *run)
{
    const struct hc_backend *backend = run->device.backend;
    struct hc_queue *queue = run->device.queue;
    const char *why = NULL;
    run->tried = true;
    if (!backend->capture)
        why = "the backend has no graphs";
    else if (run->shards)
        why = "gradients are averaged in host memory";
    else if (hc_net_quant(run->net) && hc_quant_is_random(hc_quant_of(run->options.recipe)))
        why = "the random bits of what is quantised take their step from the host";
    else if (!hc_update_is_fixed(run->update))
        why = "the decay of the model's copy takes its factor from the host";
    else if (backend->capture(queue) != HC_OK)
        why = hc_message();
    if (why) {
        (void)snprintf(run->captured, sizeof run->captured, "not captured: %s", why);
        return;
    }
    enum hc_status status = plain_step(run, 0);
    if (status != HC_OK)
        (void)snprintf(run->captured, sizeof run->captured, "not captured: %s", hc_message());
    enum hc_status ended = backend->captured(queue, &run->graph);
    if (status == HC_OK && ended != HC_OK)
        (void)snprintf(run->captured, sizeof run->captured, "not captured: %s", hc_message());
    if (status != HC_OK && run->graph) {
        backend->forget(queue, run->graph);
        run->graph = NULL;
    }
    if (run->graph)
        (void)snprintf(run->captured, sizeof run->captured, "captured");
    run->device.held = run->graph != NULL;
}

static enum hc_status one_step(struct hc_run *run, int64_t step, bool measures)
{
    enum hc_status status = hc_feed_prepare(run->train);
    if (status != HC_OK)
        return status;
    bool dumps = hc_dump_next(run, step) == step;
    measures = measures && run->parallel.rank == 0;
    if (measures || dumps)
        status = observed(run, step, measures, dumps);
    else if (run->graph)
        status = run->device.backend->replay(run->device.queue, run->graph);
    else
        status = plain_step(run, step);
    if (status == HC_OK && !run->tried)
        capture(run);
    return status;
}

enum hc_status hc_steps_run(struct hc_run *run, int64_t n, bool measures)
{
    enum hc_status status = HC_OK;
    for (int64_t i = 0; i < n && status == HC_OK; i++)
        status = one_step(run, run->totals.step + i, measures);
    if (status == HC_OK)
        status = hc_update_read_step_log(run->update, run->step_log);
    return status == HC_OK ? hc_update_counters(run->update, &run->counters) : status;
}

struct hc_step_facts hc_steps_facts(const struct hc_run *run, int64_t step)
{
    const struct hc_step_log_row *row = &run->step_log[step % run->rows];
    struct hc_rates r = rates(run, step);
    return (struct hc_step_facts){.loss = hc_net_mean_loss(run->net, row->loss, run->options.batch),
                                  .right = (int)row->right,
                                  .scale = row->scale,
                                  .skipped = row->found != 0 && hc_update_skips(run->update),
                                  .lr = r.lr,
                                  .beta1 = r.beta1};
}
