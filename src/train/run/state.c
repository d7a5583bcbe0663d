/* The state of a run: tensors on their way to a file, the numbers and tensors that it is made of,
   and the checkpoint that keeps them. */
#include "train/run/state.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/parallel/wrapper.h"
#include "train/run/checkpoint.h"
#include "train/run/made_on.h"
#include "train/run/trainer_inner.h"
#include "train/update/recipe_fields.h"

/* Room grows at powers of two. */
static void *grown(void *rows, int count, size_t bytes)
{
    bool full = (count & (count - 1)) == 0;
    return full ? realloc(rows, 2 * ((size_t)count + 1) * bytes) : rows;
}

static void lack(struct hc_tensor_list *list)
{
    list->status = hc_fail(HC_NO_MEMORY, "no memory for the tensors of a file");
}

static char *joined(const char *prefix, const char *name)
{
    size_t bytes = strlen(prefix) + strlen(name) + 1;
    char *text = malloc(bytes);
    if (text)
        (void)snprintf(text, bytes, "%s%s", prefix, name);
    return text;
}

/* Takes over `data`, which may be NULL for lack of memory. */
static void append_tensor(struct hc_tensor_list *list, const char *prefix, const char *name,
                          const struct hc_tensor *t, void *data)
{
    struct hc_named_tensor *rows = grown(list->tensors, list->count, sizeof *rows);
    char *text = joined(prefix, name);
    if (rows)
        list->tensors = rows;
    if (!rows || !text || !data) {
        free(text);
        free(data);
        lack(list);
        return;
    }
    rows[list->count] = (struct hc_named_tensor){.name = text, .tensor = *t};
    rows[list->count++].tensor.data = data;
}

static void *memory(const struct hc_tensor *t)
{
    size_t bytes = hc_tensor_bytes(t);
    return malloc(bytes ? bytes : 1);
}

struct hc_tensor hc_torch_shape(struct hc_tensor t)
{
    if (t.rank == 4) {
        int64_t channels = t.shape[3];
        t.shape[3] = t.shape[2];
        t.shape[2] = t.shape[1];
        t.shape[1] = channels;
    }
    return t;
}

void hc_tensor_list_add(struct hc_tensor_list *list, const struct hc_device *device,
                        const char *prefix, const char *name, const struct hc_tensor *t)
{
    struct hc_tensor here = *t;
    struct hc_tensor file = hc_torch_shape(*t);
    if (list->status != HC_OK || !t->data)
        return;
    here.data = memory(t);
    if (here.data)
        list->status =
            device->backend->download(device->queue, here.data, t->data, hc_tensor_bytes(t));
    if (here.data && list->status == HC_OK && t->rank == 4) {
        file.data = memory(t);
        if (file.data)
            hc_tensor_to_nchw(&here, &file);
        free(here.data);
        here.data = file.data;
    }
    if (list->status == HC_OK)
        append_tensor(list, prefix, name, &file, here.data);
    else
        free(here.data);
}

enum hc_status hc_torch_upload(const struct hc_device *device, const struct hc_tensor *from,
                               const struct hc_tensor *to)
{
    struct hc_tensor here = *to;
    here.data = to->rank == 4 ? memory(to) : from->data;
    if (!here.data)
        return hc_fail(HC_NO_MEMORY, "no memory for a tensor of a file");
    if (to->rank == 4)
        hc_tensor_to_nhwc(from, &here);
    enum hc_status status =
        device->backend->upload(device->queue, to->data, here.data, hc_tensor_bytes(to));
    if (to->rank == 4)
        free(here.data);
    return status;
}

void hc_tensor_list_copy(struct hc_tensor_list *list, const char *prefix, const char *name,
                         const struct hc_tensor *t)
{
    if (list->status != HC_OK)
        return;
    void *data = memory(t);
    if (data)
        memcpy(data, t->data, hc_tensor_bytes(t));
    append_tensor(list, prefix, name, t, data);
}

