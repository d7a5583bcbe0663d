#include <assert.h>
#include <stdlib.h>

#include "train/update/update_inner.h"

/* Takes over the reference. The model's values move along. */
static enum hc_status move_into(struct hc_update_slot *slot, enum hc_state_tensor state,
                                struct hc_storage *storage)
{
    if (!storage)
        return HC_NO_MEMORY;
    if (state == HC_STATE_MODEL)
        return hc_parameter_place(slot->parameter, storage);
    slot->state[state] = storage;
    return HC_OK;
}

/* Storage for one state tensor of the slots from place `first` to `last` that have it in `format`:
   one behind the other in an arena, or each by itself where the recipe keeps parameters apart. */
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
            struct hc_update_slot *slot = &update->slots[k];
            if (!slot->plan.own[state] || slot->plan.format[state] != format)
                continue;
            if (pass == 1)
                status = move_into(slot, state,
                                   apart ? hc_storage_new(update->device, format, slot->count)
                                         : hc_storage_view(arena, at, slot->count));
            at += hc_update_padded(slot->count);
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

/* Flat masters are one vector for each parameter group, and so are their gradients and momenta.
   Anything else is one vector for all groups. */
static enum hc_status open_state(struct hc_update *update, enum hc_state_tensor state)
{
    bool whole = !update->recipe.flat || state == HC_STATE_MODEL || state == HC_STATE_GRADIENT;
    enum hc_status status = HC_OK;
    for (int first = 0, last; first < update->n && status == HC_OK; first = last + 1) {
        last = first;
        int group = update->slots[first].plan.group;
        while (last + 1 < update->n && (whole || update->slots[last + 1].plan.group == group))
            last++;
        for (int f = 0; f < HC_FORMAT_COUNT && status == HC_OK; f++)
            status = open_format(update, first, last, state, (enum hc_format)f);
    }
    return status;
}

/* The model's conversion and the masters, in the order that the recipe states. half() of everything
   followed by float() of the norms rounds norms once through the model's format. */
static enum hc_status convert(struct hc_update *update, struct hc_update_slot *slot)
{
    const struct hc_recipe *r = &update->recipe;
    struct hc_parameter *parameter = slot->parameter;
    struct hc_storage *master = slot->state[HC_STATE_MASTER];
    enum hc_status status = HC_OK;
    if (r->masters == HC_MASTERS_FROM_FP32)
        status = hc_device_cast(update->device, hc_storage_tensor(parameter->storage),
                                hc_storage_tensor(master));
    if (status == HC_OK && parameter->role == HC_ROLE_NORM && r->norm_rounded)
        status = hc_parameter_to(parameter, r->model);
    if (status == HC_OK)
        status = hc_parameter_to(parameter, slot->plan.format[HC_STATE_MODEL]);
    if (status == HC_OK && r->masters == HC_MASTERS_FROM_MODEL)
        status = hc_device_cast(update->device, hc_storage_tensor(parameter->storage),
                                hc_storage_tensor(master));
    return status;
}

static bool comes_before(const struct hc_slot_plan *a, const struct hc_slot_plan *b)
{
    if (a->group != b->group)
        return a->group < b->group;
    return a->format[HC_STATE_MODEL] < b->format[HC_STATE_MODEL];
}

/* Every slot with its plan, in memory's order. Slots that are alike keep the order of the
   parameters. Layer l of n belongs to layer group l * groups / n. */
static enum hc_status make_slots(struct hc_update *update, struct hc_parameter *const *parameters)
{
    struct hc_update_slot *slots = update->slots;
    int groups = update->layer_groups;
    int layers = 1;
    int64_t first = 0;
    for (int i = 0; i < update->n; i++)
        if (layers <= parameters[i]->layer)
            layers = parameters[i]->layer + 1;
    if (layers < groups)
        return hc_fail(HC_INVALID, "recipe %s: more layer groups (%d) than layers (%d)",
                       update->recipe.name, groups, layers);
    for (int i = 0; i < update->n; i++) {
        struct hc_parameter *parameter = parameters[i];
        struct hc_slot_plan plan =
            hc_slot_plan(&update->recipe, parameter->role, parameter->layer * groups / layers);
        int k = i;
        assert(parameter->role != HC_ROLE_STATISTIC);
        for (; k > 0 && comes_before(&plan, &slots[k - 1].plan); k--)
            slots[k] = slots[k - 1];
        slots[k] = (struct hc_update_slot){
            .parameter = parameter, .number = i, .count = parameter->storage->count, .plan = plan};
    }
    for (int k = 0; k < update->n; k++) {
        update->place[slots[k].number] = k;
        slots[k].first = first;
        first += hc_update_padded(slots[k].count);
    }
    return HC_OK;
}

