/* An update's memory: how parameters lie in it, what can be seen of it, and how it is opened. */
#include "train/update/update.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

struct hc_slot_plan hc_slot_plan(const struct hc_recipe *r, enum hc_role role, int layer_group)
{
    enum hc_format model = role == HC_ROLE_NORM        ? r->norm
                           : role == HC_ROLE_STATISTIC ? r->statistics
                                                       : r->model;
    bool single = r->masters == HC_MASTERS_NONE && model == HC_FP32;
    enum hc_format gradient = single ? HC_FP32 : r->gradient;
    enum hc_format state = single ? HC_FP32 : r->state;
    bool widened = gradient == HC_FP32 || gradient == model;

    double rate = r->rate > 0 ? r->rate : 1;
    double weights_decay = r->weight_decay;
    if (r->group_rates.n > 0)
        rate *= r->group_rates.value[layer_group];
    if (r->group_decays.n > 0)
        weights_decay = r->group_decays.value[layer_group];
    bool weight = role == HC_ROLE_WEIGHT;
    double decay = weight || r->decay_norm ? weights_decay : 0;
    bool second = !weight && (r->split_bn_bias || decay != weights_decay);

    return (struct hc_slot_plan){
        .own = {[HC_STATE_MODEL] = true,
                [HC_STATE_GRADIENT] = true,
                [HC_STATE_MASTER] = r->masters != HC_MASTERS_NONE,
                [HC_STATE_MASTER_GRADIENT] = r->scaler.rule != HC_SCALER_NONE || !widened,
                [HC_STATE_M] = true,
                [HC_STATE_V] = r->optimizer == HC_OPTIMIZER_ADAM,
                [HC_STATE_COMPENSATION] = r->kahan && model != HC_FP32},
        .format = {[HC_STATE_MODEL] = model,
                   [HC_STATE_GRADIENT] = model,
                   [HC_STATE_MASTER] = HC_FP32,
                   [HC_STATE_MASTER_GRADIENT] = gradient,
                   [HC_STATE_M] = state,
                   [HC_STATE_V] = state,
                   [HC_STATE_COMPENSATION] = model},
        .arithmetic = single ? HC_FP32 : r->arithmetic,
        .layer_group = layer_group,
        .group = 2 * layer_group + second,
        .rate = rate,
        .decay = decay,
    };
}

/* Slots that lie one behind the other, taken together.

   A network has a hundred parameters, most of them small, and a step has a dozen stages. One op for
   each parameter and stage would spend its time on launches. Parameters of one parameter group and
   one format therefore share an arena for each state tensor (below), and a stage runs one
   op over a whole span of them. Elementwise ops give the same bits either way, sums have a free
   order by their contract, and the padding between neighbours is zero.

   The spans are found anew at each step. They cannot be kept: a case may replace a parameter's
   storage between two steps, as torch's .half() does behind the optimizer's back. */

/* The storage that holds a state tensor of a slot. Tensors that share memory under
   this recipe (master and model weight, say) return the same one. NULL: the recipe has no such
   tensor. */
static struct hc_storage *slot_storage(const struct hc_update_slot *slot,
                                       enum hc_state_tensor state)
{
    bool own = slot->plan.own[state];
    if (state == HC_STATE_MODEL || (state == HC_STATE_MASTER && !own))
        return slot->parameter->storage;
    return slot->state[state == HC_STATE_MASTER_GRADIENT && !own ? HC_STATE_GRADIENT : state];
}

static bool follows(const struct hc_storage *a, const struct hc_storage *b)
{
    size_t bytes = (size_t)hc_update_padded(a->count) * (size_t)hc_formats[a->format].bytes;
    return a->arena && a->arena == b->arena && b->data == (unsigned char *)a->data + bytes;
}

static bool takes(const struct hc_pass *pass, const struct hc_update_slot *slot)
{
    return (!pass->decaying || slot->plan.decay > 0) && slot->plan.own[pass->owns];
}

/* Whether slot k + 1 goes on where slot k ends. */
static bool goes_on(const struct hc_update *update, const struct hc_pass *pass, int k)
{
    const struct hc_update_slot *here = &update->slots[k];
    const struct hc_update_slot *next = &update->slots[k + 1];
    if (!takes(pass, next) || here->plan.arithmetic != next->plan.arithmetic ||
        (pass->by_group && here->plan.group != next->plan.group))
        return false;
    for (int t = 0; t < pass->touches; t++) {
        const struct hc_storage *a = slot_storage(here, pass->touched[t]);
        const struct hc_storage *b = slot_storage(next, pass->touched[t]);
        if (a != b && (!a || !b || !follows(a, b)))
            return false;
    }
    return true;
}