void hc_tensor_list_text(struct hc_tensor_list *list, const char *key, const char *format, ...)
{
    char value[4096];
    va_list arguments;
    if (list->status != HC_OK)
        return;
    va_start(arguments, format);
    (void)vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    struct hc_metadata *rows = grown(list->metadata, list->texts, sizeof *rows);
    char *texts[2] = {joined(key, ""), joined(value, "")};
    if (rows)
        list->metadata = rows;
    if (!rows || !texts[0] || !texts[1]) {
        free(texts[0]);
        free(texts[1]);
        lack(list);
        return;
    }
    rows[list->texts++] = (struct hc_metadata){texts[0], texts[1]};
}

enum hc_status hc_tensor_list_write(const struct hc_tensor_list *list, const char *path)
{
    return list->status == HC_OK
               ? hc_safetensors_write(path, list->tensors, list->count, list->metadata, list->texts)
               : list->status;
}

void hc_tensor_list_end(struct hc_tensor_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free((void *)list->tensors[i].name);
        free(list->tensors[i].tensor.data);
    }
    for (int i = 0; i < list->texts; i++) {
        free((void *)list->metadata[i].key);
        free((void *)list->metadata[i].value);
    }
    free(list->tensors);
    free(list->metadata);
    *list = (struct hc_tensor_list){0};
}

#define FIELD(type, member)                                                                        \
    {                                                                                              \
        offsetof(struct type, member), sizeof(((struct type *)0)->member), 1                       \
    }
#define FIELDS(type, member)                                                                       \
    {                                                                                              \
        offsetof(struct type, member), sizeof(((struct type *)0)->member[0]),                      \
            sizeof(((struct type *)0)->member) / sizeof(((struct type *)0)->member[0])             \
    }

#define COUNTER(name, format, member)                                                              \
    {                                                                                              \
        name, format, offsetof(struct hc_counters, member)                                         \
    }

const struct hc_counter_field hc_counter_fields[HC_COUNTER_FIELDS] = {
    COUNTER("counts.steps", HC_I32, steps),
    COUNTER("optimizer.step", HC_I32, taken),
    COUNTER("counts.skipped", HC_I32, skipped),
    COUNTER("counts.found", HC_I32, found),
    COUNTER("scaler.growth_tracker", HC_I32, clean),
    COUNTER("scaler.held_back", HC_I32, held_back),
    COUNTER("scaler.gave_up", HC_I32, gave_up),
    COUNTER("counts.spare", HC_I32, spare),
    COUNTER("scale", HC_FP32, scale),
};

struct hc_tensor hc_counter_tensor(const struct hc_counter_field *field, void *counters)
{
    return (struct hc_tensor){.format = field->format, .data = (char *)counters + field->offset};
}

const struct hc_state_field hc_run_totals_fields[] = {
    FIELD(hc_run_totals, first),
    FIELD(hc_run_totals, step),
    FIELD(hc_run_totals, skipped),
    FIELD(hc_run_totals, smooth),
    FIELD(hc_run_totals, epoch_loss),
    FIELD(hc_run_totals, epoch_right),
    FIELD(hc_run_totals, epoch_skipped),
    FIELD(hc_run_totals, measured),
    FIELD(hc_run_totals, underflow),
    FIELD(hc_run_totals, unscaled),
    FIELD(hc_run_totals, activation_underflow),
    FIELD(hc_run_totals, activation_unscaled),
    FIELD(hc_run_totals, update_lost),
    FIELD(hc_run_totals, updates),
    FIELD(hc_run_totals, bad),
    FIELD(hc_run_totals, train_loss),
    FIELD(hc_run_totals, test_loss),
    FIELD(hc_run_totals, accuracy),
    FIELDS(hc_run_totals, histogram.scaled),
    FIELDS(hc_run_totals, histogram.unscaled),
    FIELDS(hc_run_totals, histogram.activations_scaled),
    FIELDS(hc_run_totals, histogram.activations_unscaled),
    {0, 0, 0},
};

size_t hc_state_bytes(const struct hc_state_field *fields)
{
    size_t bytes = 0;
    for (; fields->count; fields++)
        bytes += fields->bytes * fields->count;
    return bytes;
}

