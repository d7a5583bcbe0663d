#include "train/update_inner.h"

#include <assert.h>

/* One pass over the slots: where the pieces that it touches lie one after the other, one call does
   several slots at once. */
struct pass {
    int pieces;
    enum hc_piece piece[4];
    bool groups; /* what decays and what does not is told apart */
    bool (*wants)(const struct hc_update *update, const struct hc_update_slot *slot);
    enum hc_status (*run)(struct hc_update *update, int first, int last);
};

static bool follows(const struct hc_storage *a, const struct hc_storage *b)
{
    size_t bytes = (size_t)hc_update_padded(a->count) * (size_t)hc_formats[a->format].bytes;
    return a->arena && a->arena == b->arena && b->data == (unsigned char *)a->data + bytes;
}

/* Whether place k + 1 in the order goes on where place k ends. */
static bool goes_on(const struct hc_update *update, const struct pass *pass, int k)
{
    const struct hc_update_slot *here = &update->slots[update->order[k]];
    const struct hc_update_slot *next = &update->slots[update->order[k + 1]];
    if (!pass->wants(update, next) || here->arithmetic != next->arithmetic ||
        (pass->groups && here->decays != next->decays))
        return false;
    for (int p = 0; p < pass->pieces; p++) {
        const struct hc_storage *a = hc_update_storage(update, pass->piece[p], update->order[k]);
        const struct hc_storage *b =
            hc_update_storage(update, pass->piece[p], update->order[k + 1]);
        if (a != b && (!a || !b || !follows(a, b)))
            return false;
    }
    return true;
}

static enum hc_status walk(struct hc_update *update, const struct pass *pass)
{
    enum hc_status status = HC_OK;
    for (int first = 0, last; first < update->n && status == HC_OK; first = last + 1) {
        last = first;
        if (!pass->wants(update, &update->slots[update->order[first]]))
            continue;
        while (last + 1 < update->n && goes_on(update, pass, last))
            last++;
        status = pass->run(update, first, last);
    }
    return status;
}

/* The piece of the slots at these places of the order, with what lies between them. */
static struct hc_tensor span(const struct hc_update *update, int first, int last,
                             enum hc_piece piece)
{
    const struct hc_storage *a = hc_update_storage(update, piece, update->order[first]);
    int64_t count = 0;
    for (int k = first; k < last; k++)
        count += hc_update_padded(update->slots[update->order[k]].parameter->storage->count);
    count += update->slots[update->order[last]].parameter->storage->count;
    return hc_tensor1(a->format, count, a->data);
}

static bool all(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    (void)slot;
    return true;
}

static bool decays(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    return slot->decays;
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
    return add_to(update, update->recipe.weight_decay, span(update, first, last, HC_PIECE_MODEL),
                  span(update, first, last, HC_PIECE_GRADIENT));
}

static bool has_master_gradient(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    return slot->piece[HC_PIECE_MASTER_GRADIENT] != NULL;
}

/* From the model's gradients to what the optimizer reads; found gathers from the first slot on. */
static enum hc_status unscale(struct hc_update *update, int first, int last)
{
    const struct hc_recipe *r = &update->recipe;
    struct hc_tensor gradient = span(update, first, last, HC_PIECE_GRADIENT);
    struct hc_tensor unscaled = span(update, first, last, HC_PIECE_MASTER_GRADIENT);
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
    }
    return hc_device_run(update->device, &call);
}

static enum hc_status optimize(struct hc_update *update, int first, int last)
{
    const struct hc_recipe *r = &update->recipe;
    const struct hc_update_slot *slot = &update->slots[update->order[first]];
    struct hc_tensor w = span(update, first, last, HC_PIECE_MASTER);
    struct hc_tensor g = span(update, first, last, HC_PIECE_MASTER_GRADIENT);
    struct hc_tensor m = span(update, first, last, HC_PIECE_M);
    struct hc_tensor hyper = hc_storage_tensor(update->hyper);
    struct hc_tensor found = {.format = HC_FP32};
    bool decoupled = r->decay == HC_DECAY_DECOUPLED;
    double decay = slot->decays && (decoupled || r->decay == HC_DECAY_L2) ? r->weight_decay : 0;
    struct hc_call call;
    if (update->rule.skips)
        found = hc_storage_tensor(update->found);
    if (r->optimizer == HC_OPTIMIZER_SGD) {
        call = (struct hc_call){.op = HC_OP_sgd, .in = {w, g, m, hyper, found}, .out = {w, m}};
        call.params.sgd = (struct hc_sgd){.weight_decay = decay,
                                          .decoupled = decoupled,
                                          .nesterov = r->nesterov,
                                          .arithmetic = slot->arithmetic};
    } else {
        struct hc_tensor v = span(update, first, last, HC_PIECE_V);
        call = (struct hc_call){.op = decoupled ? HC_OP_adamw : HC_OP_adam,
                                .in = {w, g, m, v, hyper, found},
                                .out = {w, m, v}};
        call.params.adam = (struct hc_adam){.beta2 = r->beta2,
                                            .eps = r->eps,
                                            .weight_decay = decay,
                                            .eps_inside = r->eps_inside,
                                            .arithmetic = slot->arithmetic};
    }
    return hc_device_run(update->device, &call);
}

