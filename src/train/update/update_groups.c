/* Groups of parameters: which slot belongs to which, and the learning rates and factors of decay of the
   layer groups. A table of `rows` steps holds, one layer group after the other, a row of learning rate
   and momentum for each step, then a row of the factor of decay and 0 for each. */
#include <assert.h>
#include <stdlib.h>

#include "train/update/update_inner.h"

enum hc_status hc_groups_open(struct hc_update *update)
{
    const struct hc_recipe *r = &update->recipe;
    int layers = 1;
    update->layer_groups = hc_recipe_layer_groups(r);
    for (int i = 0; i < update->n; i++)
        if (layers <= update->slots[i].parameter->layer)
            layers = update->slots[i].parameter->layer + 1;
    if (layers < update->layer_groups)
        return hc_fail(HC_INVALID, "recipe %s: more layer groups (%d) than layers (%d)", r->name,
                       update->layer_groups, layers);
    for (int i = 0; i < update->n; i++) {
        struct hc_update_slot *slot = &update->slots[i];
        enum hc_role role = slot->parameter->role;
        slot->layer_group = slot->parameter->layer * update->layer_groups / layers;
        slot->group = hc_recipe_parameter_group(r, slot->layer_group, role);
        slot->decay = hc_recipe_decay(r, slot->layer_group, role);
    }
    for (int p = 0; p < update->layer_groups; p++) {
        update->layer_group[p].hyper = hc_storage_new(update->device, HC_FP32, 3);
        if (update->step_on_overflow)
            update->layer_group[p].keep = hc_storage_new(update->device, HC_FP32, 3);
        if (!update->layer_group[p].hyper ||
            (update->step_on_overflow && !update->layer_group[p].keep))
            return HC_NO_MEMORY;
    }
    update->single = hc_storage_new(update->device, HC_FP32, 4 * update->layer_groups);
    return update->single ? HC_OK : HC_NO_MEMORY;
}

void hc_groups_close(struct hc_update *update)
{
    for (int p = 0; p < update->layer_groups; p++) {
        hc_storage_drop(update->layer_group[p].hyper);
        hc_storage_drop(update->layer_group[p].keep);
    }
    hc_storage_drop(update->single);
    hc_storage_drop(update->schedule);
}

/* Row `step` of a layer group's tables. */
static void put_row(const struct hc_update *update, int layer_group, struct hc_rates rates,
                    float *table, int64_t rows, int64_t step)
{
    const struct hc_recipe *r = &update->recipe;
    float *row = table + 4 * rows * layer_group + 2 * step;
    float *decay = row + 2 * rows;
    row[0] = (float)(rates.lr * hc_recipe_rate(r, layer_group));
    row[1] = (float)rates.beta1;
    decay[0] = (float)(1 - (double)row[0] * hc_recipe_decay(r, layer_group, HC_ROLE_WEIGHT));
    decay[1] = 0;
}

enum hc_status hc_groups_set(struct hc_update *update, double lr, double beta1)
{
    float table[4 * HC_MAX_LAYER_GROUPS];
    for (int p = 0; p < update->layer_groups; p++)
        put_row(update, p, (struct hc_rates){lr, beta1}, table, 1, 0);
    return hc_storage_write(update->single, table);
}

enum hc_status hc_update_schedule(struct hc_update *update, const struct hc_rates *rates,
                                  int64_t steps)
{
    assert(!update->schedule && steps > 0);
    int64_t count = 4 * steps * update->layer_groups;
    float *table = malloc((size_t)count * sizeof *table);
    update->schedule = hc_storage_new(update->device, HC_FP32, count);
    enum hc_status status = update->schedule ? HC_OK : HC_NO_MEMORY;
    if (!table)
        status = hc_fail(HC_NO_MEMORY, "no memory for the rates of %lld steps", (long long)steps);
    for (int p = 0; table && p < update->layer_groups; p++)
        for (int64_t i = 0; i < steps; i++)
            put_row(update, p, rates[i], table, steps, i);
    if (status == HC_OK)
        status = hc_storage_write(update->schedule, table);
    free(table);
    return status;
}

static enum hc_status look_up(struct hc_update *update, float *table, int64_t rows,
                              const struct hc_storage *into)
{
    struct hc_call call = {
        .op = HC_OP_rates,
        .in = {hc_tensor2(HC_FP32, rows, 2, table), hc_storage_tensor(update->counts)},
        .out = {hc_storage_tensor(into)}};
    return hc_device_run(update->device, &call);
}

enum hc_status hc_groups_rates(struct hc_update *update, const struct hc_storage *tables)
{
    int64_t rows = tables->count / (4 * (int64_t)update->layer_groups);
    enum hc_status status = HC_OK;
    for (int p = 0; p < update->layer_groups && status == HC_OK; p++) {
        float *table = (float *)tables->data + 4 * rows * p;
        status = look_up(update, table, rows, update->layer_group[p].hyper);
        if (status == HC_OK && update->step_on_overflow)
            status = look_up(update, table + 2 * rows, rows, update->layer_group[p].keep);
    }
    return status;
}
