/* The learning rates of a step, looked up on the device.

   A table of `rows` steps holds, one layer group after the other, a row of learning rate and
   momentum for each step, then a row of the factor of decay and 0 for each. The op rates reads the
   row that the count of steps names, so that a step queues the same calls each time. */
#include <assert.h>
#include <stdlib.h>

#include "train/update/update_inner.h"

enum {
    ROW = HC_TABLE_COLUMNS,
    TABLES = 2 * ROW /* floats of one step and layer group: a row of rates, a row of decay */
};

enum hc_status hc_rate_tables_open(struct hc_update *update)
{
    bool keeps = (update->traits & HC_TRAIT_STEPS_ON_OVERFLOW) != 0;
    for (int g = 0; g < update->layer_groups; g++) {
        struct hc_update_layer_group *group = &update->layer_group[g];
        struct hc_slot_plan plan = hc_slot_plan(&update->recipe, HC_ROLE_WEIGHT, g);
        group->rate = plan.rate;
        group->decay = plan.decay;
        group->hyper = hc_storage_new(update->device, HC_FP32, HC_HYPER_COUNT);
        if (keeps)
            group->keep = hc_storage_new(update->device, HC_FP32, HC_HYPER_COUNT);
        if (!group->hyper || (keeps && !group->keep))
            return HC_NO_MEMORY;
    }
    update->single = hc_storage_new(update->device, HC_FP32, TABLES * update->layer_groups);
    return update->single ? HC_OK : HC_NO_MEMORY;
}

void hc_rate_tables_close(struct hc_update *update)
{
    for (int g = 0; g < update->layer_groups; g++) {
        hc_storage_drop(update->layer_group[g].hyper);
        hc_storage_drop(update->layer_group[g].keep);
    }
    hc_storage_drop(update->single);
    hc_storage_drop(update->schedule);
}

/* Row `step` of every layer group. */
static void set_rows(const struct hc_update *update, struct hc_rates rates, float *table,
                     int64_t rows, int64_t step)
{
    for (int g = 0; g < update->layer_groups; g++) {
        const struct hc_update_layer_group *group = &update->layer_group[g];
        float *row = table + TABLES * rows * g + ROW * step;
        float *decay = row + ROW * rows;
        row[HC_TABLE_LR] = (float)(rates.lr * group->rate);
        row[HC_TABLE_BETA1] = (float)rates.beta1;
        decay[0] = (float)(1 - (double)row[HC_TABLE_LR] * group->decay);
        decay[1] = 0;
    }
}

enum hc_status hc_rate_tables_set_single(struct hc_update *update, double lr, double beta1)
{
    float table[TABLES * HC_MAX_LAYER_GROUPS];
    set_rows(update, (struct hc_rates){lr, beta1}, table, 1, 0);
    return hc_storage_write(update->single, table);
}

enum hc_status hc_update_schedule(struct hc_update *update, const struct hc_rates *rates,
                                  int64_t steps)
{
    assert(!update->schedule && steps > 0);
    int64_t count = TABLES * steps * update->layer_groups;
    float *table = malloc((size_t)count * sizeof *table);
    if (!table)
        return hc_fail(HC_NO_MEMORY, "no memory for the rates of %lld steps", (long long)steps);
    for (int64_t i = 0; i < steps; i++)
        set_rows(update, rates[i], table, steps, i);
    update->schedule = hc_storage_new(update->device, HC_FP32, count);
    enum hc_status status = HC_NO_MEMORY;
    if (update->schedule)
        status = hc_storage_write(update->schedule, table);
    free(table);
    return status;
}

static enum hc_status look_up(struct hc_update *update, float *table, int64_t rows,
                              const struct hc_storage *into)
{
    struct hc_call call = {
        .op = HC_OP_rates,
        .in = {[HC_RATES_TABLE] = hc_tensor2(HC_FP32, rows, ROW, table),
               [HC_RATES_COUNTS] = hc_storage_tensor(update->counts)},
        .out = {[HC_RATES_HYPER] = hc_storage_tensor(into)},
    };
    return hc_device_run(update->device, &call);
}

enum hc_status hc_rate_tables_take(struct hc_update *update)
{
    int64_t rows = update->rates->count / (TABLES * (int64_t)update->layer_groups);
    enum hc_status status = HC_OK;
    for (int g = 0; g < update->layer_groups && status == HC_OK; g++) {
        const struct hc_update_layer_group *group = &update->layer_group[g];
        float *table = (float *)update->rates->data + TABLES * rows * g;
        status = look_up(update, table, rows, group->hyper);
        if (status == HC_OK && group->keep)
            status = look_up(update, table + ROW * rows, rows, group->keep);
    }
    return status;
}
