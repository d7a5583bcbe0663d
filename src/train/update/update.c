#include <assert.h>
#include <stdlib.h>

#include "train/update/update_inner.h"

const char *const hc_state_tensor_names[HC_STATE_COUNT] = {
    [HC_STATE_MODEL] = "model",
    [HC_STATE_GRADIENT] = "gradient",
    [HC_STATE_MASTER] = "master",
    [HC_STATE_MASTER_GRADIENT] = "master gradient",
    [HC_STATE_M] = "m",
    [HC_STATE_V] = "v",
    [HC_STATE_COMPENSATION] = "compensation",
};

/* Whether gradients pass through storage of their own on the way to the optimizer. A 16-bit
   gradient that nothing unscales is read as it is: widening it is exact. */
static bool passes(const struct hc_recipe *r, enum hc_role role)
{
    enum hc_format wanted = hc_recipe_optimizes(r, role, r->gradient);
    return r->scaler.rule != HC_SCALER_NONE ||
           (wanted != hc_recipe_format(r, role) && wanted != HC_FP32);
}

/* Whether the slot has such a piece of its own, and its format. */
static bool wanted(const struct hc_recipe *r, enum hc_role role, enum hc_state_tensor state,
                   enum hc_format *format)
{
    switch (state) {
    case HC_STATE_MASTER:
        *format = HC_FP32;
        return r->masters != HC_MASTERS_NONE;
    case HC_STATE_MASTER_GRADIENT:
        *format = hc_recipe_optimizes(r, role, r->gradient);
        return passes(r, role);
    case HC_STATE_M:
    case HC_STATE_V:
        *format = hc_recipe_optimizes(r, role, r->state);
        return state == HC_STATE_M || r->optimizer == HC_OPTIMIZER_ADAM;
    case HC_STATE_COMPENSATION:
        *format = hc_recipe_format(r, role);
        return r->kahan && *format != HC_FP32;
    default:
        *format = hc_recipe_format(r, role);
        return true;
    }
}

/* Takes over the reference. The model's values move along. */
static enum hc_status give(struct hc_update_slot *slot, enum hc_state_tensor state,
                           struct hc_storage *storage)
{
    if (!storage)
        return HC_NO_MEMORY;
    if (state == HC_STATE_MODEL)
        return hc_parameter_place(slot->parameter, storage);
    slot->state[state] = storage;
    return HC_OK;
}

/* Those of the slots at these places that have the piece in that format: one after the other in an
   arena, or each in a storage of its own. */
static enum hc_status open_format(struct hc_update *update, int first, int last,
                                  enum hc_state_tensor state, enum hc_format format)
{
    bool apart = update->recipe.apart;
    struct hc_storage *arena = NULL;
    enum hc_status status = HC_OK;
    int64_t end = 0;
    for (int pass = 0; pass < 2 && status == HC_OK; pass++) {
        int64_t at = 0;
        for (int k = first; k <= last && status == HC_OK; k++) {
            struct hc_update_slot *slot = &update->slots[update->order[k]];
            int64_t count = slot->parameter->storage->count;
            enum hc_format own;
            if (!wanted(&update->recipe, slot->parameter->role, state, &own) || own != format)
                continue;
            if (pass == 1)
                status = give(slot, state,
                              apart ? hc_storage_new(update->device, format, count)
                                    : hc_storage_view(arena, at, count));
            at += hc_update_padded(count);
            end = at;
        }
        if (pass == 0 && end > 0 && !apart) {
            arena = hc_storage_new(update->device, format, end);
            status = arena ? HC_OK : HC_NO_MEMORY;
        }
    }
    hc_storage_drop(arena);
    return status;
}

/* Flat masters are one vector for each group, and so are their gradients and momenta. */
static enum hc_status open_state_tensor(struct hc_update *update, enum hc_state_tensor state)
{
    bool whole = !update->recipe.flat || state == HC_STATE_MODEL || state == HC_STATE_GRADIENT;
    enum hc_status status = HC_OK;
    for (int first = 0, last; first < update->n && status == HC_OK; first = last + 1) {
        last = first;
        while (last + 1 < update->n && (whole || update->slots[update->order[last + 1]].group ==
                                                     update->slots[update->order[first]].group))
            last++;
        for (int f = 0; f < HC_FORMAT_COUNT && status == HC_OK; f++)
            status = open_format(update, first, last, state, (enum hc_format)f);
    }
    return status;
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
    struct hc_storage *master = slot->state[HC_STATE_MASTER];
    enum hc_status status = HC_OK;
    if (r->masters == HC_MASTERS_FROM_FP32)
        status = cast(update, hc_storage_tensor(parameter->storage), hc_storage_tensor(master));
    if (status == HC_OK)
        status = hc_recipe_convert(r, parameter);
    if (status == HC_OK && r->masters == HC_MASTERS_FROM_MODEL)
        status = cast(update, hc_storage_tensor(parameter->storage), hc_storage_tensor(master));
    return status;
}

