/* What a training step gives to the backend cuda, by the count of cuda-counted. */
#include "train/run/testing.h"

TestSuite(step_work, .init = open_data, .fini = remove_folder);

enum { NEVER = 1 << 30 };

static struct hc_work given; /* to the last queue that was closed */

static void close_counted(struct hc_queue *queue)
{
    const struct hc_backend *counted = hc_backend_by_name("cuda-counted");
    given = counted->work(queue);
    counted->close(queue);
}

static struct hc_work work_of(const char *recipe, int batch)
{
    struct hc_train_result result;
    struct hc_train_options o = options(recipe);
    struct hc_backend backend = *hc_backend_by_name("cuda-counted");
    backend.close = close_counted;
    struct hc_data_options few = {.seed = 5, .train_per_class = batch, .test_per_class = 1};
    hc_dataset_close(&data);
    cr_assert_eq(hc_dataset_open(&few, &data), HC_OK, "%s", hc_message());
    o.backend = &backend;
    o.network = &hc_darknet16;
    o.batch = batch;
    o.epochs = 1;
    o.measure_every = NEVER;
    o.out = NULL;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert_str_eq(result.captured, "captured");
    return result.step_work;
}

/* Batch norm over more than 4,096 rows takes two launches each way, over fewer one. Nothing is
   copied in a step, and nobody waits. */
static void expect_at_most(const char *recipe, int batch, int64_t kernels, double bytes)
{
    struct hc_work work = work_of(recipe, batch);
    cr_expect_leq(work.kernels, kernels, "%s, batch %d: %lld", recipe, batch,
                  (long long)work.kernels);
    cr_expect_eq(work.calls, 71 + 4, "convolutions and products: %lld", (long long)work.calls);
    cr_expect_eq(work.copies, 0);
    cr_expect(work.bytes > bytes / 2 && work.bytes <= bytes, "%s, batch %d: %g bytes", recipe,
              batch, work.bytes);
}

Test(step_work, of_a_captured_step_stays_within_its_launches_and_bytes)
{
    expect_at_most("amp", 64, 80, 0.58e9);
    expect_at_most("amp", 1024, 100, 5.77e9);
    expect_at_most("fp32", 1024, 96, 11.2e9);
}

/* Bytes of the activations and their gradients, each written once and read as often as a step needs
   it that calls a library for its convolutions. A convolution reads its input, and its gradients
   read it and write its gradient. Batch norm reads the convolution's output for the statistics and
   again to write its own; backward it reads that output and the gradient twice and writes one,
   which both gradients of the convolution read: eleven times the output in all. A residual reads
   the skipped side and writes a sum; backward it reads a second gradient and writes their sum. */
static double least_bytes(int batch, double bytes)
{
    struct hc_plan plan;
    double elements = 0;
    hc_plan_make(&hc_darknet16, HC_CLASSES, &plan);
    for (int l = 0; l < plan.layers; l++) {
        const struct hc_layer *layer = &plan.layer[l];
        const struct hc_layer *below = layer->in ? &plan.layer[layer->in - 1] : NULL;
        double in = below ? (double)below->side * below->side * below->channels : 32 * 32 * 3;
        double out = (double)layer->side * layer->side * layer->channels;
        if (layer->kind == HC_LAYER_CONV)
            elements += (below ? 3 : 2) * in + 11 * out;
        else if (layer->kind == HC_LAYER_ADD)
            elements += 4 * out;
    }
    return elements * batch * bytes;
}

Test(step_work, moves_at_most_1_3_times_the_least_bytes)
{
    double ratio = work_of("amp", 1024).bytes / least_bytes(1024, 2);
    cr_expect(ratio >= 1 && ratio <= 1.3, "amp: %g", ratio);
    ratio = work_of("fp32", 1024).bytes / least_bytes(1024, 4);
    cr_expect(ratio >= 1 && ratio <= 1.3, "fp32: %g", ratio);
}

/* A tensor is written by one copy, or cleared by one, however long it is. */
Test(step_work, of_a_whole_training_has_as_many_copies_as_tensors)
{
    (void)work_of("amp", 64);
    cr_expect_leq(given.copies, 1400, "%lld copies", (long long)given.copies);
    (void)work_of("amp", 1024);
    cr_expect_leq(given.copies, 1400, "%lld copies", (long long)given.copies);
}
