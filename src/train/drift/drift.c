#include "train/drift/drift.h"

#include <stdlib.h>
#include <string.h>

#include "train/drift/drift_sources.h"
#include "train/drift/drift_baseline.h"
#include "train/data/loader.h"

struct hc_drift_study {
    struct hc_drift_options options;
    struct hc_drift_batches batches;
    struct hc_queue *queue;
    struct hc_drift_baseline *worlds;

    /* Of the recipe that is measured. */
    double *g;
    double *end;
    float *scale; /* of both runs */
};

static enum hc_status gather(struct hc_drift_study *study)
{
    const struct hc_drift_options *o = &study->options;
    struct hc_drift_batches *b = &study->batches;
    struct hc_batch_stream stream = {o->data, true, o->batch, o->seed};
    struct hc_loader *loader = NULL;
    size_t steps = (size_t)o->steps;
    b->batch = o->batch;
    b->floats = (int64_t)o->batch * HC_IMAGE_BYTES;
    b->images = malloc(steps * (size_t)b->floats * sizeof *b->images);
    b->labels = malloc(steps * (size_t)o->batch * sizeof *b->labels);
    study->scale = calloc(2 * steps, sizeof *study->scale);
    if (!b->images || !b->labels || !study->scale)
        return hc_fail(HC_NO_MEMORY, "no memory for %d batches", o->steps);
    enum hc_status status = hc_loader_open(&stream, 0, &loader);
    for (int s = 0; s < o->steps && status == HC_OK; s++) {
        const struct hc_batch *batch = hc_loader_next(loader);
        memcpy(b->images + s * b->floats, batch->images, (size_t)b->floats * sizeof *b->images);
        memcpy(b->labels + (int64_t)s * o->batch, batch->labels,
               (size_t)o->batch * sizeof *b->labels);
    }
    hc_loader_close(loader);
    return status;
}

enum hc_status hc_drift_open(struct hc_drift_study **out, const struct hc_drift_options *options)
{
    const struct hc_backend *backend = options->backend;
    *out = NULL;
    if (!backend->fp64 || !backend->host_memory)
        return hc_fail(HC_UNSUPPORTED, "drift: %s has no fp64 in host memory", backend->name);
    struct hc_drift_study *study = calloc(1, sizeof *study);
    if (!study)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    study->options = *options;
    enum hc_status status = gather(study);
    if (status == HC_OK)
        status = backend->open(&study->queue, options->threads);
    if (status == HC_OK)
        *out = study;
    else
        hc_drift_close(study);
    return status;
}

void hc_drift_close(struct hc_drift_study *study)
{
    if (!study)
        return;
    for (struct hc_drift_baseline *next; study->worlds; study->worlds = next) {
        next = study->worlds->next;
        hc_baseline_close(study->worlds);
        free(study->worlds);
    }
    if (study->queue)
        study->options.backend->close(study->queue);
    free(study->batches.images);
    free(study->batches.labels);
    free(study->scale);
    free(study->g);
    free(study->end);
    free(study);
}

/* The run in fp64 that the recipe is measured against, made when it is first asked for. */
static enum hc_status world_of(struct hc_drift_study *study, const struct hc_recipe *recipe,
                               struct hc_drift_baseline **baseline)
{
    struct hc_recipe wide = hc_widened(recipe);
    for (*baseline = study->worlds; *baseline; *baseline = (*baseline)->next)
        if (hc_same_recipe(&(*baseline)->recipe, &wide))
            return HC_OK;
    struct hc_drift_baseline *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    enum hc_status status =
        hc_baseline_open(fresh, &study->options, &study->batches, study->queue, &wide);
    if (status != HC_OK)
        goto failed;
    size_t bytes = (size_t)fresh->weights * sizeof(double);
    if (!study->g)
        study->g = malloc((size_t)study->options.steps * bytes);
    if (!study->end)
        study->end = malloc(bytes);
    if (!study->g || !study->end) {
        status = hc_fail(HC_NO_MEMORY, "no memory for %d steps of gradients", study->options.steps);
        goto failed;
    }
    fresh->next = study->worlds;
    study->worlds = *baseline = fresh;
    return HC_OK;
failed:
    hc_baseline_close(fresh);
    free(fresh);
    return status;
}

static enum hc_status pass(const struct hc_drift_study *study, struct hc_drift_run *s, int step,
                           float *scale, float *loss)
{
    const struct hc_drift_batches *b = &study->batches;
    *scale = *(const float *)hc_update_scale(s->update).data;
    return hc_drift_run_pass(s, b->images + step * b->floats, b->labels + (int64_t)step * b->batch,
                             *scale, loss);
}

