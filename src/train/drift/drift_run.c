#include "train/drift/drift_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/update/model.h"

enum hc_status hc_drift_run_open(struct hc_drift_run *s, const struct hc_drift_options *o,
                                 struct hc_queue *queue, const struct hc_recipe *recipe)
{
    int shards = hc_drift_shards(o->ranks, recipe);
    *s = (struct hc_drift_run){.device = {.backend = o->backend, .queue = queue},
                               .ranks = o->ranks,
                               .shards = shards,
                               .images = o->batch / shards};
    enum hc_status status =
        hc_net_open(&s->net, &s->device, o->network, o->data->classes, s->images, o->seed);
    if (status != HC_OK)
        return status;
    const struct hc_plan *plan = hc_net_plan(s->net);
    s->weights = plan->weights + plan->norm_weights;
    s->g = malloc((size_t)s->weights * sizeof *s->g);
    s->before = malloc((size_t)s->weights * sizeof *s->before);
    if (!s->g || !s->before)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    status = hc_model_open(&s->update, &s->device, s->net, recipe);
    s->rounder.device = &s->device;
    s->rounder.parameters = hc_net_parameters(s->net);
    s->rounder.update = s->update;
    return status;
}

void hc_drift_run_close(struct hc_drift_run *s)
{
    if (s->rounder.device)
        hc_rounder_end(&s->rounder);
    hc_update_close(s->update);
    hc_net_close(s->net);
    hc_device_end(&s->device);
    free(s->g);
    free(s->sizes);
    free(s->before);
}

/* Between a state tensor of every parameter and x, whichever way. */
static enum hc_status carry(struct hc_drift_run *s, enum hc_state_tensor state, double *x,
                            bool to_x)
{
    enum hc_status status = HC_OK;
    for (int p = 0; p < hc_update_parameters(s->update) && status == HC_OK; p++) {
        struct hc_tensor t = hc_update_tensor(s->update, state, p);
        struct hc_tensor wide = t;
        wide.format = HC_FP64;
        wide.data = x;
        status = hc_device_cast(&s->device, to_x ? t : wide, to_x ? wide : t);
        x += hc_tensor_count(&t);
    }
    return status;
}

enum hc_status hc_drift_run_get(struct hc_drift_run *s, enum hc_state_tensor state, double *to)
{
    return carry(s, state, to, true);
}

enum hc_status hc_drift_run_set(struct hc_drift_run *s, enum hc_state_tensor state, double *from)
{
    return carry(s, state, from, false);
}

/* Rounds x in place, each parameter to the format of its kind. */
static enum hc_status round_all(struct hc_drift_run *s, const enum hc_format format[2], double *x)
{
    enum hc_status status = HC_OK;
    for (int p = 0; p < hc_update_parameters(s->update) && status == HC_OK; p++) {
        const struct hc_parameter *parameter = s->rounder.parameters[p];
        int64_t n = hc_parameter_count(parameter);
        status = hc_rounded(&s->rounder, format[parameter->role == HC_ROLE_NORM], x, n);
        x += n;
    }
    return status;
}

enum hc_status hc_drift_run_set_weights(struct hc_drift_run *s, const double *w)
{
    memcpy(s->before, w, (size_t)s->weights * sizeof *w);
    if (hc_update_recipe(s->update)->model == HC_FP64)
        return hc_drift_run_set(s, HC_STATE_MASTER, s->before);
    enum hc_status status = hc_rounded(&s->rounder, HC_FP32, s->before, s->weights);
    if (status == HC_OK)
        status = hc_drift_run_set(s, HC_STATE_MASTER, s->before);
    if (status == HC_OK)
        status = hc_drift_run_get(s, HC_STATE_MASTER, s->before);
    return status == HC_OK ? hc_drift_run_set(s, HC_STATE_MODEL, s->before) : status;
}

