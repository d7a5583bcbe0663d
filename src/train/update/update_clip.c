/* Clipping gradients to a norm, as torch's clip_grad_norm_ does: over all gradients, or over those
   of each parameter group by itself.

   One pass adds up squares and ends each norm with its factor, min(1, clip / (norm + 1e-6)); a
   second pass multiplies. The right place for both is behind unscaling. A recipe may have the
   defect of clipping the scaled gradients instead (clip_scaled), whose norm is the scale times too
   large. */
#include "train/update/update_inner.h"

enum hc_status hc_clipping_open(struct hc_update *update)
{
    update->squares = hc_storage_new(update->device, HC_FP32, 2 * update->layer_groups);
    update->factors = hc_storage_new(update->device, HC_FP32, 2 * update->layer_groups);
    return update->squares && update->factors ? HC_OK : HC_NO_MEMORY;
}

void hc_clipping_close(struct hc_update *update)
{
    hc_storage_drop(update->squares);
    hc_storage_drop(update->factors);
}

/* The norm that slot k counts to. Slots of one norm follow one another. */
static int norm_of(const struct hc_update *update, int k)
{
    return update->recipe.clip_groups ? update->slots[k].plan.group : 0;
}

/* fastai 1.0.61 clips no gradients that it has not copied. */
static enum hc_status make_factor(struct hc_update *update, int norm)
{
    unsigned stale = HC_TRAIT_STEPS_ON_OVERFLOW | HC_TRAIT_CLIP_UNSCALED;
    struct hc_call call = {.op = HC_OP_clip,
                           .in = {[HC_CLIP_SUM_SQUARES] = hc_storage_element(update->squares, norm),
                                  [HC_CLIP_OVERFLOWED] = {.format = HC_FP32}},
                           .out = {[HC_CLIP_FACTOR] = hc_storage_element(update->factors, norm)},
                           .params.clip = {update->recipe.clip}};
    if ((update->traits & stale) == stale)
        call.in[HC_CLIP_OVERFLOWED] = hc_storage_element(update->verdict, HC_VERDICT_OVERFLOWED);
    return hc_device_run(update->device, &call);
}

static enum hc_status add_squares(struct hc_update *update, int first, int last,
                                  enum hc_state_tensor gradient)
{
    int norm = norm_of(update, first);
    bool begins = first == 0 || norm_of(update, first - 1) != norm;
    bool ends = last + 1 == update->n || norm_of(update, last + 1) != norm;
    struct hc_tensor sum = hc_storage_element(update->squares, norm);
    struct hc_call call = {
        .op = HC_OP_sum_squares,
        .in = {[HC_REDUCE_X] = hc_update_span(update, first, last, gradient),
               [HC_SUM_SQUARES_PARTIAL] = begins ? (struct hc_tensor){.format = HC_FP32} : sum},
        .out = {[HC_REDUCE_OUT] = sum},
        .params.reduce = {HC_FP32}};
    enum hc_status status = hc_device_run(update->device, &call);
    return status == HC_OK && ends ? make_factor(update, norm) : status;
}

static enum hc_status add_scaled(struct hc_update *update, int first, int last)
{
    return add_squares(update, first, last, HC_STATE_GRADIENT);
}

static enum hc_status add_unscaled(struct hc_update *update, int first, int last)
{
    return add_squares(update, first, last, HC_STATE_MASTER_GRADIENT);
}

/* A factor that is NaN must not stay in the padding between gradients. The next backward pass would
   not make 0 of it again. The next copy does, as far as it copies several slots at once: those that
   are neighbours in the model's gradients and in the copies. */
static enum hc_status multiply(struct hc_update *update, int first, int last)
{
    enum hc_state_tensor gradient =
        update->recipe.clip_scaled ? HC_STATE_GRADIENT : HC_STATE_MASTER_GRADIENT;
    bool copied = gradient == HC_STATE_MASTER_GRADIENT &&
                  update->slots[first].plan.own[HC_STATE_MASTER_GRADIENT];
    enum hc_status status = HC_OK;
    for (int k = first; k <= last && status == HC_OK; k = copied ? last + 1 : k + 1) {
        struct hc_tensor g = hc_update_span(update, k, copied ? last : k, gradient);
        struct hc_call call = {
            .op = HC_OP_scale,
            .in = {[HC_SCALE_X] = g,
                   [HC_SCALE_S] = hc_storage_element(update->factors, norm_of(update, first))},
            .out = {[HC_SCALE_OUT] = g}};
        status = hc_device_run(update->device, &call);
    }
    return status;
}

const struct hc_pass hc_clipping_sum_scaled = {
    .touches = 1, .touched = {HC_STATE_GRADIENT}, .by_group = true, .run = add_scaled};
const struct hc_pass hc_clipping_sum_unscaled = {
    .touches = 1, .touched = {HC_STATE_MASTER_GRADIENT}, .by_group = true, .run = add_unscaled};
const struct hc_pass hc_clipping_multiply = {
    .touches = 2,
    .touched = {HC_STATE_GRADIENT, HC_STATE_MASTER_GRADIENT},
    .by_group = true,
    .run = multiply};
