#include "train/update_inner.h"

#include <assert.h>
#include <stdlib.h>

const char *const hc_piece_names[HC_PIECE_COUNT] = {
    [HC_PIECE_MODEL] = "model",   [HC_PIECE_GRADIENT] = "gradient",
    [HC_PIECE_MASTER] = "master", [HC_PIECE_MASTER_GRADIENT] = "master gradient",
    [HC_PIECE_M] = "m",           [HC_PIECE_V] = "v",
};

/* Whether gradients pass through storage of their own on the way to the optimizer. A 16-bit
   gradient that nothing unscales is read as it is: widening it is exact. */
static bool passes(const struct hc_recipe *r, enum hc_role role)
{
    enum hc_format wanted = hc_recipe_optimizes(r, role, r->gradient);
    return r->scaler.rule != HC_SCALER_NONE || r->flat ||
           (wanted != hc_recipe_format(r, role) && wanted != HC_FP32);
}

static struct hc_storage *own_or_view(struct hc_update *update, struct hc_storage *arena,
                                      int64_t offset, enum hc_format format, int64_t count)
{
    return arena ? hc_storage_view(arena, offset, count)
                 : hc_storage_new(update->device, format, count);
}

/* The pieces of slot i; those of the optimizer inside `flat`'s arenas at `offset` where flat is not
   NULL. */
static enum hc_status open_slot(struct hc_update *update, int i, const struct hc_update_item *flat,
                                int64_t offset)
{
    const struct hc_recipe *r = &update->recipe;
    struct hc_update_slot *slot = &update->slots[i];
    enum hc_role role = slot->parameter->role;
    int64_t count = slot->parameter->storage->count;
    const bool wanted[HC_PIECE_COUNT] = {
        [HC_PIECE_GRADIENT] = true,
        [HC_PIECE_MASTER] = r->masters != HC_MASTERS_NONE,
        [HC_PIECE_MASTER_GRADIENT] = passes(r, role),
        [HC_PIECE_M] = true,
        [HC_PIECE_V] = r->optimizer == HC_OPTIMIZER_ADAM,
    };
    const enum hc_format format[HC_PIECE_COUNT] = {
        [HC_PIECE_GRADIENT] = hc_recipe_format(r, role),
        [HC_PIECE_MASTER] = HC_FP32,
        [HC_PIECE_MASTER_GRADIENT] = hc_recipe_optimizes(r, role, r->gradient),
        [HC_PIECE_M] = hc_recipe_optimizes(r, role, r->state),
        [HC_PIECE_V] = hc_recipe_optimizes(r, role, r->state),
    };
    for (int p = HC_PIECE_GRADIENT; p < HC_PIECE_COUNT; p++) {
        struct hc_storage *arena = flat && p >= HC_PIECE_MASTER ? flat->piece[p] : NULL;
        if (!wanted[p])
            continue;
        slot->piece[p] = own_or_view(update, arena, offset, format[p], count);
        if (!slot->piece[p])
            return HC_NO_MEMORY;
    }
    return HC_OK;
}

static enum hc_status cast(struct hc_update *update, struct hc_tensor from, struct hc_tensor to)
{
    struct hc_call call = {
        .op = HC_OP_cast, .in = {from}, .out = {to}, .params.cast = {HC_NEAREST}};
    return hc_device_run(update->device, &call);
}

/* The model's conversion and the masters, whichever comes first. */
static enum hc_status convert(struct hc_update *update, struct hc_update_slot *slot)
{
    const struct hc_recipe *r = &update->recipe;
    struct hc_parameter *parameter = slot->parameter;
    struct hc_storage *master = slot->piece[HC_PIECE_MASTER];
    enum hc_status status = HC_OK;
    if (r->masters == HC_MASTERS_FROM_FP32)
        status = cast(update, hc_storage_tensor(parameter->storage), hc_storage_tensor(master));
    if (status == HC_OK)
        status = hc_recipe_convert(r, parameter);
    if (status == HC_OK && r->masters == HC_MASTERS_FROM_MODEL)
        status = cast(update, hc_storage_tensor(parameter->storage), hc_storage_tensor(master));
    return status;
}

/* One item for each parameter: its own pieces. The model's storage is asked for at each step, since
   a parameter may get another. */
static enum hc_status open_apart(struct hc_update *update)
{
    enum hc_status status = HC_OK;
    update->items = update->n;
    for (int i = 0; i < update->n && status == HC_OK; i++) {
        enum hc_role role = update->slots[i].parameter->role;
        struct hc_update_item *item = &update->item[i];
        status = open_slot(update, i, NULL, 0);
        item->arithmetic = hc_recipe_optimizes(&update->recipe, role, update->recipe.arithmetic);
        item->decays = hc_recipe_decays(&update->recipe, role);
        for (int p = HC_PIECE_MASTER; p < HC_PIECE_COUNT && status == HC_OK; p++)
            if (update->slots[i].piece[p])
                item->piece[p] = hc_storage_hold(update->slots[i].piece[p]);
    }
    return status;
}

