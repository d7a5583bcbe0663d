#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "train/update/update_inner.h"

static const struct hc_update_slot *slot_of(const struct hc_update *update, int i)
{
    assert(i >= 0 && i < update->n);
    return &update->slots[update->place[i]];
}

static struct hc_storage *storage_of(const struct hc_update *update, enum hc_state_tensor state,
                                     int i)
{
    return hc_slot_storage(slot_of(update, i), state);
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
