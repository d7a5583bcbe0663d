#include "train/parallel/step_model.h"

#include <assert.h>
#include <math.h>

enum { GRADIENTS = 3 * HC_MAX_LAYERS };

int hc_step_model_gradients(const struct hc_recipe *recipe, const struct hc_plan *plan,
                            struct hc_gradient *gradients, int room, int64_t *macs)
{
    int n = 0;
    for (int l = 0; l < plan->layers; l++) {
        const struct hc_layer *layer = &plan->layer[l];
        if (macs)
            macs[l] = layer->macs;
        for (int p = 0; p < layer->parameters && n < room; p++) {
            enum hc_format format = layer->role[p] == HC_ROLE_NORM ? recipe->norm : recipe->model;
            gradients[n++] = (struct hc_gradient){.format = format,
                                                  .held = hc_wrapper_held(recipe, format),
                                                  .count = layer->elements[p],
                                                  .layer = l};
        }
    }
    return n;
}

/* done[l] is when the gradients of layer l are there. */
static void pass_backward(const struct hc_plan *plan, const int64_t *macs, double alone,
                          double done[HC_MAX_LAYERS])
{
    double at = alone / 3;
    for (int l = plan->layers - 1; l >= 0; l--) {
        at += alone * 2 / 3 * (double)macs[l] / (double)plan->macs;
        done[l] = at;
    }
}

/* When the last gradient of a bucket is there. */
static double ready(const struct hc_buckets *buckets, const struct hc_bucket *bucket,
                    const struct hc_gradient *gradients, const double done[HC_MAX_LAYERS])
{
    double last = 0;
    for (int i = 0; i < bucket->n; i++)
        last = fmax(last, done[gradients[buckets->order[bucket->first + i]].layer]);
    return last;
}

/* Adds the bucket's all-reduce, and returns its seconds. */
static double add_bucket(const struct hc_step_model *m, const struct hc_bucket *bucket,
                         struct hc_step_time *time)
{
    struct hc_wrapper wrapper = hc_wrapper_of(m->recipe);
    struct hc_all_reduce how =
        hc_wrapper_all_reduce(&wrapper, bucket->held, m->ranks, m->recipe->sum_loss);
    size_t bytes = (size_t)hc_formats[how.sum].bytes;
    double takes = hc_model_all_reduce(m->cluster, how.algorithm, m->ranks, bucket->count, bytes);
    struct hc_sent sent = hc_schedule_sent(how.algorithm, m->ranks, 0, bucket->count, bytes);
    time->buckets++;
    time->reduction += takes;
    time->bytes += bucket->count * (int64_t)bytes;
    time->sent.messages += sent.messages;
    time->sent.bytes += sent.bytes;
    return takes;
}

/* In the order in which they are ready, which is that of the real ones. */
static void reduce_time(const struct hc_step_model *m, const struct hc_buckets *buckets,
                        const struct hc_gradient *gradients, const double done[HC_MAX_LAYERS],
                        struct hc_step_time *time)
{
    double at[GRADIENTS]; /* HUGE_VAL: it is reduced */
    double end = 0;
    for (int b = 0; b < buckets->n; b++)
        at[b] = ready(buckets, &buckets->bucket[b], gradients, done);
    for (int k = 0; k < buckets->n; k++) {
        int first = 0;
        for (int b = 1; b < buckets->n; b++)
            first = at[b] < at[first] ? b : first;
        end = fmax(end, at[first]) + add_bucket(m, &buckets->bucket[first], time);
        at[first] = HUGE_VAL;
    }
    time->step = fmax(m->alone, end);
    time->in_turns = m->alone + time->reduction;
}

enum hc_status hc_step_model(const struct hc_step_model *model, struct hc_step_time *time)
{
    struct hc_gradient gradients[GRADIENTS];
    int64_t macs[HC_MAX_LAYERS] = {0};
    double done[HC_MAX_LAYERS];
    struct hc_buckets buckets;
    struct hc_wrapper wrapper = hc_wrapper_of(model->recipe);
    int n = hc_step_model_gradients(model->recipe, model->plan, gradients, GRADIENTS, macs);
    assert(n == model->plan->parameters && model->plan->layers <= HC_MAX_LAYERS);
    *time = (struct hc_step_time){0};
    enum hc_status status = hc_buckets_open(&buckets, &wrapper, gradients, n);
    if (status != HC_OK)
        return status;
    pass_backward(model->plan, macs, model->alone, done);
    reduce_time(model, &buckets, gradients, done, time);
    hc_buckets_close(&buckets);
    return HC_OK;
}
