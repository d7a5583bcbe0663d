/* The test set, evaluated batch by batch: by one rank, or by all in turns. The last evaluation also
   writes down what the network takes each image for, so that two runs can be compared image by
   image; reading that makes the host wait for each batch, which the others do not. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/output.h"
#include "train/run/trainer_inner.h"

/* What is found out about a batch. */
struct result {
    float loss;
    float right;
};

/* What an evaluation finds out, first about this rank's batches, then about those of all. */
struct evaluation {
    int64_t batches;
    struct result *result;  /* [rank * batches + batch] */
    int64_t images;         /* 0 where no classes are asked for */
    unsigned char *classes; /* [rank * images + image] */
};

/* A rank without a batch takes what it never asks for. */
struct hc_batch_take hc_evaluation_take(const struct hc_run *run)
{
    const struct hc_parallel *p = &run->parallel;
    struct hc_batch_stream stream = {.set = run->options.data, .batch = p->images};
    int64_t batches = hc_batch_stream_batches(&stream);
    int64_t own = (batches - p->rank + p->ranks - 1) / p->ranks;
    return own > 0 ? (struct hc_batch_take){batches, p->rank, p->ranks, own}
                   : (struct hc_batch_take){0};
}

/* The class of the largest logit by the rule of the op xent: the first of equal ones, and a NaN is
   nothing. HC_CLASSES if all are NaN. */
static unsigned char largest_logit(const struct hc_tensor *logits, int64_t row)
{
    int64_t classes = logits->shape[1];
    int64_t best = HC_CLASSES;
    double most = 0;
    for (int64_t c = 0; c < classes; c++) {
        double z = hc_tensor_get(logits, row * classes + c);
        if (isnan(z) || (best < HC_CLASSES && !(z > most)))
            continue;
        best = c;
        most = z;
    }
    return (unsigned char)best;
}

/* The classes of batch b, which has been queued. */
static enum hc_status read_classes(struct hc_run *run, int64_t b, unsigned char *classes)
{
    const struct hc_device *device = &run->device;
    struct hc_tensor logits = hc_net_value(run->net, hc_net_plan(run->net)->layers);
    size_t bytes = hc_tensor_bytes(&logits);
    const void *from = logits.data;
    logits.data = malloc(bytes);
    if (!logits.data)
        return hc_fail(HC_NO_MEMORY, "no memory for the logits of a batch");
    enum hc_status status = device->backend->download(device->queue, logits.data, from, bytes);
    int count = hc_feed_count(run->test, b);
    for (int i = 0; i < count && status == HC_OK; i++)
        classes[b * run->parallel.images + i] = largest_logit(&logits, i);
    free(logits.data);
    return status;
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

/* This rank's batches are queued one after the other, and read when all are. */
static enum hc_status infer(struct hc_run *run, struct evaluation *e)
{
    assert(e->result && e->classes);
    const struct hc_parallel *p = &run->parallel;
    struct result *result = e->result + p->rank * e->batches;
    unsigned char *classes = e->classes + p->rank * e->images;
    enum hc_status status = HC_OK;
    for (int64_t b = p->rank; b < e->batches && status == HC_OK; b += p->ranks) {
        status = queue_test(run, b);
        if (status == HC_OK && e->images > 0)
            status = read_classes(run, b, classes);
    }
    if (status == HC_OK)
        status = hc_storage_read(run->results, result);
    status = hc_parallel_agree(&run->parallel, status, NULL);
    if (status == HC_OK)
        status =
            hc_comm_all_gather(p->comm, result, (size_t)e->batches * sizeof *result, e->result);
    return status == HC_OK && e->images > 0
               ? hc_comm_all_gather(p->comm, classes, (size_t)e->images, e->classes)
               : status;
}

/* In the order of the batches, whoever had them. */
static void add_up(struct hc_run *run, const struct evaluation *e)
{
    double sum = 0;
    double images = 0;
    double right = 0;
    for (int64_t b = 0; b < e->batches; b++) {
        const struct result *r = &e->result[b % run->parallel.ranks * e->batches + b];
        int count = hc_feed_count(run->test, b);
        sum += (double)hc_net_mean_loss(run->net, r->loss, count) * count *
               hc_net_plan(run->net)->places;
        right += (double)r->right;
        images += (double)count * hc_net_plan(run->net)->places;
    }
    run->totals.test_loss = sum / images;
    /* NaN outputs tell no classes apart, even if one of them comes first. */
    run->totals.accuracy = isnan(sum) ? (double)NAN : right / images;
}

struct page {
    const struct hc_run *run;
    const struct evaluation *evaluation;
};

static void print_classes(FILE *out, const void *context)
{
    enum { ROW = 100 };
    const struct page *page = context;
    const struct evaluation *e = page->evaluation;
    const struct hc_parallel *p = &page->run->parallel;
    (void)fputs("first,labels,predicted\n", out);
    for (int64_t first = 0; first < e->images; first += ROW) {
        char labels[ROW + 1] = "";
        char predicted[ROW + 1] = "";
        for (int64_t i = first; i < e->images && i < first + ROW; i++) {
            unsigned char class = e->classes[i / p->images % p->ranks * e->images + i];
            labels[i - first] = (char)('0' + page->run->options.data->test.labels[i]);
            predicted[i - first] = class < HC_CLASSES ? (char)('0' + class) : '-';
        }
        (void)fprintf(out, "%lld,%s,%s\n", (long long)first, labels, predicted);
    }
}

static enum hc_status write_classes(const struct hc_run *run, const struct evaluation *e)
{
    char path[HC_MAX_PATH];
    struct page page = {run, e};
    if (!run->options.out)
        return HC_OK;
    (void)snprintf(path, sizeof path, "%s/predictions.csv", run->options.out);
    return hc_output_print(path, print_classes, &page);
}

enum hc_status hc_evaluate(struct hc_run *run)
{
    int64_t ranks = run->parallel.ranks;
    struct evaluation e = {.batches = hc_feed_batches(run->test),
                           .images = hc_run_over(run) && !run->options.data->text.bytes
                                         ? run->options.data->test.count
                                         : 0};
    e.result = calloc((size_t)(e.batches * ranks), sizeof *e.result);
    e.classes = calloc((size_t)(e.images * ranks + 1), sizeof *e.classes);
    enum hc_status status = hc_shared_statistics(run);
    if (status == HC_OK && (!e.result || !e.classes))
        status = hc_fail(HC_NO_MEMORY, "no memory for the results of %lld batches",
                         (long long)e.batches);
    if (status == HC_OK)
        status = infer(run, &e);
    if (status == HC_OK)
        add_up(run, &e);
    if (status == HC_OK && e.images > 0)
        status = write_classes(run, &e);
    free(e.result);
    free(e.classes);
    return status;
}
