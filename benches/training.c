/* A training step of Darknet-16: forward, backward, metrics and update, on a batch that stays. */
#include <assert.h>
#include <stddef.h>

#include "bench.h"

enum { BATCH = 64, CLASSES = 10, SUBJECTS = 3 };

struct subject {
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    struct hc_metrics *metrics;
};

struct bench {
    struct subject subjects[SUBJECTS];
    float images[BATCH * 32 * 32 * 3];
    int32_t labels[BATCH];
    struct hc_histogram histogram;
};

static const char *const recipes[SUBJECTS] = {"fp32", "fp16-dynamic", "bf16"};

static enum hc_status open_subject(struct subject *s, const struct hc_recipe *recipe)
{
    struct hc_tensor gradients[3 * HC_MAX_LAYERS];
    s->device.backend = hc_backend_by_name("host");
    enum hc_status status = s->device.backend->open(&s->device.queue, 0);
    if (status == HC_OK)
        status = hc_net_open(&s->net, &s->device, &hc_darknet16, CLASSES, BATCH, 1);
    if (status != HC_OK)
        return status;
    int n = hc_net_plan(s->net)->parameters;
    status = hc_update_open(&s->update, &s->device, recipe, hc_net_parameters(s->net), n);
    for (int i = 0; status == HC_OK && i < n; i++)
        gradients[i] = hc_update_tensor(s->update, HC_PIECE_GRADIENT, i);
    if (status == HC_OK)
        status = hc_net_prepare(s->net, recipe, gradients);
    if (status == HC_OK)
        status = hc_metrics_open(&s->metrics, &s->device, s->net, s->update);
    return status;
}

static void close_subject(struct subject *s)
{
    hc_metrics_close(s->metrics);
    hc_update_close(s->update);
    hc_net_close(s->net);
    hc_device_end(&s->device);
    if (s->device.queue)
        s->device.backend->close(s->device.queue);
    *s = (struct subject){0};
}

static void step(struct bench *bench, struct subject *s)
{
    struct hc_tensor scale = hc_update_scale(s->update);
    float loss;
    int right;
    enum hc_status status =
        hc_net_train(s->net, bench->images, bench->labels, &scale, &loss, &right);
    if (status == HC_OK)
        status = hc_metrics_before(s->metrics, &bench->histogram);
    if (status == HC_OK)
        status = hc_update_step(s->update, 1e-4, 0.9);
    if (status == HC_OK)
        status = hc_metrics_after(s->metrics, 1e-4, 0.9);
    assert(status == HC_OK);
    (void)status;
}

static void first(void *context)
{
    struct bench *bench = context;
    step(bench, &bench->subjects[0]);
}

static void second(void *context)
{
    struct bench *bench = context;
    step(bench, &bench->subjects[1]);
}

static void third(void *context)
{
    struct bench *bench = context;
    step(bench, &bench->subjects[2]);
}

static void images_a_second(struct hc_bench_run *run)
{
    static struct bench bench;
    void (*const works[SUBJECTS])(void *) = {first, second, third};
    double seconds[SUBJECTS];
    enum hc_status status = HC_OK;
    for (size_t i = 0; i < sizeof bench.images / sizeof bench.images[0]; i++)
        bench.images[i] = (float)hc_random_normal(1, 0, i);
    for (int i = 0; i < BATCH; i++)
        bench.labels[i] = i % CLASSES;
    for (int s = 0; s < SUBJECTS && status == HC_OK; s++)
        status = open_subject(&bench.subjects[s], hc_recipe_by_name(recipes[s]));
    if (status != HC_OK)
        hc_bench_skip(run, hc_message());
    else
        hc_bench_time(works, SUBJECTS, &bench, 5, 2, seconds);
    for (int s = 0; s < SUBJECTS && status == HC_OK; s++)
        hc_bench_rate(run, &(struct hc_rate){.what = recipes[s],
                                             .rate = BATCH / seconds[s],
                                             .unit = "images/s",
                                             .against = s ? "fp32" : NULL,
                                             .other = BATCH / seconds[0],
                                             .least = s ? 0.75 : 0});
    for (int s = 0; s < SUBJECTS; s++)
        close_subject(&bench.subjects[s]);
}

static const struct hc_bench benches[] = {
    {"training/darknet16",
     "a step of Darknet-16, batch 64, in images a second: 16-bit recipes against fp32",
     images_a_second},
};

const struct hc_bench_table hc_benches_training;
const struct hc_bench_table hc_benches_training = {benches, 1};
