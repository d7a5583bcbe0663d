#include "train/update/recipe.h"

#include <math.h>

#include "train/parallel/wrapper.h"

/* A number that is 0 is the rule's own. */
static const char *wrong_scaler(const struct hc_scaler *s)
{
    bool fixed = hc_scalers[s->rule].rule.interval == 0;
    if (s->rule == HC_SCALER_NONE && s->initial != 0 && s->initial != 1)
        return "a loss scale without a scaler";
    if (fixed && (s->growth != 0 || s->backoff != 0 || s->interval != 0))
        return "a scale that never changes has no growth, backoff or interval";
    if (!(s->initial >= 0) || !isfinite(s->initial))
        return "the loss scale is not a positive number";
    if (s->growth != 0 && (!(s->growth > 1) || !isfinite(s->growth)))
        return "the scale's growth is not above 1";
    if (s->backoff != 0 && !(s->backoff > 0 && s->backoff < 1))
        return "the scale's backoff is not between 0 and 1";
    if (s->interval < 0)
        return "the scale's growth interval is not positive";
    return NULL;
}

static const char *wrong_groups(const struct hc_recipe *r)
{
    const struct hc_per_layer_group *lists[] = {&r->group_rates, &r->group_decays};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (int layer_group = 0; layer_group < lists[i]->n; layer_group++)
            if (!(lists[i]->value[layer_group] >= 0) ||
                !isfinite((float)lists[i]->value[layer_group]))
                return "a group's rate or decay is not a number from 0 on";
    if (r->group_rates.n > 0 && r->group_decays.n > 0 && r->group_rates.n != r->group_decays.n)
        return "group_rates and group_decays are of different numbers of layer groups";
    return NULL;
}

static const char *wrong_clip(const struct hc_recipe *r)
{
    if (!(r->clip >= 0) || !isfinite((float)r->clip))
        return "the norm to clip to is not a number from 0 on";
    if (r->clip == 0 && (r->clip_groups || r->clip_scaled))
        return "a way to clip gradients, but no norm to clip them to";
    if (r->clip_scaled && r->scaler.rule == HC_SCALER_NONE)
        return "clipping before unscaling needs a loss scale";
    if (r->clip_groups && r->model == HC_FP64)
        return "fp64 is clipped by the norm of all gradients alone";
    return NULL;
}

/* Two ways to do without masters. */
static const char *wrong_rounding(const struct hc_recipe *r)
{
    if (r->stochastic && r->kahan)
        return "weights are rounded stochastically or compensated, not both";
    if ((r->stochastic || r->kahan) && r->masters != HC_MASTERS_NONE)
        return "masters lose no update: nothing is left to round stochastically or to compensate";
    if ((r->stochastic || r->kahan) && r->decay == HC_DECAY_MODEL)
        return "a decay outside the optimizer is neither rounded stochastically nor compensated";
    if (r->stochastic && (r->model != HC_BF16 || r->arithmetic != HC_FP32))
        return "stochastic rounding is from fp32 arithmetic into a bf16 model";
    if (r->kahan && r->model != HC_BF16 && r->model != HC_FP16)
        return "compensated weights are bf16 or fp16";
    if (r->kahan && r->arithmetic != HC_FP32 && r->arithmetic != r->model)
        return "weights are compensated in fp32 or in the model's format";
    if ((r->stochastic || r->kahan) && r->norm != HC_FP32 && r->norm != r->model)
        return "norm parameters that are rounded or compensated as the weights are have their "
               "format";
    return NULL;
}

/* What the contract of adam says of orders. */
static const char *wrong_order(const struct hc_recipe *r)
{
    if (r->order == HC_ORDER_OURS)
        return NULL;
    if (r->optimizer != HC_OPTIMIZER_ADAM)
        return "whose order of roundings is a question of Adam's";
    if (r->eps_inside || r->kahan)
        return "an order of roundings that knows no eps inside the root and no compensation";
    if (r->order != HC_ORDER_TORCH_LOOP && hc_formats[r->arithmetic].bytes == 2)
        return "an order of roundings that is one of fp32 arithmetic";
    return NULL;
}

const struct hc_quant_recipe *hc_quant_of(const struct hc_recipe *recipe)
{
    return &hc_quant_recipes[recipe->quant];
}

/* 64 times TransformerEngine's own. Every step moves the history of each tensor, and a slip of the
   finger would take a machine's memory. */
enum { MOST_HISTORY = 65536 };

