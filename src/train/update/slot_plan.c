#include "train/update/slot_plan.h"

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
