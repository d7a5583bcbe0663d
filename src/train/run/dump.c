/* A dump of a step: everything that it read and made, as a step file (docs/step-files.md).

   Each tensor is copied when it lies still: the state before the forward pass, which moves the
   running statistics; activations and gradients behind the backward pass; the gradients of the
   layers' outputs on the way back, since they share two buffers; the unscaled gradients before the
   optimizer runs, for one recipe zeroes them afterwards. Copies change nothing, so that a training
   has the same bits with its dumps and without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/output.h"
#include "train/run/state.h"
#include "train/run/trainer_inner.h"
#include "train/update/recipe_fields.h"

int64_t hc_dump_next(const struct hc_run *run, int64_t step)
{
    const struct hc_train_options *o = &run->options;
    int64_t next = INT64_MAX;
    for (int i = 0; i < o->dump_count; i++)
        if (o->dumps[i] >= step && o->dumps[i] < next)
            next = o->dumps[i];
    return next;
}

enum hc_status hc_dump_check(const struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    if (o->dump_count > 0 && !o->out)
        return hc_fail(HC_INVALID, "nowhere to dump a step to: no folder is given");
    if (o->dump_count > 0 && run->parallel.shards > 1)
        return hc_fail(HC_INVALID,
                       "a dump shows a batch in one piece, and this run cuts it into %d shards",
                       run->parallel.shards);
    for (int i = 0; i < o->dump_count; i++)
        if (o->dumps[i] < run->totals.first || o->dumps[i] >= run->steps)
            return hc_fail(HC_INVALID, "cannot dump step %lld: this run has the steps %lld to %lld",
                           (long long)o->dumps[i], (long long)run->totals.first,
                           (long long)run->steps - 1);
    return HC_OK;
}

static void dump_tensor(struct hc_run *run, const char *prefix, const char *name,
                        struct hc_tensor t)
{
    hc_tensor_list_add(&run->dump, &run->device, prefix, name, &t);
}

/* Weights, masters, buffers, the optimizer's state and all counts, as they are now. */
static void add_state(struct hc_run *run, const char *prefix, struct hc_counters counters)
{
    struct hc_state_rows *rows = hc_state_list(run->net, run->update);
    char name[HC_STATE_NAME];
    if (!rows) {
        run->dump.status = HC_NO_MEMORY;
        return;
    }
    for (int i = 0; i < rows->count; i++)
        dump_tensor(run, prefix, rows->row[i].name, rows->row[i].tensor);
    free(rows);
    for (int f = 0; f < HC_COUNTER_FIELDS; f++) {
        struct hc_tensor t = hc_counter_tensor(&hc_counter_fields[f], &counters);
        hc_tensor_list_copy(&run->dump, prefix, hc_counter_fields[f].name, &t);
    }
    const struct hc_plan *plan = hc_net_plan(run->net);
    struct hc_tensor passes = {.format = HC_I32, .data = &counters.steps};
    for (int l = 0; l < plan->layers; l++) {
        char module[HC_TORCH_NAME];
        if (plan->layer[l].kind != HC_LAYER_CONV)
            continue;
        hc_torch_module(plan, l, module);
        (void)snprintf(name, sizeof name, "buffers.%s%s.num_batches_tracked", module,
                       HC_TORCH_NORM);
        hc_tensor_list_copy(&run->dump, prefix, name, &passes);
    }
}

/* "0", and "0.0" for its convolution; the last layer's output has a name of its own. */
static void name_output(const struct hc_plan *plan, int l, const char *inside,
                        char name[HC_STATE_NAME])
{
    char module[HC_TORCH_NAME];
    hc_torch_module(plan, l, module);
    if (l == plan->layers - 1)
        (void)snprintf(name, HC_STATE_NAME, "logits");
    else
        (void)snprintf(name, HC_STATE_NAME, "%s%s", module, inside);
}

static enum hc_status trace(void *context, int l, const struct hc_tensor *dy,
                            const struct hc_tensor *dconv)
{
    struct hc_run *run = context;
    const struct hc_plan *plan = hc_net_plan(run->net);
    char name[HC_STATE_NAME];
    name_output(plan, l, "", name);
    dump_tensor(run, "activation_gradients.", name, *dy);
    name_output(plan, l, HC_TORCH_CONV, name);
    if (dconv)
        dump_tensor(run, "activation_gradients.", name, *dconv);
    return run->dump.status;
}

