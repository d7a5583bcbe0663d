#include "train/update_inner.h"

static const struct hc_tensor absent = {.format = HC_FP32};

/* out = alpha * x + out */
static enum hc_status add_to(struct hc_update *update, double alpha, struct hc_tensor x,
                             struct hc_tensor out)
{
    struct hc_call call = {.op = HC_OP_axpy, .in = {x, out}, .out = {out}, .params.axpy = {alpha}};
    return hc_device_run(update->device, &call);
}

/* From the model's gradient to what the optimizer reads; found gathers. */
static enum hc_status unscale(struct hc_update *update, const struct hc_update_slot *slot)
{
    const struct hc_recipe *r = &update->recipe;
    struct hc_tensor gradient = hc_storage_tensor(slot->piece[HC_PIECE_GRADIENT]);
    enum hc_status status = HC_OK;
    if (r->decay == HC_DECAY_SCALED && hc_recipe_decays(r, slot->parameter->role))
        status =
            add_to(update, r->weight_decay, hc_storage_tensor(slot->parameter->storage), gradient);
    if (status != HC_OK || !slot->piece[HC_PIECE_MASTER_GRADIENT])
        return status;
    struct hc_tensor unscaled = hc_storage_tensor(slot->piece[HC_PIECE_MASTER_GRADIENT]);
    struct hc_call call = {
        .op = HC_OP_cast, .in = {gradient}, .out = {unscaled}, .params.cast = {HC_NEAREST}};
    if (r->scaler.rule != HC_SCALER_NONE) {
        struct hc_tensor found = hc_storage_tensor(update->found);
        call = (struct hc_call){.op = HC_OP_unscale,
                                .in = {gradient, hc_storage_tensor(update->scale), found},
                                .out = {unscaled, found},
                                .params.unscale = {r->reciprocal}};
    }
    return hc_device_run(update->device, &call);
}

static struct hc_tensor piece(const struct hc_update *update, int item, enum hc_piece p)
{
    if (update->item[item].piece[p])
        return hc_storage_tensor(update->item[item].piece[p]);
    const struct hc_update_slot *slot = &update->slots[item];
    return hc_storage_tensor(p == HC_PIECE_MASTER ? slot->parameter->storage
                                                  : slot->piece[HC_PIECE_GRADIENT]);
}

static enum hc_status optimize(struct hc_update *update, int i)
{
    const struct hc_recipe *r = &update->recipe;
    const struct hc_update_item *item = &update->item[i];
    struct hc_tensor w = piece(update, i, HC_PIECE_MASTER);
    struct hc_tensor g = piece(update, i, HC_PIECE_MASTER_GRADIENT);
    struct hc_tensor m = piece(update, i, HC_PIECE_M);
    struct hc_tensor hyper = hc_storage_tensor(update->hyper);
    struct hc_tensor found =
        hc_scalers[r->scaler.rule].skips ? hc_storage_tensor(update->found) : absent;
    bool decoupled = r->decay == HC_DECAY_DECOUPLED;
    double decay = item->decays && (decoupled || r->decay == HC_DECAY_L2) ? r->weight_decay : 0;
    struct hc_call call;
    if (r->optimizer == HC_OPTIMIZER_SGD) {
        call = (struct hc_call){.op = HC_OP_sgd, .in = {w, g, m, hyper, found}, .out = {w, m}};
        call.params.sgd = (struct hc_sgd){
            .weight_decay = decay, .decoupled = decoupled, .arithmetic = item->arithmetic};
    } else {
        struct hc_tensor v = piece(update, i, HC_PIECE_V);
        call = (struct hc_call){.op = decoupled ? HC_OP_adamw : HC_OP_adam,
                                .in = {w, g, m, v, hyper, found},
                                .out = {w, m, v}};
        call.params.adam = (struct hc_adam){.beta2 = r->beta2,
                                            .eps = r->eps,
                                            .weight_decay = decay,
                                            .eps_inside = r->eps_inside,
                                            .arithmetic = item->arithmetic};
    }
    return hc_device_run(update->device, &call);
}

/* An edit of the copy does not survive this. */
static enum hc_status to_model(struct hc_update *update, const struct hc_update_slot *slot)
{
    if (!slot->piece[HC_PIECE_MASTER])
        return HC_OK;
    struct hc_call call = {.op = HC_OP_master_to_model,
                           .in = {hc_storage_tensor(slot->piece[HC_PIECE_MASTER])},
                           .out = {hc_storage_tensor(slot->parameter->storage)}};
    return hc_device_run(update->device, &call);
}

static enum hc_status decay_model(struct hc_update *update, const struct hc_update_slot *slot,
                                  double lr)
{
    const struct hc_recipe *r = &update->recipe;
    if (r->decay != HC_DECAY_MODEL || !hc_recipe_decays(r, slot->parameter->role))
        return HC_OK;
    struct hc_tensor w = hc_storage_tensor(slot->parameter->storage);
    return add_to(update, -(lr * r->weight_decay), w, w);
}

static enum hc_status count_step(struct hc_update *update)
{
    struct hc_counters *c = &update->counters;
    const struct hc_scaler *scaler = &update->recipe.scaler;
    float found = 0;
    enum hc_status status = HC_OK;
    if (scaler->rule != HC_SCALER_NONE)
        status = hc_storage_read(update->found, &found);
    if (status != HC_OK)
        return status;
    bool skipped = found != 0 && hc_scalers[scaler->rule].skips;
    c->steps++;
    c->found += found != 0;
    c->skipped += skipped;
    c->taken += !skipped;
    hc_scalers[scaler->rule].update(scaler, &c->scaler, found != 0);
    return hc_storage_write(update->scale, &c->scaler.scale);
}

enum hc_status hc_update_step(struct hc_update *update, double lr, double beta1)
{
    const float zero = 0;
    const float hyper[3] = {(float)lr, (float)beta1, (float)(update->counters.taken + 1)};
    enum hc_status status = hc_storage_write(update->found, &zero);
    if (status == HC_OK)
        status = hc_storage_write(update->hyper, hyper);
    for (int i = 0; i < update->n && status == HC_OK; i++)
        status = unscale(update, &update->slots[i]);
    for (int i = 0; i < update->n && status == HC_OK; i++)
        status = decay_model(update, &update->slots[i], lr);
    for (int i = 0; i < update->items && status == HC_OK; i++)
        status = optimize(update, i);
    for (int i = 0; i < update->n && status == HC_OK; i++)
        status = to_model(update, &update->slots[i]);
    return status == HC_OK ? count_step(update) : status;
}
