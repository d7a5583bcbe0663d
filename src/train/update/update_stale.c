/* fastai 1.0.61's rule: when gradients overflow they are not copied to the masters, but the
   optimizer steps all the same, on whatever gradients the masters hold.

   What they hold is zeros, because fastai zeroes them after each step; or, before the first copy,
   nothing at all (then the step waits for the first copy) or uninitialised memory (flat masters).
   Momentum moves on such a step and weight decay applies, which is why the overflow costs more than
   a step that is left out.

   The detector is fastai's: the fp32 sum of each of the model's gradients, which is infinite or NaN
   if an element is. It must speak before the copy, so that this rule detects, asks for the verdict
   and unscales with the verdict, where the others unscale and detect in one op. Decay is a step of
   its own before the optimizer's: it multiplies weights and needs no gradient. */
#include <stdlib.h>
#include <string.h>

#include "train/update/update_inner.h"

/* What stands for uninitialised memory, byte by byte: as fp32 it is -431602080. */
enum { GARBAGE = 0xcd };

static enum hc_status fill_with_garbage(struct hc_storage *gradient)
{
    size_t bytes = (size_t)gradient->count * sizeof(float);
    void *garbage = malloc(bytes + 1);
    if (!garbage)
        return hc_fail(HC_NO_MEMORY, "no memory for gradients");
    memset(garbage, GARBAGE, bytes);
    enum hc_status status = hc_storage_write(gradient, garbage);
    free(garbage);
    return status;
}

enum hc_status hc_stale_open(struct hc_update *update)
{
    int64_t longest = 1;
    int64_t whole = 0;
    enum hc_status status = HC_OK;
    for (int i = 0; i < update->n; i++) {
        int64_t count = update->slots[i].count;
        whole += hc_update_padded(count);
        longest = count > longest ? count : longest;
    }
    if (!update->recipe.apart && whole > longest)
        longest = whole;
    update->sums = hc_storage_new(update->device, HC_FP32, update->n + 1);
    update->zeros = hc_storage_new(update->device, HC_FP32, longest);
    update->unread = hc_storage_new(update->device, HC_FP32, 1);
    if (!update->sums || !update->zeros || !update->unread)
        return HC_NO_MEMORY;
    for (int i = 0; update->recipe.flat && i < update->n && status == HC_OK; i++)
        status = fill_with_garbage(update->slots[i].state[HC_STATE_MASTER_GRADIENT]);
    return status;
}

void hc_stale_close(struct hc_update *update)
{
    hc_storage_drop(update->sums);
    hc_storage_drop(update->zeros);
    hc_storage_drop(update->unread);
}

static enum hc_status add_up(struct hc_update *update, int first, int last)
{
    struct hc_call call = {
        .op = HC_OP_sum,
        .in = {[HC_REDUCE_X] = hc_update_span(update, first, last, HC_STATE_GRADIENT)},
        .out = {[HC_REDUCE_OUT] = hc_storage_element(update->sums, first)},
        .params.reduce = {HC_FP32}};
    return hc_device_run(update->device, &call);
}

/* unscale for the sake of its flag: the sums themselves are not read again. */
enum hc_status hc_stale_detect(struct hc_update *update)
{
    struct hc_tensor sums = hc_storage_tensor(update->sums);
    struct hc_call call = {
        .op = HC_OP_unscale,
        .in = {[HC_UNSCALE_X] = sums, [HC_UNSCALE_SCALE] = hc_storage_tensor(update->scale)},
        .out = {[HC_UNSCALE_OUT] = sums,
                [HC_UNSCALE_NEW_FOUND_INF] = hc_storage_tensor(update->found)}};
    return hc_device_run(update->device, &call);
}

static enum hc_status shrink(struct hc_update *update, int first, int last)
{
    struct hc_tensor w = hc_update_span(update, first, last, HC_STATE_MASTER);
    int group = update->slots[first].plan.layer_group;
    struct hc_call call = {
        .op = HC_OP_scale,
        .in = {[HC_SCALE_X] = w,
               [HC_SCALE_S] = hc_storage_element(update->layer_group[group].keep, 0)},
        .out = {[HC_SCALE_OUT] = w}};
    return hc_device_run(update->device, &call);
}

static enum hc_status zero(struct hc_update *update, int first, int last)
{
    struct hc_tensor g = hc_update_span(update, first, last, HC_STATE_MASTER_GRADIENT);
    struct hc_tensor zeros = hc_tensor1(HC_FP32, hc_tensor_count(&g), update->zeros->data);
    return hc_device_cast(update->device, zeros, g);
}

const struct hc_pass hc_stale_sum = {.touches = 1, .touched = {HC_STATE_GRADIENT}, .run = add_up};
const struct hc_pass hc_stale_decay = {
    .touches = 1, .touched = {HC_STATE_MASTER}, .by_group = true, .decaying = true, .run = shrink};
const struct hc_pass hc_stale_zero = {
    .touches = 1, .touched = {HC_STATE_MASTER_GRADIENT}, .run = zero};
