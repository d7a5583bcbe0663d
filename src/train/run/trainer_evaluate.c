/* The test set, at the end of an epoch: batch after batch is queued, and looked at when all are. */
#include <math.h>
#include <stdlib.h>

#include "train/run/trainer_inner.h"

static enum hc_status queue(struct hc_run *run, int64_t b)
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

enum hc_status hc_run_evaluate(struct hc_run *run)
{
    int64_t batches = hc_feed_batches(run->test);
    float *results = malloc(2 * (size_t)batches * sizeof *results);
    double sum = 0;
    double images = 0;
    double right = 0;
    if (!results)
        return hc_fail(HC_NO_MEMORY, "no memory for the results of %lld batches",
                       (long long)batches);
    enum hc_status status = HC_OK;
    for (int64_t b = 0; b < batches && status == HC_OK; b++)
        status = queue(run, b);
    if (status == HC_OK)
        status = hc_storage_read(run->results, results);
    for (int64_t b = 0; b < batches && status == HC_OK; b++) {
        int count = hc_feed_count(run->test, b);
        sum += (double)hc_net_mean_loss(run->net, results[2 * b], count) * count;
        right += (double)results[2 * b + 1];
        images += count;
    }
    free(results);
    run->tally.test_loss = sum / images;
    /* Outputs that are no numbers tell nothing apart, though one of them stands first. */
    run->tally.accuracy = isnan(sum) ? (double)NAN : right / images;
    return status;
}
