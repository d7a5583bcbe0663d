#include "train/update/update_inner.h"

#include <assert.h>

static bool all(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    (void)slot;
    return true;
}

static bool decays(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    return slot->decay > 0;
}

/* out = alpha * x + out */
static enum hc_status add_to(struct hc_update *update, double alpha, struct hc_tensor x,
                             struct hc_tensor out)
{
    struct hc_call call = {.op = HC_OP_axpy, .in = {x, out}, .out = {out}, .params.axpy = {alpha}};
    return hc_device_run(update->device, &call);
}

static enum hc_status decay_scaled(struct hc_update *update, int first, int last)
{
    return add_to(update, update->slots[update->order[first]].decay,
                  hc_update_span(update, first, last, HC_STATE_MODEL),
                  hc_update_span(update, first, last, HC_STATE_GRADIENT));
}

static bool has_master_gradient(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    return slot->state[HC_STATE_MASTER_GRADIENT] != NULL;
}

/* From the model's gradients to what the optimizer reads; found gathers from the first slot on. */
static enum hc_status unscale(struct hc_update *update, int first, int last)
{
    const struct hc_recipe *r = &update->recipe;
    struct hc_tensor gradient = hc_update_span(update, first, last, HC_STATE_GRADIENT);
    struct hc_tensor unscaled = hc_update_span(update, first, last, HC_STATE_MASTER_GRADIENT);
    struct hc_call call = {
        .op = HC_OP_cast, .in = {gradient}, .out = {unscaled}, .params.cast = {HC_NEAREST}};
    if (r->scaler.rule != HC_SCALER_NONE) {
        struct hc_tensor found = hc_storage_tensor(update->found);
        call = (struct hc_call){.op = HC_OP_unscale,
                                .in = {gradient, hc_storage_tensor(update->scale)},
                                .out = {unscaled, found},
                                .params.unscale = {r->reciprocal}};
        if (first > 0)
            call.in[2] = found;
        if (update->step_on_overflow) {
            float *decided = update->decided->data;
            call.in[2] = hc_tensor1(HC_FP32, 1, decided);
            call.in[3] = unscaled;
            call.out[1] = hc_tensor1(HC_FP32, 1, decided + 2);
        }
    }
    return hc_device_run(update->device, &call);
}

static struct hc_stochastic stochastic(const struct hc_update *update,
                                       const struct hc_update_slot *slot, struct hc_tensor w)
{
    bool on = update->recipe.stochastic && w.format == HC_BF16;
    return (struct hc_stochastic){on, on ? update->seed : 0, on ? slot->first : 0};
}

static enum hc_status optimize(struct hc_update *update, int first, int last)
{
    const struct hc_recipe *r = &update->recipe;
    const struct hc_update_slot *slot = &update->slots[update->order[first]];
    struct hc_tensor w = hc_update_span(update, first, last, HC_STATE_MASTER);
    struct hc_tensor g = hc_update_span(update, first, last, HC_STATE_MASTER_GRADIENT);
    struct hc_tensor m = hc_update_span(update, first, last, HC_STATE_M);
    struct hc_tensor hyper = hc_storage_tensor(update->layer_group[slot->layer_group].hyper);
    struct hc_tensor found = {.format = HC_FP32};
    struct hc_tensor c = hc_tensor1(w.format, 0, NULL);
    bool decoupled = r->decay == HC_DECAY_DECOUPLED;
    bool inside = (decoupled && !update->step_on_overflow) || r->decay == HC_DECAY_L2;
    double decay = inside ? slot->decay : 0;
    struct hc_call call;
    if (slot->state[HC_STATE_COMPENSATION])
        c = hc_update_span(update, first, last, HC_STATE_COMPENSATION);
    if (update->rule.skip_on_overflow)
        found = hc_storage_tensor(update->found);
    if (update->judged)
        found = hc_tensor1(HC_FP32, 1, (float *)update->judged->data + 1);
    if (update->step_on_overflow)
        found = hc_tensor1(HC_FP32, 1, (float *)update->decided->data + 1);
    if (r->optimizer == HC_OPTIMIZER_SGD) {
        call =
            (struct hc_call){.op = HC_OP_sgd, .in = {w, g, m, hyper, found, c}, .out = {w, m, c}};
        call.params.sgd = (struct hc_sgd){.weight_decay = decay,
                                          .decoupled = decoupled,
                                          .nesterov = r->nesterov,
                                          .rate_inside = r->rate_inside,
                                          .arithmetic = slot->arithmetic,
                                          .stochastic = stochastic(update, slot, w)};
    } else {
        struct hc_tensor v = hc_update_span(update, first, last, HC_STATE_V);
        call = (struct hc_call){.op = decoupled ? HC_OP_adamw : HC_OP_adam,
                                .in = {w, g, m, v, hyper, found, c},
                                .out = {w, m, v, c}};
        call.params.adam = (struct hc_adam){.beta2 = r->beta2,
                                            .eps = r->eps,
                                            .weight_decay = decay,
                                            .eps_inside = r->eps_inside,
                                            .order = r->order,
                                            .arithmetic = slot->arithmetic,
                                            .stochastic = stochastic(update, slot, w)};
    }
    return hc_device_run(update->device, &call);
}