static bool in_group(const struct hc_update *update, int i, bool decays)
{
    return hc_recipe_decays(&update->recipe, update->slots[i].parameter->role) == decays;
}

/* The arenas of a decay group, and its parameters' views of them. Masters are fp32, and so a recipe
   with masters has the same formats for every role. */
static enum hc_status open_group(struct hc_update *update, bool decays)
{
    const struct hc_recipe *r = &update->recipe;
    const enum hc_format format[HC_PIECE_COUNT] = {[HC_PIECE_MASTER] = HC_FP32,
                                                   [HC_PIECE_MASTER_GRADIENT] = r->gradient,
                                                   [HC_PIECE_M] = r->state,
                                                   [HC_PIECE_V] = r->state};
    enum hc_status status = HC_OK;
    int64_t total = 0;
    int64_t offset = 0;
    for (int i = 0; i < update->n; i++)
        if (in_group(update, i, decays))
            total += update->slots[i].parameter->storage->count;
    if (total == 0)
        return HC_OK;
    struct hc_update_item *item = &update->item[update->items++];
    *item = (struct hc_update_item){.arithmetic = r->arithmetic, .decays = decays};
    for (int p = HC_PIECE_MASTER; p < HC_PIECE_COUNT; p++) {
        if (p == HC_PIECE_V && r->optimizer == HC_OPTIMIZER_SGD)
            continue;
        item->piece[p] = hc_storage_new(update->device, format[p], total);
        if (!item->piece[p])
            return HC_NO_MEMORY;
    }
    for (int i = 0; i < update->n && status == HC_OK; i++) {
        if (!in_group(update, i, decays))
            continue;
        status = open_slot(update, i, item, offset);
        offset += update->slots[i].parameter->storage->count;
    }
    return status;
}

static enum hc_status open_flat(struct hc_update *update)
{
    enum hc_status status = open_group(update, true);
    return status == HC_OK ? open_group(update, false) : status;
}

static enum hc_status set_scale(struct hc_update *update)
{
    return hc_storage_write(update->scale, &update->counters.scaler.scale);
}

enum hc_status hc_update_open(struct hc_update **out, struct hc_device *device,
                              const struct hc_recipe *recipe,
                              struct hc_parameter *const *parameters, int n)
{
    *out = NULL;
    enum hc_status status = hc_recipe_check(recipe);
    if (status != HC_OK)
        return status;
    struct hc_update *update = calloc(1, sizeof *update);
    if (!update)
        return hc_fail(HC_NO_MEMORY, "no memory for an update");
    update->device = device;
    update->recipe = *recipe;
    update->n = n;
    update->slots = calloc((size_t)n + 1, sizeof *update->slots);
    update->item = calloc((size_t)n + 2, sizeof *update->item);
    update->scale = hc_storage_new(device, HC_FP32, 1);
    update->found = hc_storage_new(device, HC_FP32, 1);
    update->hyper = hc_storage_new(device, HC_FP32, 3);
    update->counters.scaler = hc_scaler_start(&recipe->scaler);
    if (!update->slots || !update->item || !update->scale || !update->found || !update->hyper) {
        status = hc_fail(HC_NO_MEMORY, "no memory for an update over %d parameters", n);
        goto end;
    }
    for (int i = 0; i < n; i++) {
        assert(parameters[i]->role != HC_ROLE_STATISTIC);
        update->slots[i].parameter = parameters[i];
    }
    status = recipe->flat ? open_flat(update) : open_apart(update);
    for (int i = 0; i < n && status == HC_OK; i++)
        status = convert(update, &update->slots[i]);
    if (status == HC_OK)
        status = set_scale(update);
end:
    if (status == HC_OK)
        *out = update;
    else
        hc_update_close(update);
    return status;
}

void hc_update_close(struct hc_update *update)
{
    if (!update)
        return;
    for (int p = HC_PIECE_GRADIENT; p < HC_PIECE_COUNT; p++) {
        for (int i = 0; update->slots && i < update->n; i++)
            hc_storage_drop(update->slots[i].piece[p]);
        for (int i = 0; update->item && i < update->items; i++)
            hc_storage_drop(update->item[i].piece[p]);
    }
    hc_storage_drop(update->scale);
    hc_storage_drop(update->found);
    hc_storage_drop(update->hyper);
    free(update->slots);
    free(update->item);
    free(update);
}