static const char *wrong_quant(const struct hc_recipe *r)
{
    if (r->quant > 0 && r->model == HC_FP64)
        return "fp64 is not quantised";
    if (r->amax_history > 0 && !hc_quant_of(r)->delayed)
        return "a history of amaxes, but no delayed scaling";
    if (r->amax_history > MOST_HISTORY)
        return "a history of more than 65536 amaxes";
    if (r->plain_ends > 0 && r->quant <= 0)
        return "blocks that are not quantised, and nothing that is";
    if (hc_quant_of(r)->delayed && r->shards > 1)
        return "delayed scaling keeps one history, and takes a batch in one piece";
    return NULL;
}

/* The first contradiction, or NULL. */
static const char *wrong(const struct hc_recipe *r)
{
    const enum hc_format formats[] = {r->model,    r->norm,  r->statistics, r->loss,
                                      r->gradient, r->state, r->arithmetic};
    bool wide = r->model == HC_FP64;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (wide != (formats[i] == HC_FP64))
            return "fp64 is for everything or for nothing";
        else if (!wide && formats[i] != HC_FP32 && formats[i] != HC_BF16 && formats[i] != HC_FP16)
            return "a format is none of fp32, bf16, fp16";
    if (wide && (r->masters != HC_MASTERS_NONE || r->scaler.rule != HC_SCALER_NONE ||
                 r->decay == HC_DECAY_SCALED || r->decay == HC_DECAY_MODEL))
        return "fp64 has no masters, no loss scale and none of their defects";
    if (r->tf32 && r->model != HC_FP32)
        return "tf32 is a way to multiply fp32 numbers, and its model is not fp32";
    if (r->masters != HC_MASTERS_NONE && r->arithmetic != HC_FP32)
        return "masters are fp32, so the optimizer's arithmetic is";
    if (r->flat && r->masters == HC_MASTERS_NONE)
        return "flat masters, but no masters";
    if (r->flat && r->apart)
        return "flat masters cannot be kept apart";
    if (hc_recipe_steps_on_overflow(r) && r->masters == HC_MASTERS_NONE)
        return "its scaler steps on what the masters hold, but there are no masters";
    if (hc_recipe_steps_on_overflow(r) && r->gradient != HC_FP32)
        return "its scaler steps on what the masters hold, whose gradients are fp32";
    if (r->scaler.rule == HC_SCALER_TORCH && r->gradient != HC_FP32)
        return "GradScaler refuses to unscale 16-bit gradients";
    if (r->decay == HC_DECAY_SCALED && r->scaler.rule == HC_SCALER_NONE)
        return "decay before unscaling needs a loss scale";
    if (!(r->beta2 >= 0 && r->beta2 < 1))
        return "beta2 is not in [0, 1)";
    if (!(r->rate >= 0) || !isfinite((float)r->rate))
        return "the factor of the learning rate is no number from 0 on, or beyond fp32";
    if (r->nesterov && r->optimizer != HC_OPTIMIZER_SGD)
        return "Nesterov's momentum is SGD's";
    if (r->rate_inside && r->optimizer != HC_OPTIMIZER_SGD)
        return "a velocity that holds the learning rate is SGD's";
    if (!(r->eps >= 0) || !isfinite((float)r->eps))
        return "eps is no number from 0 on, or beyond fp32";
    if (!(r->weight_decay >= 0) || !isfinite((float)r->weight_decay))
        return "weight decay is no number from 0 on, or beyond fp32";
    const char *why = wrong_groups(r);
    why = why ? why : wrong_clip(r);
    why = why ? why : wrong_rounding(r);
    why = why ? why : wrong_order(r);
    why = why ? why : wrong_quant(r);
    why = why ? why : hc_wrapper_wrong(r);
    return why ? why : wrong_scaler(&r->scaler);
}

enum hc_status hc_recipe_check(const struct hc_recipe *recipe)
{
    const char *why = wrong(recipe);
    return why ? hc_fail(HC_INVALID, "recipe %s: %s", recipe->name, why) : HC_OK;
}

int hc_recipe_layer_groups(const struct hc_recipe *recipe)
{
    if (recipe->group_rates.n > 0)
        return recipe->group_rates.n;
    return recipe->group_decays.n > 0 ? recipe->group_decays.n : 1;
}

bool hc_recipe_steps_on_overflow(const struct hc_recipe *recipe)
{
    return hc_scalers[recipe->scaler.rule].on_found == HC_FOUND_STEPS;
}

struct hc_net_numerics hc_recipe_numerics(const struct hc_recipe *recipe)
{
    return (struct hc_net_numerics){.format = recipe->model,
                                    .statistics = recipe->statistics,
                                    .loss = recipe->loss,
                                    .statistics_rounded = recipe->norm_rounded,
                                    .tf32 = recipe->tf32,
                                    .sum_loss = recipe->sum_loss,
                                    .quant = recipe->quant > 0 ? hc_quant_of(recipe) : NULL,
                                    .amax_history = recipe->amax_history,
                                    .plain_ends = recipe->plain_ends};
}
