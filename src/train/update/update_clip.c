/* Clipping gradients to a norm, as torch's clip_grad_norm_ does: over all gradients or over each group. */
#include "train/update/update_inner.h"

enum hc_status hc_clip_open(struct hc_update *update)
{
    if (update->recipe.clip == 0)
        return HC_OK;
    update->squares = hc_storage_new(update->device, HC_FP32, 2 * update->layer_groups);
    update->factors = hc_storage_new(update->device, HC_FP32, 2 * update->layer_groups);
    return update->squares && update->factors ? HC_OK : HC_NO_MEMORY;
}

void hc_clip_close(struct hc_update *update)
{
    hc_storage_drop(update->squares);
    hc_storage_drop(update->factors);
}

static bool all(const struct hc_update *update, const struct hc_update_slot *slot)
{
    (void)update;
    (void)slot;
    return true;
}

static enum hc_state_tensor clipped(const struct hc_update *update)
{
    return update->recipe.clip_scaled ? HC_STATE_GRADIENT : HC_STATE_MASTER_GRADIENT;
}

/* Which norm the slot at this place of the order counts to. */
static int norm_of(const struct hc_update *update, int place)
{
    return update->recipe.clip_groups ? update->slots[update->order[place]].group : 0;
}

static struct hc_tensor number(const struct hc_storage *of, int norm)
{
    return hc_tensor1(HC_FP32, 1, (float *)of->data + norm);
}

/* fastai 1.0.61 clips no gradients that it has not copied. */
static enum hc_status make_factor(struct hc_update *update, int norm)
{
    struct hc_call call = {.op = HC_OP_clip,
                           .in = {number(update->squares, norm), {.format = HC_FP32}},
                           .out = {number(update->factors, norm)},
                           .params.clip = {update->recipe.clip}};
    if (update->step_on_overflow && !update->recipe.clip_scaled)
        call.in[1] = hc_tensor1(HC_FP32, 1, update->decided->data);
    return hc_device_run(update->device, &call);
}

/* Slots of one norm follow one another in the order. */
static enum hc_status add_squares(struct hc_update *update, int first, int last)
{
    int norm = norm_of(update, first);
    struct hc_tensor sum = number(update->squares, norm);
    struct hc_call call = {.op = HC_OP_sum_squares,
                           .in = {hc_update_span(update, first, last, clipped(update)), sum},
                           .out = {sum},
                           .params.reduce = {HC_FP32}};
    if (first == 0 || norm_of(update, first - 1) != norm)
        call.in[1] = (struct hc_tensor){.format = HC_FP32};
    enum hc_status status = hc_device_run(update->device, &call);
    bool ends = last + 1 == update->n || norm_of(update, last + 1) != norm;
    return status == HC_OK && ends ? make_factor(update, norm) : status;
}

/* A factor that is NaN must not stay in what lies between gradients. No backward pass would make 0 of it
   again; the next copy does, as far as it copies several at once: those that are neighbours in both. */
static enum hc_status multiply(struct hc_update *update, int first, int last)
{
    bool copied = clipped(update) == HC_STATE_MASTER_GRADIENT &&
                  update->slots[update->order[first]].state[HC_STATE_MASTER_GRADIENT];
    enum hc_status status = HC_OK;
    for (int k = first; k <= last && status == HC_OK; k = copied ? last + 1 : k + 1) {
        struct hc_tensor g = hc_update_span(update, k, copied ? last : k, clipped(update));
        struct hc_call call = {.op = HC_OP_scale,
                               .in = {g, number(update->factors, norm_of(update, first))},
                               .out = {g}};
        status = hc_device_run(update->device, &call);
    }
    return status;
}

enum hc_status hc_clip(struct hc_update *update)
{
    struct hc_pass sums = {1, {clipped(update)}, true, all, add_squares};
    static const struct hc_pass products = {
        2, {HC_STATE_GRADIENT, HC_STATE_MASTER_GRADIENT}, true, all, multiply};
    if (update->recipe.clip == 0)
        return HC_OK;
    enum hc_status status = hc_update_walk(update, &sums);
    return status == HC_OK ? hc_update_walk(update, &products) : status;
}