enum hc_status hc_update_walk(struct hc_update *update, const struct hc_pass *pass)
{
    enum hc_status status = HC_OK;
    for (int first = 0, last; first < update->n && status == HC_OK; first = last + 1) {
        last = first;
        if (!takes(pass, &update->slots[first]))
            continue;
        while (last + 1 < update->n && goes_on(update, pass, last))
            last++;
        status = pass->run(update, first, last);
    }
    return status;
}

struct hc_tensor hc_update_span(const struct hc_update *update, int first, int last,
                                enum hc_state_tensor state)
{
    const struct hc_storage *a = slot_storage(&update->slots[first], state);
    int64_t count = 0;
    for (int k = first; k < last; k++)
        count += hc_update_padded(update->slots[k].count);
    count += update->slots[last].count;
    return hc_tensor1(a->format, count, a->data);
}

static const struct hc_update_slot *slot_of(const struct hc_update *update, int i)
{
    assert(i >= 0 && i < update->n);
    return &update->slots[update->place[i]];
}

static struct hc_storage *storage_of(const struct hc_update *update, enum hc_state_tensor state,
                                     int i)
{
    return slot_storage(slot_of(update, i), state);
}

struct hc_tensor hc_update_tensor(const struct hc_update *update, enum hc_state_tensor state, int i)
{
    const struct hc_storage *s = storage_of(update, state, i);
    if (!s)
        return hc_tensor1(HC_FP32, 0, NULL);
    const struct hc_parameter *parameter = slot_of(update, i)->parameter;
    struct hc_tensor t = {.format = s->format, .rank = parameter->rank, .data = s->data};
    memcpy(t.shape, parameter->shape, sizeof t.shape);
    return t;
}

enum hc_status hc_update_get(const struct hc_update *update, enum hc_state_tensor state, int i,
                             int64_t index, double *value)
{
    const struct hc_storage *s = storage_of(update, state, i);
    assert(s && index >= 0 && index < s->count);
    uint64_t bits = 0;
    size_t bytes = (size_t)hc_formats[s->format].bytes;
    const unsigned char *at = (const unsigned char *)s->data + (size_t)index * bytes;
    const struct hc_device *device = update->device;
    enum hc_status status = device->backend->download(device->queue, &bits, at, bytes);
    *value = hc_decode(s->format, bits);
    return status;
}

enum hc_status hc_update_set(const struct hc_update *update, enum hc_state_tensor state, int i,
                             int64_t index, double value)
{
    const struct hc_storage *s = storage_of(update, state, i);
    assert(s && index >= 0 && index < s->count);
    uint64_t bits = hc_encode(s->format, value, 0, HC_NEAREST);
    size_t bytes = (size_t)hc_formats[s->format].bytes;
    unsigned char *at = (unsigned char *)s->data + (size_t)index * bytes;
    const struct hc_device *device = update->device;
    return device->backend->upload(device->queue, at, &bits, bytes);
}

enum hc_status hc_update_read(const struct hc_update *update, enum hc_state_tensor state, int i,
                              void *to)
{
    const struct hc_storage *s = storage_of(update, state, i);
    return s ? hc_storage_read(s, to) : HC_OK;
}

enum hc_status hc_update_write(const struct hc_update *update, enum hc_state_tensor state, int i,
                               const void *from)
{
    const struct hc_storage *s = storage_of(update, state, i);
    return s ? hc_storage_write(s, from) : HC_OK;
}

_Static_assert(offsetof(struct hc_counters, scale) == HC_COUNTS * sizeof(int32_t),
               "the counts come first, as op/counts.h has them");

enum hc_status hc_update_counters(const struct hc_update *update, struct hc_counters *counters)
{
    enum hc_status status = hc_storage_read(update->counts, counters);
    return status == HC_OK ? hc_storage_read(update->scale, &counters->scale) : status;
}

enum hc_status hc_update_set_counters(struct hc_update *update, const struct hc_counters *counters)
{
    enum hc_status status = hc_storage_write(update->counts, counters);
    if (status == HC_OK)
        status = hc_storage_write(update->scale, &counters->scale);
    bool zeroed = (update->traits & HC_TRAIT_STEPS_ON_OVERFLOW) && counters->steps > 0;
    return status == HC_OK && zeroed ? hc_update_walk(update, &hc_stale_zero) : status;
}

bool hc_update_is_fixed(const struct hc_update *update)
{
    return !(update->traits & HC_TRAIT_DECAY_MODEL_COPY);
}

