#include "train/drift/drift.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/drift/drift_sources.h"
#include "train/drift/drift_attribute.h"
#include "train/drift/drift_average.h"
#include "train/drift/drift_operands.h"
#include "train/drift/drift_unit.h"
#include "train/data/loader.h"
#include "train/parallel/parallel.h"

struct hc_drift_study {
    struct hc_drift_options options;
    struct hc_drift_batches batches;
    struct hc_queue *queue;
    struct hc_drift_baseline *baselines;

    /* Of the recipe that is measured. */
    double *g;
    double *end;
    float *scale; /* of both runs */
    struct hc_drift_baseline *baseline;
    bool skips;
};

static enum hc_status gather(struct hc_drift_study *study)
{
    const struct hc_drift_options *o = &study->options;
    struct hc_drift_batches *b = &study->batches;
    struct hc_batch_stream stream = {
        .set = o->data, .train = true, .batch = o->batch, .seed = o->seed};
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
        status = hc_backend_open(backend, &study->queue, options->threads);
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
    for (struct hc_drift_baseline *next; study->baselines; study->baselines = next) {
        next = study->baselines->next;
        hc_baseline_close(study->baselines);
        free(study->baselines);
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

/* The fp64 baseline of the recipe, made when it is first asked for. */
static enum hc_status baseline_of(struct hc_drift_study *study, const struct hc_recipe *recipe,
                                  struct hc_drift_baseline **baseline)
{
    struct hc_recipe wide = hc_widened(recipe);
    for (*baseline = study->baselines; *baseline; *baseline = (*baseline)->next)
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
    fresh->next = study->baselines;
    study->baselines = *baseline = fresh;
    return HC_OK;
failed:
    hc_baseline_close(fresh);
    free(fresh);
    return status;
}

static enum hc_status pass(const struct hc_drift_study *study, struct hc_drift_run *run, int step,
                           float *scale, float *loss)
{
    const struct hc_drift_batches *b = &study->batches;
    *scale = *(const float *)hc_update_scale(run->update).data;
    return hc_drift_run_pass(run, step, b->images + step * b->floats,
                             b->labels + (int64_t)step * b->batch, *scale, loss);
}

/* Teacher-forced: the recipe takes every step from the fp64 weights. */
static enum hc_status forced(struct hc_drift_study *study, const struct hc_drift_baseline *base,
                             struct hc_drift_run *run, struct hc_drift *drift)
{
    float loss;
    hc_drift_layer_sums sums = {0};
    struct hc_drift_operands operands;
    enum hc_status status = HC_OK;
    hc_drift_operands_watch(run, &operands);
    for (int step = 0; step < study->options.steps && status == HC_OK; step++) {
        const double *at = base->w + step * base->weights;
        status = hc_drift_run_set_weights(run, at);
        if (status == HC_OK)
            status = pass(study, run, step, &study->scale[step], &loss);
        bool finite = hc_all_finite(run->g, run->weights);
        memcpy(study->g + step * run->weights, run->g, (size_t)run->weights * sizeof *run->g);
        if (finite)
            hc_drift_sum_gradients(sums, run, base->g + step * base->weights);
        drift->finite += finite;
        if (status == HC_OK)
            status = hc_drift_run_update(run, study->options.lr);
        if (status == HC_OK)
            status = hc_drift_run_get(run, HC_STATE_MASTER, run->g);
        if (finite)
            hc_drift_sum_lost(sums, run, at, at + base->weights, run->g);
    }
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        drift->layer[l] = hc_drift_sum_layer(&sums[l]);
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        for (int role = 0; role <= HC_QUANT_OF_DY; role++) {
            int layer = l < hc_net_plan(run->net)->layers ? hc_net_quant_of(run->net, l) : -1;
            drift->operand[l][role] =
                hc_drift_operand_of(&operands, layer, (enum hc_quant_role)role);
        }
    drift->all = hc_drift_sum_layer(&sums[HC_MAX_LAYERS]);
    return status;
}

static enum hc_status go_free(struct hc_drift_study *study, const struct hc_drift_baseline *base,
                              struct hc_drift_run *run, struct hc_drift *drift)
{
    float loss = 0;
    int steps = study->options.steps;
    enum hc_status status = HC_OK;
    for (int step = 0; step < steps && status == HC_OK; step++) {
        status = pass(study, run, step, &study->scale[steps + step], &loss);
        if (status == HC_OK)
            status = hc_drift_run_update(run, study->options.lr);
    }
    if (status == HC_OK)
        status = hc_drift_run_get(run, HC_STATE_MASTER, study->end);
    drift->free = hc_baseline_distance(base, study->end, base->w + steps * base->weights);
    drift->unlike = (double)loss - base->loss;
    return status;
}

typedef enum hc_status run_function(struct hc_drift_study *study,
                                    const struct hc_drift_baseline *baseline,
                                    struct hc_drift_run *run, struct hc_drift *drift);

/* Opens the recipe's own training and runs it. */
static enum hc_status train(struct hc_drift_study *study, const struct hc_drift_baseline *base,
                            const struct hc_recipe *recipe, run_function *runs,
                            struct hc_drift *drift)
{
    struct hc_drift_run s;
    enum hc_status status = hc_drift_run_open(&s, &study->options, study->queue, recipe);
    if (status == HC_OK) {
        study->skips = hc_update_skips(s.update) || hc_recipe_steps_on_overflow(recipe);
        status = runs(study, base, &s, drift);
    }
    hc_drift_run_close(&s);
    return status;
}

static struct hc_drift_scales scales_of(const struct hc_drift_study *study)
{
    return (struct hc_drift_scales){study->scale, study->scale + study->options.steps,
                                    study->skips};
}

enum hc_status hc_drift_measure(struct hc_drift_study *study, const struct hc_recipe *recipe,
                                struct hc_drift *drift)
{
    struct hc_drift_baseline *base;
    struct hc_recipe own = hc_unclipped(recipe);
    int ranks = study->options.ranks;
    *drift = (struct hc_drift){.recipe = recipe,
                               .ranks = ranks,
                               .shards = hc_drift_shards(ranks, recipe),
                               .unit = hc_recipe_meets_unit(recipe, study->options.backend)};
    if (ranks > 0 && recipe->norm_sync)
        return hc_fail(HC_INVALID,
                       "%s: drift over ranks has batch norm local to each shard, and "
                       "norm_sync=true has it over all",
                       recipe->name);
    enum hc_status status =
        ranks > 0 ? hc_parallel_check(ranks, recipe, study->options.batch) : HC_OK;
    if (status == HC_OK)
        status = baseline_of(study, &own, &base);
    if (status != HC_OK)
        return status;
    int64_t before = base->passes;
    study->baseline = base;
    status = train(study, base, &own, forced, drift);
    if (status == HC_OK)
        status = train(study, base, &own, go_free, drift);
    const struct hc_drift_scales scales = scales_of(study);
    const struct hc_native_run native = {study->g, study->end};
    if (status == HC_OK)
        status = hc_drift_attribute(base, &scales, &native, drift);
    drift->average_bound = hc_average_bound(base, recipe, study->scale);
    drift->passes = base->passes - before;
    return status;
}

enum hc_status hc_drift_measure_shares(struct hc_drift_study *study, const struct hc_drift *drift,
                                       const struct hc_drift_shares *like,
                                       struct hc_drift_shares shares[HC_DRIFT_QUANTITIES])
{
    const struct hc_drift_scales scales = scales_of(study);
    assert(study->baseline);
    return hc_drift_share_out(study->baseline, &scales, drift, like, shares);
}
