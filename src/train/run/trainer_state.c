/* What a checkpoint holds: the counts of steps, what the scaler keeps, the run's totals, the
   model's parameters and statistics, masters, momenta and compensations.

   The schedule, the order of the images, augmentation, the bits of stochastic rounding and the
   initial weights are functions of the step and the seed, so they have no state. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/run/checkpoint.h"
#include "train/run/checkpoint_format.h"
#include "train/update/recipe_fields.h"
#include "train/run/state_fields.h"
#include "train/run/trainer_inner.h"

enum {
    IDENTITY = 2048,
    NAME = 64,
    STRUCTS = 3, /* the first blobs are packed structs */
    MOST = 3 * HC_MAX_LAYERS * HC_STATE_COUNT + 2 * HC_MAX_LAYERS + STRUCTS
};

struct blobs {
    int count;
    struct hc_blob blob[MOST];
    char name[MOST][NAME];
};

/* Whether a state tensor is kept. Without masters the optimizer works on the model, which is kept
   once. Each step makes its gradients anew, but a scaler that steps on overflow may step on the
   last ones again. */
static bool keeps(const struct hc_run *run, enum hc_state_tensor state)
{
    const struct hc_recipe *recipe = run->options.recipe;
    if (state == HC_STATE_MASTER)
        return recipe->masters != HC_MASTERS_NONE;
    if (state == HC_STATE_MASTER_GRADIENT)
        return hc_scalers[recipe->scaler.rule].on_found == HC_FOUND_STEPS;
    if (state == HC_STATE_COMPENSATION)
        return recipe->kahan;
    return state != HC_STATE_GRADIENT;
}

/* Adds a blob with `size` bytes of its own memory. */
static bool add(struct blobs *blobs, const char *what, const char *of, size_t size)
{
    char *name = blobs->name[blobs->count];
    (void)snprintf(name, NAME, "%s %s", what, of);
    void *data = malloc(size ? size : 1);
    blobs->blob[blobs->count++] = (struct hc_blob){name, data, size};
    return data != NULL;
}

static void release(struct blobs *blobs)
{
    for (int i = 0; blobs && i < blobs->count; i++)
        free(blobs->blob[i].data);
    free(blobs);
}

/* The structs, in the order of the first blobs. */
static const struct {
    const char *what;
    const char *of;
    const struct hc_state_field *fields;
} structs[STRUCTS] = {
    {"step counts", "of the optimizer", hc_step_count_fields},
    {"scale and counts", "of the scaler", hc_scaler_count_fields},
    {"tally", "of the run", hc_run_totals_fields},
};

/* The list of all blobs, with memory for their content. */
static struct blobs *list(struct hc_run *run)
{
    const struct hc_plan *plan = hc_net_plan(run->net);
    struct blobs *blobs = calloc(1, sizeof *blobs);
    if (!blobs)
        return NULL;
    bool all = true;
    for (int i = 0; i < STRUCTS; i++)
        all = add(blobs, structs[i].what, structs[i].of, hc_state_bytes(structs[i].fields)) && all;
    for (int p = 0; p < plan->parameters; p++)
        for (int k = 0; k < HC_STATE_COUNT; k++) {
            if (!keeps(run, (enum hc_state_tensor)k))
                continue;
            struct hc_tensor t = hc_update_tensor(run->update, (enum hc_state_tensor)k, p);
            all = add(blobs, hc_state_tensor_names[k], hc_net_parameters(run->net)[p]->name,
                      hc_tensor_bytes(&t)) &&
                  all;
        }
    for (int s = 0; s < plan->statistics; s++) {
        const struct hc_parameter *statistic = hc_net_statistics(run->net)[s];
        struct hc_tensor t = hc_parameter_tensor(statistic);
        all = add(blobs, "statistic", statistic->name, hc_tensor_bytes(&t)) && all;
    }
    if (all)
        return blobs;
    release(blobs);
    return NULL;
}

/* Copies the run's structs and what lies in the backend's memory into the blobs, or back, in the
   order of the list. */
static enum hc_status carry(struct hc_run *run, struct blobs *blobs, bool back)
{
    const struct hc_plan *plan = hc_net_plan(run->net);
    struct hc_counters counters = run->counters;
    void *const own[STRUCTS] = {&counters, &counters, &run->totals};
    enum hc_status status = HC_OK;
    int at = 0;
    for (; at < STRUCTS; at++)
        if (back)
            hc_state_unpack(structs[at].fields, blobs->blob[at].data, own[at]);
        else
            hc_state_pack(structs[at].fields, own[at], blobs->blob[at].data);
    for (int p = 0; p < plan->parameters; p++)
        for (int k = 0; k < HC_STATE_COUNT && status == HC_OK; k++) {
            if (!keeps(run, (enum hc_state_tensor)k))
                continue;
            void *data = blobs->blob[at++].data;
            status = back ? hc_update_write(run->update, (enum hc_state_tensor)k, p, data)
                          : hc_update_read(run->update, (enum hc_state_tensor)k, p, data);
        }
    for (int s = 0; s < plan->statistics && status == HC_OK; s++) {
        struct hc_storage *storage = hc_net_statistics(run->net)[s]->storage;
        void *data = blobs->blob[at++].data;
        status = back ? hc_storage_write(storage, data) : hc_storage_read(storage, data);
    }
    if (back && status == HC_OK)
        status = hc_update_set_counters(run->update, &counters);
    return status;
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
    assert(strlen(identity) + 1 < size);
}

enum hc_status hc_state_write(struct hc_run *run)
{
    char path[4096];
    char identity[IDENTITY];
    struct blobs *blobs = list(run);
    if (!blobs)
        return hc_fail(HC_NO_MEMORY, "no memory for a checkpoint");
    (void)snprintf(path, sizeof path, "%s/checkpoint", run->options.out);
    identify(run, identity, sizeof identity);
    enum hc_status status = carry(run, blobs, false);
    if (status == HC_OK)
        status = hc_checkpoint_write(path, identity, blobs->blob, blobs->count);
    release(blobs);
    return status;
}

enum hc_status hc_state_read(struct hc_run *run)
{
    char path[4096];
    char identity[IDENTITY];
    struct blobs *blobs = list(run);
    if (!blobs)
        return hc_fail(HC_NO_MEMORY, "no memory for a checkpoint");
    (void)snprintf(path, sizeof path, "%s/checkpoint", run->options.out);
    identify(run, identity, sizeof identity);
    enum hc_status status = hc_checkpoint_read(path, identity, blobs->blob, blobs->count);
    if (status == HC_OK)
        status = carry(run, blobs, true);
    release(blobs);
    return status;
}
