/* What a checkpoint holds: the model's parameters and statistics, masters, momenta and
   compensations under the names of docs/step-files.md; the counts of steps and what the scaler
   keeps; the run's totals.

   The schedule, the order of the images, augmentation, the bits of stochastic rounding and the
   initial weights are functions of the step and the seed, so they have no state. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/parallel/wrapper.h"
#include "train/run/checkpoint.h"
#include "train/run/made_on.h"
#include "train/update/recipe_fields.h"
#include "train/run/state_fields.h"
#include "train/run/state_tensors.h"
#include "train/run/trainer_inner.h"

enum { IDENTITY = 3072 };

/* The list of all that is kept, as it is now: the state's tensors, the counters, the totals. */
static void gather(struct hc_run *run, const struct hc_state_rows *rows,
                   struct hc_tensor_list *list)
{
    unsigned char packed[sizeof run->totals];
    struct hc_counters counters = run->counters;
    struct hc_tensor totals =
        hc_tensor1(HC_U8, (int64_t)hc_state_bytes(hc_run_totals_fields), packed);
    for (int i = 0; i < rows->count; i++)
        hc_tensor_list_add(list, &run->device, "", rows->row[i].name, &rows->row[i].tensor);
    for (int f = 0; f < HC_COUNTER_FIELDS; f++) {
        struct hc_tensor t = hc_counter_tensor(&hc_counter_fields[f], &counters);
        hc_tensor_list_copy(list, "", hc_counter_fields[f].name, &t);
    }
    hc_state_pack(hc_run_totals_fields, &run->totals, packed);
    hc_tensor_list_copy(list, "", "run.totals", &totals);
}

/* Back to where gather took it from. */
static enum hc_status spread(struct hc_run *run, const struct hc_state_rows *rows,
                             const struct hc_tensor_list *list)
{
    struct hc_counters counters;
    enum hc_status status = HC_OK;
    const struct hc_named_tensor *from = list->tensors;
    for (int i = 0; i < rows->count && status == HC_OK; i++, from++)
        status = hc_torch_upload(&run->device, &from->tensor, &rows->row[i].tensor);
    if (status != HC_OK)
        return status;
    for (int f = 0; f < HC_COUNTER_FIELDS; f++, from++) {
        struct hc_tensor t = hc_counter_tensor(&hc_counter_fields[f], &counters);
        memcpy(t.data, from->tensor.data, hc_tensor_bytes(&t));
    }
    hc_state_unpack(hc_run_totals_fields, from->tensor.data, &run->totals);
    return hc_update_set_counters(run->update, &counters);
}

static uint64_t hash_images(uint64_t hash, const struct hc_images *images)
{
    hash = hc_fnv(hash, images->labels, (size_t)images->count * sizeof *images->labels);
    return hc_fnv(hash, images->pixels, (size_t)images->count * HC_IMAGE_BYTES);
}

/* The hash of all images: other classes, files or seeds of the synthetic set are other data. */
static uint64_t hash_data(struct hc_run *run)
{
    if (run->data == 0)
        run->data = hash_images(hash_images(HC_FNV_START, &run->options.data->train),
                                &run->options.data->test);
    return run->data;
}

/* Only a tree over a power of two of shards adds in the same order on any number of ranks
   (train/parallel/reduction.h). One rank has no word: as before there were ranks. */
static void identify_ranks(const struct hc_run *run, char *identity, size_t size)
{
    const struct hc_recipe *recipe = run->options.recipe;
    int shards = recipe->shards;
    bool is_power = shards > 0 && (shards & (shards - 1)) == 0;
    size_t used = strlen(identity);
    if (is_power && hc_wrapper_of(recipe).algorithm == HC_COLLECTIVE_TREE)
        return;
    if (run->parallel.ranks > 1)
        (void)snprintf(identity + used, size - used, " ranks=%d", run->parallel.ranks);
}

static void identify(struct hc_run *run, char *identity, size_t size)
{
    const struct hc_train_options *o = &run->options;
    (void)snprintf(identity, size,
                   "recipe=%s network=%s classes=%d images=%lld synthetic=%d data=%016llx batch=%d "
                   "epochs=%d lr=%a seed=%llu backend=%s",
                   o->recipe->name, o->network->name, o->data->classes,
                   (long long)o->data->train.count, o->data->synthetic,
                   (unsigned long long)hash_data(run), o->batch, o->epochs, o->max_lr,
                   (unsigned long long)o->seed, o->backend->name);
    for (int f = 0; f < hc_recipe_fields(); f++) {
        char text[HC_FIELD_TEXT];
        size_t used = strlen(identity);
        if (hc_recipe_field_is_quiet(o->recipe, f))
            continue;
        hc_recipe_field_text(o->recipe, f, text);
        (void)snprintf(identity + used, size - used, " %s=%s", hc_recipe_field_key(f), text);
    }
    identify_ranks(run, identity, size);
    hc_made_on(o->backend, run->device.queue, o->recipe, identity, size);
    assert(strlen(identity) + 1 < size);
}

/* Writes the checkpoint, or reads it. */
static enum hc_status carry(struct hc_run *run, bool back)
{
    char path[4096];
    char identity[IDENTITY];
    const char *producer = run->options.producer ? run->options.producer : "halfcheck";
    struct hc_tensor_list list = {0};
    struct hc_state_rows *rows = hc_state_list(run->net, run->update);
    if (!rows)
        return HC_NO_MEMORY;
    (void)snprintf(path, sizeof path, "%s/checkpoint", run->options.out);
    identify(run, identity, sizeof identity);
    gather(run, rows, &list);
    enum hc_status status = list.status;
    if (status == HC_OK)
        status = back ? hc_checkpoint_read(path, identity, list.tensors, list.count)
                      : hc_checkpoint_write(path, producer, identity, list.tensors, list.count);
    if (status == HC_OK && back)
        status = spread(run, rows, &list);
    hc_tensor_list_end(&list);
    free(rows);
    return status;
}

enum hc_status hc_state_write(struct hc_run *run)
{
    return carry(run, false);
}

enum hc_status hc_state_read(struct hc_run *run)
{
    return carry(run, true);
}
