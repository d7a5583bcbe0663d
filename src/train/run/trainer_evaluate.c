/* The test set, evaluated batch by batch: by one rank, or by all in turns. */
#include <math.h>
#include <stdlib.h>

#include "train/run/shared.h"

/* What is found out about a batch. */
struct result {
    float loss;
    float right;
};

static int64_t all_batches(const struct hc_run *run)
{
    struct hc_batch_stream stream = {.set = run->options.data, .batch = run->parallel.images};
    return hc_batch_stream_batches(&stream);
}

/* How many of the batches are this rank's. */
static int64_t own_batches(const struct hc_run *run, int64_t batches)
{
    const struct hc_parallel *p = &run->parallel;
    return (batches - p->rank + p->ranks - 1) / p->ranks;
}

/* A rank without a batch takes what it never asks for. */
struct hc_batch_take hc_evaluation_take(const struct hc_run *run)
{
    int64_t batches = all_batches(run);
    int64_t own = own_batches(run, batches);
    const struct hc_parallel *p = &run->parallel;
    return own > 0 ? (struct hc_batch_take){batches, p->rank, p->ranks, own}
                   : (struct hc_batch_take){0};
}

/* Queues batch b of the test set. */
static enum hc_status queue_test(struct hc_run *run, int64_t b)
{
    enum hc_status status = hc_feed_prepare(run->test);
    if (status == HC_OK)
        status = hc_feed_make(run->test);
    hc_net_feed(run->net, hc_feed_images(run->test), hc_feed_labels(run->test));
    return status == HC_OK ? hc_net_queue_infer(run->net, hc_feed_count(run->test, b),
                                                hc_storage_element(run->results, 2 * b),
                                                hc_storage_element(run->results, 2 * b + 1))
                           : status;
}

/* This rank's batches are queued one after the other, and read when all are. all[r * batches + b]
   is what rank r has for batch b. */
static enum hc_status infer(struct hc_run *run, int64_t batches, struct result *all)
{
    const struct hc_parallel *p = &run->parallel;
    struct result *own = all + p->rank * batches;
    enum hc_status status = HC_OK;
    for (int64_t b = p->rank; b < batches && status == HC_OK; b += p->ranks)
        status = queue_test(run, b);
    if (status == HC_OK)
        status = hc_storage_read(run->results, own);
    status = hc_parallel_agree(&run->parallel, status, NULL);
    return status == HC_OK ? hc_comm_all_gather(p->comm, own, (size_t)batches * sizeof *own, all)
                           : status;
}

/* In the order of the batches, whoever had them. */
static void add_up(struct hc_run *run, int64_t batches, const struct result *all)
{
    double sum = 0;
    double images = 0;
    double right = 0;
    for (int64_t b = 0; b < batches; b++) {
        const struct result *r = &all[b % run->parallel.ranks * batches + b];
        int count = hc_feed_count(run->test, b);
        sum += (double)hc_net_mean_loss(run->net, r->loss, count) * count;
        right += (double)r->right;
        images += count;
    }
    run->totals.test_loss = sum / images;
    /* NaN outputs tell no classes apart, even if one of them comes first. */
    run->totals.accuracy = isnan(sum) ? (double)NAN : right / images;
}

enum hc_status hc_evaluate(struct hc_run *run)
{
    int64_t batches = hc_feed_batches(run->test);
    struct result *all = calloc((size_t)(batches * run->parallel.ranks), sizeof *all);
    enum hc_status status = hc_shared_statistics(run);
    if (status == HC_OK && !all)
        status =
            hc_fail(HC_NO_MEMORY, "no memory for the results of %lld batches", (long long)batches);
    if (status == HC_OK)
        status = infer(run, batches, all);
    if (status == HC_OK)
        add_up(run, batches, all);
    free(all);
    return status;
}