static enum hc_status trace_inside(void *context, int l, const char *prefix, const char *suffix,
                                   const struct hc_tensor *t)
{
    struct hc_run *run = context;
    char module[HC_TORCH_NAME];
    char name[HC_STATE_NAME];
    hc_torch_module(hc_net_plan(run->net), l, module);
    (void)snprintf(name, sizeof name, "%s%s", module, suffix);
    dump_tensor(run, prefix, name, *t);
    return run->dump.status;
}

static void add_gradients(struct hc_run *run, enum hc_state_tensor state)
{
    const struct hc_plan *plan = hc_net_plan(run->net);
    for (int p = 0; p < plan->parameters; p++) {
        char name[HC_TORCH_NAME];
        hc_torch_parameter(plan, p, name);
        dump_tensor(run, hc_state_prefix(run->options.recipe, state), name,
                    hc_update_tensor(run->update, state, p));
    }
}

static enum hc_status see_unscaled(void *context)
{
    struct hc_run *run = context;
    add_gradients(run, HC_STATE_MASTER_GRADIENT);
    return run->dump.status;
}

enum hc_status hc_dump_before(struct hc_run *run)
{
    hc_tensor_list_end(&run->dump);
    add_state(run, "", run->counters);
    hc_net_trace(run->net, trace, run);
    hc_net_trace_inside(run->net, trace_inside, run);
    hc_update_watch(run->update, see_unscaled, run);
    return run->dump.status;
}

static struct hc_tensor scalar(struct hc_tensor one)
{
    one.rank = 0;
    return one;
}

enum hc_status hc_dump_passes(struct hc_run *run)
{
    const struct hc_plan *plan = hc_net_plan(run->net);
    char name[HC_STATE_NAME];
    hc_net_trace(run->net, NULL, NULL);
    hc_net_trace_inside(run->net, NULL, NULL);
    dump_tensor(run, "batch.", plan->network->gpt ? "text" : "images", hc_feed_images(run->train));
    dump_tensor(run, "batch.", "labels", hc_feed_labels(run->train));
    for (int l = 0; l < plan->layers; l++) {
        bool last = l == plan->layers - 1;
        name_output(plan, l, "", name);
        dump_tensor(run, last ? "" : "activations.", name, hc_net_value(run->net, l + 1));
        if (plan->layer[l].kind != HC_LAYER_CONV)
            continue;
        name_output(plan, l, HC_TORCH_CONV, name);
        dump_tensor(run, "activations.", name, hc_net_conv_output(run->net, l));
        name_output(plan, l, HC_TORCH_NORM ".mean", name);
        dump_tensor(run, "saved.", name, hc_net_batch_mean(run->net, l));
        name_output(plan, l, HC_TORCH_NORM ".invstd", name);
        dump_tensor(run, "saved.", name, hc_net_batch_invstd(run->net, l));
    }
    dump_tensor(run, "", "loss", scalar(hc_net_loss(run->net)));
    add_gradients(run, HC_STATE_GRADIENT);
    return run->dump.status;
}

static void dump_number(struct hc_run *run, const char *key, double value)
{
    hc_tensor_list_text(&run->dump, key, "%a", value);
}

static void add_optimizer(struct hc_run *run, struct hc_rates rates)
{
    const struct hc_recipe *r = run->options.recipe;
    bool sgd = r->optimizer == HC_OPTIMIZER_SGD;
    bool adamw = r->decay == HC_DECAY_DECOUPLED || r->decay == HC_DECAY_MODEL;
    struct hc_tensor_list *dump = &run->dump;
    hc_tensor_list_text(dump, "optimizer", "%s", sgd ? "sgd" : adamw ? "adamw" : "adam");
    dump_number(run, "lr", rates.lr * (r->rate > 0 ? r->rate : 1));
    dump_number(run, "beta1", rates.beta1);
    dump_number(run, "beta2", r->beta2);
    dump_number(run, "eps", r->eps);
    dump_number(run, "weight_decay", r->weight_decay);
    dump_number(run, "clip", r->clip);
    hc_tensor_list_text(dump, "eps_inside", "%d", r->eps_inside);
    hc_tensor_list_text(dump, "nesterov", "%d", r->nesterov);
    hc_tensor_list_text(dump, "decay_norm", "%d", r->decay_norm);
    hc_tensor_list_text(dump, "arithmetic", "%s", hc_formats[r->arithmetic].name);
    for (int f = 0; f < hc_recipe_fields(); f++) {
        const char *key = hc_recipe_field_key(f);
        char text[HC_FIELD_TEXT];
        hc_recipe_field_text(r, f, text);
        if (strcmp(key, "decay") == 0 || strcmp(key, "order") == 0)
            hc_tensor_list_text(dump, key, "%s", text);
    }
}