enum hc_status hc_drift_run_restart(struct hc_drift_run *s, const struct hc_rounding *rounding,
                                    const double *w, bool rounded_start)
{
    struct hc_counters counters = {.scale = 1};
    s->rounds = true;
    s->rounder.rounding = *rounding;
    hc_rounder_attach(&s->rounder);
    memset(s->g, 0, (size_t)s->weights * sizeof *s->g);
    enum hc_status status = hc_update_set_counters(s->update, &counters);
    if (status == HC_OK)
        status = hc_drift_run_set(s, HC_STATE_M, s->g);
    if (status == HC_OK && hc_update_recipe(s->update)->optimizer == HC_OPTIMIZER_ADAM)
        status = hc_drift_run_set(s, HC_STATE_V, s->g);
    if (status == HC_OK)
        status = hc_drift_run_set_weights(s, w);
    if (status != HC_OK || !rounded_start)
        return status;
    status = round_all(s, rounding->start, s->before);
    return status == HC_OK ? hc_drift_run_set(s, HC_STATE_MASTER, s->before) : status;
}

/* Replaces the weights by what the network computes with: rounded to its format through fp32, as
   from a master copy. The unrounded weights stay in s->before. */
static enum hc_status round_weights(struct hc_drift_run *s, const enum hc_format format[2])
{
    enum hc_format through[2];
    for (int i = 0; i < 2; i++)
        through[i] = format[i] > HC_FP32 ? HC_FP32 : HC_FP64;
    enum hc_status status = hc_drift_run_get(s, HC_STATE_MASTER, s->before);
    memcpy(s->g, s->before, (size_t)s->weights * sizeof *s->g);
    if (status == HC_OK)
        status = round_all(s, through, s->g);
    if (status == HC_OK)
        status = round_all(s, format, s->g);
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
    return status == HC_OK && s->rounds ? round_all(s, left, s->g) : status;
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
        status =
            s->rounds ? round_all(s, left, s->g) : hc_drift_run_set(s, HC_STATE_GRADIENT, s->g);
    *loss = (float)(by.sum_loss ? sum : sum / s->shards);
    hc_drift_shards_close(&shards);
    free(gradients);
    return status;
}

enum hc_status hc_drift_run_pass(struct hc_drift_run *s, const float *images, const int32_t *labels,
                                 float scale, float *loss)
{
    struct hc_tensor factor = hc_tensor1(HC_FP32, 1, &scale);
    const struct hc_rounding *r = &s->rounder.rounding;
    enum hc_format seen[2] = {r->format[HC_SOURCE_WEIGHTS][0], r->format[HC_SOURCE_NORM][1]};
    enum hc_format left[2] = {r->format[HC_SOURCE_WEIGHT_GRADIENTS][0], seen[1]};
    bool rounds = s->rounds && (seen[0] != HC_FP64 || seen[1] != HC_FP64);
    enum hc_status status = HC_OK;
    if (rounds)
        status = round_weights(s, seen);
    if (status == HC_OK)
        status = (s->shards > 1 ? pass_shards : pass_shard)(s, images, labels, &factor, left, loss);
    for (int64_t i = 0; i < s->weights && scale != 1; i++)
        s->g[i] /= (double)scale;
    return status == HC_OK && rounds ? hc_drift_run_set(s, HC_STATE_MODEL, s->before) : status;
}

/* Rounds one state tensor after the update, as the recipe stores it. */
static enum hc_status store(struct hc_drift_run *s, enum hc_state_tensor state,
                            enum hc_source source)
{
    const enum hc_format *format = s->rounder.rounding.format[source];
    if (format[0] == HC_FP64 && format[1] == HC_FP64)
        return HC_OK;
    enum hc_status status = hc_drift_run_get(s, state, s->g);
    if (status == HC_OK)
        status = round_all(s, format, s->g);
    return status == HC_OK ? hc_drift_run_set(s, state, s->g) : status;
}

enum hc_status hc_drift_run_update(struct hc_drift_run *s, double lr)
{
    bool adam = hc_update_recipe(s->update)->optimizer == HC_OPTIMIZER_ADAM;
    enum hc_status status = s->rounds ? hc_drift_run_set(s, HC_STATE_GRADIENT, s->g) : HC_OK;
    if (status == HC_OK)
        status = hc_update_step(s->update, lr, 0.9);
    if (status == HC_OK && s->rounds)
        status = store(s, HC_STATE_M, HC_SOURCE_STATE);
    if (status == HC_OK && s->rounds && adam)
        status = store(s, HC_STATE_V, HC_SOURCE_STATE);
    return status == HC_OK && s->rounds ? store(s, HC_STATE_MASTER, HC_SOURCE_MASTER) : status;
}
