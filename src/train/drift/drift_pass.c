/* A step's batch through the network and back, shard by shard. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/drift/drift_run.h"

/* The format in which the network computes with parameter p, or quantises it. */
static enum hc_format seen_as(const struct hc_drift_run *s, int p)
{
    const struct hc_plan *plan = hc_net_plan(s->net);
    const struct hc_rounding *r = &s->rounder.rounding;
    for (int l = 0; l < plan->layers; l++)
        if (plan->layer[l].kind == HC_LAYER_CONV && plan->layer[l].in > 0 &&
            p == plan->layer[l].parameter + HC_CONV_FILTER)
            return r->coding.filter;
    return s->rounder.parameters[p]->role == HC_ROLE_NORM ? r->format[HC_SOURCE_NORM][1]
                                                          : r->format[HC_SOURCE_WEIGHTS][0];
}

/* Replaces the weights by what the network computes with: rounded to its format through fp32, as
   from a master copy. The unrounded weights stay in s->before. */
static enum hc_status round_weights(struct hc_drift_run *s)
{
    double *w = s->g;
    enum hc_status status = hc_drift_run_get(s, HC_STATE_MASTER, s->before);
    memcpy(w, s->before, (size_t)s->weights * sizeof *w);
    for (int p = 0; p < hc_update_parameters(s->update) && status == HC_OK; p++) {
        int64_t n = hc_parameter_count(s->rounder.parameters[p]);
        enum hc_format format = seen_as(s, p);
        if (format > HC_FP32)
            status = hc_rounded(&s->rounder, HC_FP32, w, n);
        if (status == HC_OK)
            status = hc_rounded(&s->rounder, format, w, n);
        w += n;
    }
    return status == HC_OK ? hc_drift_run_set(s, HC_STATE_MODEL, s->g) : status;
}

/* One shard, or a batch in one piece: gives s->g, still scaled, as it is stored in `left`. */
static enum hc_status pass_shard(struct hc_drift_run *s, const float *images, const int32_t *labels,
                                 const struct hc_tensor *factor, const enum hc_format left[2],
                                 float *loss)
{
    int right;
    s->rounder.backward = false;
    if (hc_net_quant(s->net))
        hc_quant_step(hc_net_quant(s->net), 0, s->passes++);
    enum hc_status status = hc_net_train(s->net, images, labels, factor, loss, &right);
    if (status == HC_OK)
        status = hc_drift_run_get(s, HC_STATE_GRADIENT, s->g);
    return status == HC_OK && s->rounds ? hc_drift_run_round(s, left, s->g) : status;
}

/* Who averages: the recipe of the training, or the one whose rounding is put into it. */
static struct hc_recipe averaging_recipe(const struct hc_drift_run *s, bool rounded)
{
    struct hc_recipe r = *hc_update_recipe(s->update);
    const struct hc_averaging *a = &s->rounder.rounding.average;
    if (rounded) {
        r.wrapper = a->wrapper;
        r.algorithm = a->algorithm;
        r.reduce = a->reduce;
        r.bucket = a->bucket;
        r.predivide = a->predivide;
    }
    return r;
}

/* What a shard contributes. Where the average's rounding is put in, gradients come in the format of
   its sums, into which the wrapper would round them first. */
static struct hc_gradient contribution(const struct hc_drift_run *s, int p, bool rounded,
                                       const struct hc_recipe *by)
{
    const struct hc_parameter *parameter = s->rounder.parameters[p];
    const struct hc_rounding *r = &s->rounder.rounding;
    int norm = parameter->role == HC_ROLE_NORM;
    enum hc_format own = hc_update_tensor(s->update, HC_STATE_GRADIENT, p).format;
    return (struct hc_gradient){.format = rounded ? r->format[HC_SOURCE_REDUCTION][norm] : own,
                                .held = rounded ? r->average.held[norm] : hc_wrapper_held(by, own),
                                .count = hc_parameter_count(parameter),
                                .layer = parameter->layer};
}

/* Shard by shard; the average becomes s->g, and the training's gradient if it rounds by itself. */
static enum hc_status pass_shards(struct hc_drift_run *s, const float *images,
                                  const int32_t *labels, const struct hc_tensor *factor,
                                  const enum hc_format left[2], float *loss)
{
    struct hc_drift_shards shards = {0};
    int n = hc_update_parameters(s->update);
    bool rounded = s->rounds && s->rounder.rounding.format[HC_SOURCE_REDUCTION][0] != HC_FP64;
    struct hc_recipe by = averaging_recipe(s, rounded);
    struct hc_gradient *gradients = calloc((size_t)n + 1, sizeof *gradients);
    double sum = 0;
    if (!gradients)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    for (int p = 0; p < n; p++)
        gradients[p] = contribution(s, p, rounded, &by);
    enum hc_status status = hc_drift_shards_open(&shards, &s->device, s->ranks, &by, gradients, n);
    for (int i = 0; i < s->shards && status == HC_OK; i++) {
        int64_t first = (int64_t)i * s->images;
        status = pass_shard(s, images + first * HC_IMAGE_BYTES, labels + first, factor, left, loss);
        if (status == HC_OK)
            status = hc_drift_shards_take(&shards, i, s->g);
        if (status == HC_OK)
            sum += (double)*loss;
        for (int64_t k = 0; s->sizes && k < s->weights; k++)
            s->sizes[k] = (i > 0 ? s->sizes[k] : 0) + fabs(s->g[k]) / (by.sum_loss ? 1 : s->shards);
    }
    if (status == HC_OK)
        status = hc_drift_shards_average(&shards, s->g);
    if (status == HC_OK)
        status = s->rounds ? hc_drift_run_round(s, left, s->g)
                           : hc_drift_run_set(s, HC_STATE_GRADIENT, s->g);
    *loss = (float)(by.sum_loss ? sum : sum / s->shards);
    hc_drift_shards_close(&shards);
    free(gradients);
    return status;
}

enum hc_status hc_drift_run_pass(struct hc_drift_run *s, int step, const float *images,
                                 const int32_t *labels, float scale, float *loss)
{
    struct hc_tensor factor = hc_tensor1(HC_FP32, 1, &scale);
    const struct hc_rounding *r = &s->rounder.rounding;
    enum hc_format seen[2] = {r->format[HC_SOURCE_WEIGHTS][0], r->format[HC_SOURCE_NORM][1]};
    enum hc_format left[2] = {r->format[HC_SOURCE_WEIGHT_GRADIENTS][0], seen[1]};
    bool rounds = s->rounds && (seen[0] != HC_FP64 || seen[1] != HC_FP64);
    enum hc_status status = HC_OK;
    s->passes = (int64_t)step * s->shards;
    if (rounds)
        status = round_weights(s);
    if (status == HC_OK)
        status = (s->shards > 1 ? pass_shards : pass_shard)(s, images, labels, &factor, left, loss);
    for (int64_t i = 0; i < s->weights && scale != 1; i++)
        s->g[i] /= (double)scale;
    return status == HC_OK && rounds ? hc_drift_run_set(s, HC_STATE_MODEL, s->before) : status;
}