/* The recipe through all steps at the weights of fp64. */
static enum hc_status forced(struct hc_drift_study *study, const struct hc_drift_baseline *w,
                             struct hc_drift_run *s, struct hc_drift *drift)
{
    float loss;
    hc_drift_layer_sums tally = {0};
    enum hc_status status = HC_OK;
    for (int step = 0; step < study->options.steps && status == HC_OK; step++) {
        const double *at = w->w + step * w->weights;
        status = hc_drift_run_set_weights(s, at);
        if (status == HC_OK)
            status = pass(study, s, step, &study->scale[step], &loss);
        bool finite = hc_all_finite(s->g, s->weights);
        memcpy(study->g + step * s->weights, s->g, (size_t)s->weights * sizeof *s->g);
        if (finite)
            hc_drift_sum_gradients(tally, s, w->g + step * w->weights);
        drift->finite += finite;
        if (status == HC_OK)
            status = hc_drift_run_update(s, study->options.lr);
        if (status == HC_OK)
            status = hc_drift_run_get(s, HC_STATE_MASTER, s->g);
        if (finite)
            hc_drift_sum_lost(tally, s, at, at + w->weights, s->g);
    }
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        drift->layer[l] = hc_drift_sum_layer(&tally[l]);
    drift->all = hc_drift_sum_layer(&tally[HC_MAX_LAYERS]);
    return status;
}

static enum hc_status go_free(struct hc_drift_study *study, const struct hc_drift_baseline *w,
                              struct hc_drift_run *s, struct hc_drift *drift)
{
    float loss = 0;
    int steps = study->options.steps;
    enum hc_status status = HC_OK;
    for (int step = 0; step < steps && status == HC_OK; step++) {
        status = pass(study, s, step, &study->scale[steps + step], &loss);
        if (status == HC_OK)
            status = hc_drift_run_update(s, study->options.lr);
    }
    if (status == HC_OK)
        status = hc_drift_run_get(s, HC_STATE_MASTER, study->end);
    drift->free = hc_baseline_distance(w, study->end, w->w + steps * w->weights);
    drift->unlike = (double)loss - w->loss;
    return status;
}

typedef enum hc_status run_function(struct hc_drift_study *study,
                                    const struct hc_drift_baseline *baseline,
                                    struct hc_drift_run *subject, struct hc_drift *drift);

/* The recipe's own training, from the start. */
static enum hc_status train(struct hc_drift_study *study, const struct hc_drift_baseline *w,
                            const struct hc_recipe *recipe, run_function *run,
                            struct hc_drift *drift, bool *skips)
{
    struct hc_drift_run s;
    enum hc_status status = hc_drift_run_open(&s, &study->options, study->queue, recipe);
    if (status == HC_OK) {
        *skips = hc_update_skips(s.update) || hc_recipe_steps_on_overflow(recipe);
        status = run(study, w, &s, drift);
    }
    hc_drift_run_close(&s);
    return status;
}

/* All sources first, then what differs from that by the update alone: its gradients are the same. */
static enum hc_status attribute(struct hc_drift_study *study, struct hc_drift_baseline *w,
                                bool skips, struct hc_drift *drift)
{
    struct hc_drift_scales scales = {study->scale, study->scale + study->options.steps, skips};
    struct hc_native_run own = {study->g, study->end};
    enum hc_status status = HC_OK;
    for (int i = 2 * HC_SOURCE_COUNT + 1; i > 0 && status == HC_OK; i--) {
        struct hc_drift_effect found;
        bool alone = i <= HC_SOURCE_COUNT;
        int k = alone ? i - 1 : i - 1 - HC_SOURCE_COUNT;
        struct hc_rounding rounding = hc_rounding_chosen(drift->recipe, k, alone);
        bool all = k == HC_SOURCE_COUNT;
        status = hc_baseline_measure(w, &rounding, &scales, all ? &own : NULL, &found);
        (alone ? drift->alone_gradient : drift->without_gradient)[k] = found.gradient;
        (alone ? drift->alone_free : drift->without_free)[k] = found.distance;
        if (all) {
            drift->alone_gradient[k] = found.gradient;
            drift->alone_free[k] = found.distance;
            drift->residual_gradient = found.residual_gradient;
            drift->residual_free = found.residual_distance;
        }
    }
    return status;
}

enum hc_status hc_drift_measure(struct hc_drift_study *study, const struct hc_recipe *recipe,
                                struct hc_drift *drift)
{
    bool skips = false;
    struct hc_drift_baseline *w;
    struct hc_recipe own = hc_unclipped(recipe);
    *drift = (struct hc_drift){.recipe = recipe};
    enum hc_status status = world_of(study, &own, &w);
    if (status != HC_OK)
        return status;
    int64_t before = w->passes;
    status = train(study, w, &own, forced, drift, &skips);
    if (status == HC_OK)
        status = train(study, w, &own, go_free, drift, &skips);
    if (status == HC_OK)
        status = attribute(study, w, skips, drift);
    drift->passes = w->passes - before;
    return status;
}