void hc_state_pack(const struct hc_state_field *fields, const void *from, unsigned char *to)
{
    for (; fields->count; fields++) {
        const unsigned char *at = (const unsigned char *)from + fields->offset;
        for (size_t i = 0; i < fields->count; i++, at += fields->bytes) {
            uint32_t narrow;
            uint64_t wide;
            memcpy(fields->bytes == sizeof wide ? (void *)&wide : (void *)&narrow, at,
                   fields->bytes);
            if (fields->bytes != sizeof wide)
                wide = narrow;
            for (size_t k = 0; k < fields->bytes; k++)
                *to++ = (unsigned char)(wide >> 8 * k);
        }
    }
}

void hc_state_unpack(const struct hc_state_field *fields, const unsigned char *from, void *to)
{
    for (; fields->count; fields++) {
        unsigned char *at = (unsigned char *)to + fields->offset;
        for (size_t i = 0; i < fields->count; i++, at += fields->bytes) {
            uint64_t wide = 0;
            for (size_t k = 0; k < fields->bytes; k++)
                wide |= (uint64_t)*from++ << 8 * k;
            uint32_t narrow = (uint32_t)wide;
            memcpy(at, fields->bytes == sizeof wide ? (const void *)&wide : (const void *)&narrow,
                   fields->bytes);
        }
    }
}

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

/* Whether a state tensor is kept from one step to the next, under this recipe. Without masters the
   optimizer works on the model, which is kept once. Each step makes its gradients anew. (A scaler
   that steps on overflow steps on gradients that it zeroed at the end of the step before.) */
static bool state_is_kept(const struct hc_recipe *recipe, enum hc_state_tensor state)
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

static void append_row(struct hc_state_rows *rows, const char *prefix, const char *name,
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
        for (int p = 0; p < plan->parameters && state_is_kept(recipe, (enum hc_state_tensor)k);
             p++) {
            hc_torch_parameter(plan, p, name);
            append_row(rows, hc_state_prefix(recipe, (enum hc_state_tensor)k), name,
                       hc_update_tensor(update, (enum hc_state_tensor)k, p));
        }
    for (int s = 0; s < plan->statistics; s++) {
        hc_torch_statistic(plan, s, name);
        append_row(rows, "buffers.", name, hc_parameter_tensor(hc_net_statistics(net)[s]));
    }
    for (int k = 0; k < HC_QUANT_STATES && hc_net_quant(net); k++)
        append_row(rows, "", hc_quant_state_names[k], hc_quant_state(hc_net_quant(net), k));
    return rows;
}

/* What a checkpoint holds: the model's parameters and statistics, masters, momenta and
   compensations under the names of docs/step-files.md; the counts of steps and what the scaler
   keeps; the run's totals.

   The schedule, the order of the images, augmentation, the bits of stochastic rounding and the
   initial weights are functions of the step and the seed, so they have no state. */

enum { IDENTITY = 3072 };

/* The list of all that is kept, as it is now: the state's tensors, the counters, the totals. */
static void gather_state(struct hc_run *run, const struct hc_state_rows *rows,
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

/* Back to where gather_state took it from. */
static enum hc_status spread_state(struct hc_run *run, const struct hc_state_rows *rows,
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

static uint64_t hash_text(const struct hc_text *text)
{
    return hc_fnv(HC_FNV_START, text->byte, (size_t)text->bytes);
}

/* The hash of all images: other classes, files or seeds of the synthetic set are other data. */
static uint64_t hash_data(struct hc_run *run)
{
    if (run->data == 0)
        run->data = run->options.data->text.bytes
                        ? hash_text(&run->options.data->text)
                        : hash_images(hash_images(HC_FNV_START, &run->options.data->train),
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

static void identify_run(struct hc_run *run, char *identity, size_t size)
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
    identify_run(run, identity, sizeof identity);
    gather_state(run, rows, &list);
    enum hc_status status = list.status;
    if (status == HC_OK)
        status = back ? hc_checkpoint_read(path, identity, list.tensors, list.count)
                      : hc_checkpoint_write(path, producer, identity, list.tensors, list.count);
    if (status == HC_OK && back)
        status = spread_state(run, rows, &list);
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
