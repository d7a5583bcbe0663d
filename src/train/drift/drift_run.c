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

enum hc_status hc_drift_run_round(struct hc_drift_run *s, const enum hc_format format[2], double *x)
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
    enum hc_status status = hc_rounder_quantise(&s->rounder, s->net);
    if (status != HC_OK)
        return status;
    memset(s->g, 0, (size_t)s->weights * sizeof *s->g);
    status = hc_update_set_counters(s->update, &counters);
    if (status == HC_OK)
        status = hc_drift_run_set(s, HC_STATE_M, s->g);
    if (status == HC_OK && hc_update_recipe(s->update)->optimizer == HC_OPTIMIZER_ADAM)
        status = hc_drift_run_set(s, HC_STATE_V, s->g);
    if (status == HC_OK)
        status = hc_drift_run_set_weights(s, w);
    if (status != HC_OK || !rounded_start)
        return status;
    status = hc_drift_run_round(s, rounding->start, s->before);
    return status == HC_OK ? hc_drift_run_set(s, HC_STATE_MASTER, s->before) : status;
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
        status = hc_drift_run_round(s, format, s->g);
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