/* Where layer groups have rates and decays of their own, each parameter's, by its name. */
static void add_groups(struct hc_run *run, struct hc_rates rates)
{
    const struct hc_plan *plan = hc_net_plan(run->net);
    for (int p = 0; p < plan->parameters; p++) {
        const struct hc_slot_plan *slot = hc_update_plan(run->update, p);
        char name[HC_TORCH_NAME];
        char key[HC_TORCH_NAME + 16];
        hc_torch_parameter(plan, p, name);
        (void)snprintf(key, sizeof key, "lr.%s", name);
        dump_number(run, key, rates.lr * slot->rate);
        (void)snprintf(key, sizeof key, "weight_decay.%s", name);
        dump_number(run, key, slot->decay);
    }
}

static void add_metadata(struct hc_run *run, struct hc_rates rates, const struct hc_rates *before)
{
    const struct hc_train_options *o = &run->options;
    const struct hc_scaler_update rule = hc_scaler_params(&o->recipe->scaler);
    struct hc_tensor_list *dump = &run->dump;
    hc_tensor_list_text(dump, "halfcheck.step", "1");
    hc_tensor_list_text(dump, "producer", "%s", o->producer ? o->producer : "halfcheck");
    hc_tensor_list_text(dump, "network", "%s", o->network->name);
    hc_tensor_list_text(dump, "classes", "%d", hc_net_plan(run->net)->classes);
    hc_tensor_list_text(dump, "recipe", "%s", o->recipe->name);
    hc_tensor_list_text(dump, "step", "%lld", (long long)run->counters.steps);
    hc_tensor_list_text(dump, "seed", "%llu", (unsigned long long)o->seed);
    hc_tensor_list_text(dump, "backend", "%s", o->backend->name);
    if (hc_net_quant(run->net))
        hc_tensor_list_text(dump, "quant", "%s", hc_quant_of(o->recipe)->name);
    hc_tensor_list_text(dump, "reduction", "%s", o->recipe->sum_loss ? "sum" : "mean");
    hc_tensor_list_text(dump, "scaler", "%s", hc_scalers[o->recipe->scaler.rule].name);
    if (rule.interval > 0) {
        dump_number(run, "growth", (double)rule.growth);
        dump_number(run, "backoff", (double)rule.backoff);
        hc_tensor_list_text(dump, "growth_interval", "%d", rule.interval);
    }
    add_optimizer(run, rates);
    if (before)
        dump_number(run, "lr_before", before->lr * (o->recipe->rate > 0 ? o->recipe->rate : 1));
    if (hc_recipe_layer_groups(o->recipe) > 1)
        add_groups(run, rates);
}

enum hc_status hc_dump_after(struct hc_run *run, struct hc_rates rates,
                             const struct hc_rates *before)
{
    char path[HC_MAX_PATH];
    struct hc_counters after;
    hc_update_watch(run->update, NULL, NULL);
    enum hc_status status = hc_update_counters(run->update, &after);
    if (status == HC_OK) {
        dump_tensor(run, "", "found_inf", scalar(hc_update_found(run->update)));
        add_state(run, "after.", after);
        add_metadata(run, rates, before);
        (void)snprintf(path, sizeof path, "%s/step-%lld.safetensors", run->options.out,
                       (long long)run->counters.steps);
        status = hc_tensor_list_write(&run->dump, path);
    }
    hc_tensor_list_end(&run->dump);
    return status;
}
