#include "train/run/state_tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const prefixes[HC_STATE_COUNT] = {
    [HC_STATE_MODEL] = "weights.",
    [HC_STATE_GRADIENT] = "gradients.",
    [HC_STATE_MASTER] = "masters.",
    [HC_STATE_MASTER_GRADIENT] = "unscaled.",
    [HC_STATE_M] = "optimizer.exp_avg.",
    [HC_STATE_V] = "optimizer.exp_avg_sq.",
    [HC_STATE_COMPENSATION] = "optimizer.compensation.",
};

const char *hc_state_prefix(const struct hc_recipe *recipe, enum hc_state_tensor state)
{
    if (state == HC_STATE_M && recipe->optimizer == HC_OPTIMIZER_SGD)
        return "optimizer.momentum_buffer.";
    return prefixes[state];
}

/* Without masters the optimizer works on the model, which is kept once. Each step makes its
   gradients anew. (A scaler that steps on overflow steps on gradients that it zeroed at the end of
   the step before.) */
bool hc_state_is_kept(const struct hc_recipe *recipe, enum hc_state_tensor state)
{
    switch (state) {
    case HC_STATE_MASTER:
        return recipe->masters != HC_MASTERS_NONE;
    case HC_STATE_V:
        return recipe->optimizer == HC_OPTIMIZER_ADAM;
    case HC_STATE_COMPENSATION:
        return recipe->kahan;
    default:
        return state == HC_STATE_MODEL || state == HC_STATE_M;
    }
}

static void append(struct hc_state_rows *rows, const char *prefix, const char *name,
                   struct hc_tensor t)
{
    struct hc_state_row *row = &rows->row[rows->count];
    if (!t.data)
        return;
    (void)snprintf(row->name, sizeof row->name, "%s%s", prefix, name);
    row->tensor = t;
    rows->count++;
}

struct hc_state_rows *hc_state_list(const struct hc_net *net, const struct hc_update *update)
{
    const struct hc_plan *plan = hc_net_plan(net);
    const struct hc_recipe *recipe = hc_update_recipe(update);
    struct hc_state_rows *rows = malloc(sizeof *rows);
    char name[HC_TORCH_NAME];
    if (!rows) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for the list of a run's tensors");
        return NULL;
    }
    rows->count = 0;
    for (int k = 0; k < HC_STATE_COUNT; k++)
        for (int p = 0; p < plan->parameters && hc_state_is_kept(recipe, (enum hc_state_tensor)k);
             p++) {
            hc_torch_parameter(plan, p, name);
            append(rows, hc_state_prefix(recipe, (enum hc_state_tensor)k), name,
                   hc_update_tensor(update, (enum hc_state_tensor)k, p));
        }
    for (int s = 0; s < plan->statistics; s++) {
        hc_torch_statistic(plan, s, name);
        append(rows, "buffers.", name, hc_parameter_tensor(hc_net_statistics(net)[s]));
    }
    for (int k = 0; k < HC_QUANT_STATES && hc_net_quant(net); k++)
        append(rows, "", hc_quant_state_names[k], hc_quant_state(hc_net_quant(net), k));
    return rows;
}