static enum hc_status open_slots(struct hc_update *update, struct hc_parameter *const *parameters)
{
    enum hc_status status = make_slots(update, parameters);
    for (int s = HC_STATE_GRADIENT; s < HC_STATE_COUNT && status == HC_OK; s++)
        status = open_state(update, (enum hc_state_tensor)s);
    for (int i = 0; i < update->n && status == HC_OK; i++)
        status = convert(update, &update->slots[i]);
    if (status == HC_OK && !update->recipe.apart)
        status = open_state(update, HC_STATE_MODEL);
    return status;
}

static enum hc_status open_scaler(struct hc_update *update, float scale)
{
    struct hc_device *device = update->device;
    bool asks = (update->traits & (HC_TRAIT_STEPS_ON_OVERFLOW | HC_TRAIT_ERROR_AT_FLOOR)) != 0;
    update->scale = hc_storage_new(device, HC_FP32, 1);
    update->found = hc_storage_new(device, HC_FP32, 1);
    update->counts = hc_storage_new(device, HC_I32, HC_COUNTS);
    if (asks)
        update->verdict = hc_storage_new(device, HC_FP32, HC_VERDICT_ELEMENTS);
    if (!update->scale || !update->found || !update->counts || (asks && !update->verdict))
        return HC_NO_MEMORY;
    return hc_storage_write(update->scale, &scale);
}

static unsigned traits_of(const struct hc_recipe *r, const struct hc_scaler_update *rule)
{
    bool steps = hc_recipe_steps_on_overflow(r);
    bool clips = r->clip > 0;
    return (r->decay == HC_DECAY_SCALED ? HC_TRAIT_DECAY_SCALED_GRADIENT : 0u) |
           (r->decay == HC_DECAY_MODEL ? HC_TRAIT_DECAY_MODEL_COPY : 0u) |
           (clips && r->clip_scaled ? HC_TRAIT_CLIP_SCALED : 0u) |
           (clips && !r->clip_scaled ? HC_TRAIT_CLIP_UNSCALED : 0u) |
           (steps ? HC_TRAIT_STEPS_ON_OVERFLOW : 0u) |
           (steps && r->decay == HC_DECAY_DECOUPLED ? HC_TRAIT_DECAYS_APART : 0u) |
           (rule->error_at_floor ? HC_TRAIT_ERROR_AT_FLOOR : 0u);
}

static enum hc_status open_all(struct hc_update *update, struct hc_parameter *const *parameters)
{
    const struct hc_recipe *r = &update->recipe;
    size_t slots = (size_t)update->n + 1;
    bool adamw = r->decay == HC_DECAY_DECOUPLED;
    float scale = hc_scaler_initial(&r->scaler);
    update->rule = hc_scaler_params(&r->scaler);
    update->traits = traits_of(r, &update->rule);
    update->rule.wait_for_first_step = (update->traits & HC_TRAIT_STEPS_ON_OVERFLOW) && !r->flat;
    update->optimizer = r->optimizer == HC_OPTIMIZER_SGD ? HC_OP_sgd
                        : adamw                          ? HC_OP_adamw
                                                         : HC_OP_adam;
    update->slots = calloc(slots, sizeof *update->slots);
    update->place = calloc(slots, sizeof *update->place);
    if (!update->slots || !update->place)
        return hc_fail(HC_NO_MEMORY, "no memory for an update over %d parameters", update->n);
    enum hc_status status = open_scaler(update, scale);
    if (status == HC_OK)
        status = open_slots(update, parameters);
    if (status == HC_OK)
        status = hc_rate_tables_open(update);
    if (status == HC_OK && (update->traits & HC_TRAIT_STEPS_ON_OVERFLOW))
        status = hc_stale_open(update);
    if (status == HC_OK && r->clip > 0)
        status = hc_clipping_open(update);
    return status;
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
    *update = (struct hc_update){.device = device,
                                 .recipe = *recipe,
                                 .layer_groups = hc_recipe_layer_groups(recipe),
                                 .n = n};
    status = open_all(update, parameters);
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
        for (int s = HC_STATE_GRADIENT; s < HC_STATE_COUNT; s++)
            hc_storage_drop(update->slots[i].state[s]);
    hc_stale_close(update);
    hc_rate_tables_close(update);
    hc_clipping_close(update);
    hc_storage_drop(update->scale);
    hc_storage_drop(update->found);
    hc_storage_drop(update->verdict);
    hc_storage_drop(update->counts);
    hc_storage_drop(update->step_log);
    free(update->slots);
    free(update->place);
    free(update);
}
