/* fastai 1.0.61's rule: when gradients overflow they are not copied, but the optimizer steps on what the
   masters hold. */
#include <stdlib.h>
#include <string.h>

#include "train/update/update_inner.h"

/* What stands for uninitialised memory, byte by byte: as fp32 -431602080. */
enum { GARBAGE = 0xcd };

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

static enum hc_status soil(struct hc_update *update)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < update->n && status == HC_OK; i++) {
        struct hc_storage *gradient = update->slots[i].state[HC_STATE_MASTER_GRADIENT];
        size_t bytes = (size_t)gradient->count * sizeof(float);
        void *garbage = malloc(bytes + 1);
        if (!garbage)
            return hc_fail(HC_NO_MEMORY, "no memory for gradients");
        memset(garbage, GARBAGE, bytes);
        status = hc_storage_write(gradient, garbage);
        free(garbage);
    }
    return status;
}

enum hc_status hc_stale_open(struct hc_update *update)
{
    int64_t most = 1;
    int64_t whole = 0;
    for (int i = 0; i < update->n; i++) {
        int64_t count = update->slots[i].parameter->storage->count;
        whole += hc_update_padded(count);
        most = count > most ? count : most;
    }
    if (!update->recipe.apart && whole > most)
        most = whole;
    update->decided = hc_storage_new(update->device, HC_FP32, 3);
    update->sums = hc_storage_new(update->device, HC_FP32, update->n + 1);
    update->zeros = hc_storage_new(update->device, HC_FP32, most);
    if (!update->decided || !update->sums || !update->zeros)
        return HC_NO_MEMORY;
    return update->recipe.flat ? soil(update) : HC_OK;
}

void hc_stale_close(struct hc_update *update)
{
    hc_storage_drop(update->decided);
    hc_storage_drop(update->sums);
    hc_storage_drop(update->zeros);
}

/* The detector: the sum of a gradient in fp32, which is infinite or NaN where an element is. */
static enum hc_status add_up(struct hc_update *update, int first, int last)
{
    float *sum = (float *)update->sums->data + first;
    struct hc_call call = {.op = HC_OP_sum,
                           .in = {hc_update_span(update, first, last, HC_STATE_GRADIENT)},
                           .out = {hc_tensor1(HC_FP32, 1, sum)},
                           .params.reduce = {HC_FP32}};
    return hc_device_run(update->device, &call);
}

enum hc_status hc_stale_detect(struct hc_update *update)
{
    static const struct hc_pass sums = {1, {HC_STATE_GRADIENT}, false, all, add_up};
    struct hc_tensor scale = hc_storage_tensor(update->scale);
    struct hc_tensor found = hc_storage_tensor(update->found);
    struct hc_tensor each = hc_storage_tensor(update->sums);
    struct hc_call look = {.op = HC_OP_unscale, .in = {each, scale}, .out = {each, found}};
    struct hc_call decide = {.op = HC_OP_overflow_verdict,
                             .in = {scale, hc_storage_tensor(update->counts), found},
                             .out = {hc_tensor1(HC_FP32, 2, update->decided->data)},
                             .params.scaler = update->rule};
    enum hc_status status = hc_update_walk(update, &sums);
    if (status == HC_OK)
        status = hc_device_run(update->device, &look);
    return status == HC_OK ? hc_device_run(update->device, &decide) : status;
}

static enum hc_status shrink(struct hc_update *update, int first, int last)
{
    struct hc_tensor w = hc_update_span(update, first, last, HC_STATE_MASTER);
    int layer_group = update->slots[update->order[first]].layer_group;
    struct hc_tensor keep = hc_tensor1(HC_FP32, 1, update->layer_group[layer_group].keep->data);
    struct hc_call call = {.op = HC_OP_scale, .in = {w, keep}, .out = {w}};
    return hc_device_run(update->device, &call);
}

enum hc_status hc_stale_decay(struct hc_update *update)
{
    static const struct hc_pass pass = {1, {HC_STATE_MASTER}, true, decays, shrink};
    return update->recipe.decay == HC_DECAY_DECOUPLED ? hc_update_walk(update, &pass) : HC_OK;
}

static enum hc_status zero(struct hc_update *update, int first, int last)
{
    struct hc_tensor g = hc_update_span(update, first, last, HC_STATE_MASTER_GRADIENT);
    struct hc_call call = {.op = HC_OP_cast,
                           .in = {hc_tensor1(HC_FP32, hc_tensor_count(&g), update->zeros->data)},
                           .out = {g},
                           .params.cast = {HC_NEAREST}};
    return hc_device_run(update->device, &call);
}

enum hc_status hc_stale_zero(struct hc_update *update)
{
    static const struct hc_pass pass = {1, {HC_STATE_MASTER_GRADIENT}, false, all, zero};
    return hc_update_walk(update, &pass);
}