enum hc_status hc_update_step_log(struct hc_update *update, int64_t rows, struct hc_tensor loss,
                                  struct hc_tensor right)
{
    assert(!update->step_log && rows > 0);
    update->reported[0] = loss;
    update->reported[1] = right;
    update->traits |= HC_TRAIT_LOGS_STEPS;
    update->step_log = hc_storage_new(update->device, HC_FP32, HC_STEP_LOG_COLUMNS * rows);
    return update->step_log ? HC_OK : HC_NO_MEMORY;
}

enum hc_status hc_update_read_step_log(const struct hc_update *update, struct hc_step_log_row *rows)
{
    return hc_storage_read(update->step_log, rows);
}

void hc_update_watch(struct hc_update *update, hc_step_watch *watch, void *context)
{
    update->watch = watch;
    update->watch_context = context;
    update->traits =
        watch ? update->traits | HC_TRAIT_WATCHED : update->traits & ~(unsigned)HC_TRAIT_WATCHED;
}

void hc_update_share(struct hc_update *update, hc_step_watch *agree, void *context)
{
    assert(update->recipe.scaler.rule != HC_SCALER_NONE);
    update->agree = agree;
    update->agree_context = context;
    update->traits |= HC_TRAIT_SHARED;
}

struct hc_tensor hc_update_found(const struct hc_update *update)
{
    struct hc_tensor absent = {.format = HC_FP32};
    bool looks = update->recipe.scaler.rule != HC_SCALER_NONE;
    return looks ? hc_storage_tensor(update->found) : absent;
}

void hc_update_seed(struct hc_update *update, uint64_t seed)
{
    update->seed = seed;
}

bool hc_update_skips(const struct hc_update *update)
{
    return update->rule.skip_on_overflow;
}

struct hc_tensor hc_update_scale(const struct hc_update *update)
{
    return hc_storage_tensor(update->scale);
}

struct hc_tensor hc_update_steps(const struct hc_update *update)
{
    return hc_storage_tensor(update->counts);
}

int hc_update_parameters(const struct hc_update *update)
{
    return update->n;
}

const struct hc_recipe *hc_update_recipe(const struct hc_update *update)
{
    return &update->recipe;
}

const struct hc_slot_plan *hc_update_plan(const struct hc_update *update, int i)
{
    return &slot_of(update, i)->plan;
}

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

enum hc_status hc_model_open(struct hc_update **update, struct hc_device *device,
                             struct hc_net *net, const struct hc_recipe *recipe)
{
    struct hc_tensor tensors[3 * HC_MAX_LAYERS];
    int n = hc_net_plan(net)->parameters;
    *update = NULL;
    enum hc_status status = hc_update_open(update, device, recipe, hc_net_parameters(net), n);
    if (status != HC_OK)
        return status;
    assert(*update);
    for (int i = 0; i < n; i++)
        tensors[i] = hc_update_tensor(*update, HC_STATE_GRADIENT, i);
    status = hc_net_prepare(net, hc_recipe_numerics(recipe), tensors);
    for (int i = 0; i < n; i++)
        tensors[i] = hc_update_tensor(*update, HC_STATE_MASTER, i);
    hc_net_quantise_from(net, tensors);
    return status;
}

static const double start_division = 25;
static const double end_division = 1e4;
static const double beta_high = 0.95;
static const double beta_low = 0.85;
static const double pi = 3.141592653589793;

struct hc_rates hc_one_cycle(double max_lr, int64_t steps, int64_t step)
{
    assert(step >= 0 && step < steps);
    double start = max_lr / start_division;
    double end = start / end_division;
    double at = steps > 1 ? (double)step / (double)(steps - 1) : 0;
    if (at <= 0.5) {
        double up = 2 * at;
        return (struct hc_rates){.lr = start + up * (max_lr - start),
                                 .beta1 = beta_high - up * (beta_high - beta_low)};
    }
    /* 1 at the peak, 0 at the end; at the end cos is exactly -1. */
    double left = 0.5 + 0.5 * cos(pi * (2 * at - 1));
    return (struct hc_rates){.lr = end + left * (max_lr - end),
                             .beta1 = beta_high - left * (beta_high - beta_low)};
}

struct hc_rates hc_warmup_cosine(double max_lr, int64_t warmup, int64_t steps, int64_t step)
{
    assert(step >= 0 && step < steps);
    double end = max_lr / 10;
    if (step < warmup)
        return (struct hc_rates){.lr = max_lr * (double)(step + 1) / (double)warmup, .beta1 = 0.9};
    double left = 0.5 + 0.5 * cos(pi * (double)(step + 1 - warmup) / (double)(steps - warmup));
    return (struct hc_rates){.lr = end + left * (max_lr - end), .beta1 = 0.9};
}