static bool before(const struct hc_update *update, int a, int b)
{
    const struct hc_recipe *r = &update->recipe;
    const struct hc_update_slot *x = &update->slots[a];
    const struct hc_update_slot *y = &update->slots[b];
    if (x->group != y->group)
        return x->group < y->group;
    return hc_recipe_format(r, x->parameter->role) < hc_recipe_format(r, y->parameter->role);
}

static void sort(struct hc_update *update)
{
    for (int i = 0; i < update->n; i++) {
        int k = i;
        for (; k > 0 && before(update, i, update->order[k - 1]); k--)
            update->order[k] = update->order[k - 1];
        update->order[k] = i;
    }
    int64_t first = 0;
    for (int k = 0; k < update->n; k++) {
        struct hc_update_slot *slot = &update->slots[update->order[k]];
        slot->first = first;
        first += hc_update_padded(slot->parameter->storage->count);
    }
}

static enum hc_status open_slots(struct hc_update *update, struct hc_parameter *const *parameters)
{
    const struct hc_recipe *r = &update->recipe;
    enum hc_status status = HC_OK;
    for (int i = 0; i < update->n; i++) {
        enum hc_role role = parameters[i]->role;
        assert(role != HC_ROLE_STATISTIC);
        update->slots[i] = (struct hc_update_slot){
            .parameter = parameters[i], .arithmetic = hc_recipe_optimizes(r, role, r->arithmetic)};
    }
    status = hc_groups_open(update);
    if (status == HC_OK)
        sort(update);
    for (int p = HC_STATE_GRADIENT; p < HC_STATE_COUNT && status == HC_OK; p++)
        status = open_state_tensor(update, (enum hc_state_tensor)p);
    for (int i = 0; i < update->n && status == HC_OK; i++)
        status = convert(update, &update->slots[i]);
    return status == HC_OK && !r->apart ? open_state_tensor(update, HC_STATE_MODEL) : status;
}

static enum hc_status open_state(struct hc_update *update)
{
    struct hc_device *device = update->device;
    float scale = hc_scaler_initial(&update->recipe.scaler);
    update->scale = hc_storage_new(device, HC_FP32, 1);
    update->found = hc_storage_new(device, HC_FP32, 1);
    update->counts = hc_storage_new(device, HC_I32, HC_COUNTS);
    if (update->rule.error_at_floor)
        update->judged = hc_storage_new(device, HC_FP32, 2);
    if (!update->scale || !update->found || !update->counts ||
        (update->rule.error_at_floor && !update->judged))
        return HC_NO_MEMORY;
    return hc_storage_write(update->scale, &scale);
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
    *update = (struct hc_update){.device = device, .recipe = *recipe, .n = n};
    update->rule = hc_scaler_params(&recipe->scaler);
    update->step_on_overflow = hc_recipe_steps_on_overflow(recipe);
    update->rule.wait_for_first_step = update->step_on_overflow && !recipe->flat;
    update->slots = calloc((size_t)n + 1, sizeof *update->slots);
    update->order = calloc((size_t)n + 1, sizeof *update->order);
    if (!update->slots || !update->order)
        status = hc_fail(HC_NO_MEMORY, "no memory for an update over %d parameters", n);
    if (status == HC_OK)
        status = open_state(update);
    if (status == HC_OK)
        status = open_slots(update, parameters);
    if (status == HC_OK && update->step_on_overflow)
        status = hc_stale_open(update);
    if (status == HC_OK)
        status = hc_clip_open(update);
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
    for (int i = 0; update->slots && i < update->n; i++)
        for (int p = HC_STATE_GRADIENT; p < HC_STATE_COUNT; p++)
            hc_storage_drop(update->slots[i].state[p]);
    hc_stale_close(update);
    hc_groups_close(update);
    hc_clip_close(update);
    hc_storage_drop(update->scale);
    hc_storage_drop(update->found);
    hc_storage_drop(update->judged);
    hc_storage_drop(update->counts);
    hc_storage_drop(update->step_log);
    free(update->slots);
    free(update->order);
    free(update);
}