static bool has_master(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    return slot->piece[HC_PIECE_MASTER] != NULL;
}

/* An edit of the copy does not survive this. */
static enum hc_status to_model(struct hc_update *update, int first, int last)
{
    struct hc_call call = {.op = HC_OP_master_to_model,
                           .in = {span(update, first, last, HC_PIECE_MASTER)},
                           .out = {span(update, first, last, HC_PIECE_MODEL)}};
    return hc_device_run(update->device, &call);
}

static const struct pass decay_scaled_pass = {
    2, {HC_PIECE_MODEL, HC_PIECE_GRADIENT}, true, decays, decay_scaled};
static const struct pass unscale_pass = {
    2, {HC_PIECE_GRADIENT, HC_PIECE_MASTER_GRADIENT}, false, has_master_gradient, unscale};
static const struct pass optimize_pass = {
    4, {HC_PIECE_MASTER, HC_PIECE_MASTER_GRADIENT, HC_PIECE_M, HC_PIECE_V}, true, all, optimize};
static const struct pass to_model_pass = {
    2, {HC_PIECE_MASTER, HC_PIECE_MODEL}, false, has_master, to_model};

static enum hc_status rates(struct hc_update *update, const struct hc_storage *table)
{
    struct hc_call call = {.op = HC_OP_rates,
                           .in = {hc_tensor2(HC_FP32, table->count / 2, 2, table->data),
                                  hc_storage_tensor(update->counts)},
                           .out = {hc_storage_tensor(update->hyper)}};
    return hc_device_run(update->device, &call);
}

/* A defect, whose factor comes from the host at each step. */
static enum hc_status decay_model(struct hc_update *update, double lr)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < update->n && status == HC_OK; i++) {
        struct hc_tensor w = hc_storage_tensor(update->slots[i].parameter->storage);
        if (update->slots[i].decays)
            status = add_to(update, -(lr * update->recipe.weight_decay), w, w);
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
    const struct hc_storage *journal = update->journal;
    if (!journal)
        return HC_OK;
    struct hc_tensor rows = hc_tensor2(HC_FP32, journal->count / 4, 4, journal->data);
    struct hc_call call = {.op = HC_OP_journal,
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

static enum hc_status step(struct hc_update *update, const struct hc_storage *table, double lr)
{
    enum hc_decay decay = update->recipe.decay;
    enum hc_status status = rates(update, table);
    if (status == HC_OK && decay == HC_DECAY_SCALED)
        status = walk(update, &decay_scaled_pass);
    if (status == HC_OK)
        status = walk(update, &unscale_pass);
    if (status == HC_OK && decay == HC_DECAY_MODEL)
        status = decay_model(update, lr);
    if (status == HC_OK)
        status = walk(update, &optimize_pass);
    if (status == HC_OK)
        status = walk(update, &to_model_pass);
    if (status == HC_OK)
        status = report(update);
    return status == HC_OK ? count(update) : status;
}

enum hc_status hc_update_step(struct hc_update *update, double lr, double beta1)
{
    double rate = lr * hc_recipe_rate(&update->recipe);
    const float row[2] = {(float)rate, (float)beta1};
    enum hc_status status = hc_storage_write(update->single, row);
    return status == HC_OK ? step(update, update->single, rate) : status;
}

enum hc_status hc_update_queue(struct hc_update *update)
{
    assert(update->schedule && hc_update_is_fixed(update));
    return step(update, update->schedule, 0);
}