static bool has_master(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    return slot->state[HC_STATE_MASTER] != NULL;
}

/* An edit of the copy does not survive this. */
static enum hc_status to_model(struct hc_update *update, int first, int last)
{
    struct hc_call call = {.op = HC_OP_master_to_model,
                           .in = {hc_update_span(update, first, last, HC_STATE_MASTER)},
                           .out = {hc_update_span(update, first, last, HC_STATE_MODEL)}};
    return hc_device_run(update->device, &call);
}

static const struct hc_pass decay_scaled_pass = {
    2, {HC_STATE_MODEL, HC_STATE_GRADIENT}, true, decays, decay_scaled};
static const struct hc_pass unscale_pass = {
    2, {HC_STATE_GRADIENT, HC_STATE_MASTER_GRADIENT}, false, has_master_gradient, unscale};
static const struct hc_pass optimize_pass = {
    5,
    {HC_STATE_MASTER, HC_STATE_MASTER_GRADIENT, HC_STATE_M, HC_STATE_V, HC_STATE_COMPENSATION},
    true,
    all,
    optimize};
static const struct hc_pass to_model_pass = {
    2, {HC_STATE_MASTER, HC_STATE_MODEL}, false, has_master, to_model};

/* A defect, whose factor comes from the host at each step. */
static enum hc_status decay_model(struct hc_update *update, double lr)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < update->n && status == HC_OK; i++) {
        struct hc_tensor w = hc_storage_tensor(update->slots[i].parameter->storage);
        struct hc_group_options group = hc_update_group_options(update, i);
        if (group.decay > 0)
            status = add_to(update, -(lr * group.rate * group.decay), w, w);
    }
    return status;
}

static struct hc_tensor found_or_absent(const struct hc_update *update)
{
    struct hc_tensor absent = {.format = HC_FP32};
    bool looks = update->recipe.scaler.rule != HC_SCALER_NONE;
    return looks ? hc_storage_tensor(update->found) : absent;
}

static enum hc_status report(struct hc_update *update)
{
    const struct hc_storage *journal = update->step_log;
    if (!journal)
        return HC_OK;
    struct hc_tensor rows = hc_tensor2(HC_FP32, journal->count / 4, 4, journal->data);
    struct hc_call call = {.op = HC_OP_step_log,
                           .in = {rows, hc_storage_tensor(update->counts), update->reported[0],
                                  update->reported[1], hc_storage_tensor(update->scale),
                                  found_or_absent(update)},
                           .out = {rows}};
    return hc_device_run(update->device, &call);
}

static enum hc_status count(struct hc_update *update)
{
    struct hc_tensor scale = hc_storage_tensor(update->scale);
    struct hc_tensor counts = hc_storage_tensor(update->counts);
    struct hc_call call = {.op = HC_OP_scaler_update,
                           .in = {scale, counts, found_or_absent(update)},
                           .out = {scale, counts},
                           .params.scaler = update->rule};
    return hc_device_run(update->device, &call);
}

/* Whether the rule takes the step: at scale 0 one that raises does not, whatever was found. */
static enum hc_status judge(struct hc_update *update)
{
    struct hc_call call = {.op = HC_OP_overflow_verdict,
                           .in = {hc_storage_tensor(update->scale),
                                  hc_storage_tensor(update->counts), found_or_absent(update)},
                           .out = {hc_storage_tensor(update->judged)},
                           .params.scaler = update->rule};
    return hc_device_run(update->device, &call);
}

static enum hc_status step(struct hc_update *update, const struct hc_storage *tables, double lr)
{
    enum hc_decay decay = update->recipe.decay;
    enum hc_status status = hc_groups_rates(update, tables);
    if (status == HC_OK && decay == HC_DECAY_SCALED)
        status = hc_update_walk(update, &decay_scaled_pass);
    if (status == HC_OK && update->recipe.clip_scaled)
        status = hc_clip(update);
    if (status == HC_OK && update->step_on_overflow)
        status = hc_stale_detect(update);
    if (status == HC_OK)
        status = hc_update_walk(update, &unscale_pass);
    if (status == HC_OK && update->judged)
        status = judge(update);
    if (status == HC_OK && !update->recipe.clip_scaled)
        status = hc_clip(update);
    if (status == HC_OK && decay == HC_DECAY_MODEL)
        status = decay_model(update, lr);
    if (status == HC_OK && update->step_on_overflow)
        status = hc_stale_decay(update);
    if (status == HC_OK)
        status = hc_update_walk(update, &optimize_pass);
    if (status == HC_OK && update->step_on_overflow)
        status = hc_stale_zero(update);
    if (status == HC_OK)
        status = hc_update_walk(update, &to_model_pass);
    if (status == HC_OK)
        status = report(update);
    return status == HC_OK ? count(update) : status;
}

enum hc_status hc_update_step(struct hc_update *update, double lr, double beta1)
{
    enum hc_status status = hc_groups_set(update, lr, beta1);
    return status == HC_OK ? step(update, update->single, lr) : status;
}

enum hc_status hc_update_queue(struct hc_update *update)
{
    assert(update->schedule && hc_update_is_fixed(update));
    return step(update, update->schedule, 0);
}
