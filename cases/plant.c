#include "cases/plant.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SIDE = 4, CLASSES = 2, PIXELS = HC_INJECTION_BATCH * SIDE * SIDE * 3 };

/* Every kind of layer, and a residual. */
static const struct hc_network network = {.name = "darknet-4",
                                          .side = SIDE,
                                          .channels = 3,
                                          .width = 2,
                                          .groups = 1,
                                          .blocks = {1},
                                          .strides = {2}};

const struct hc_injection_site hc_injection_none = {-1, -1, 0, 0, false};

static bool ok(struct hc_injection *injection, enum hc_status status)
{
    if (!hc_check_ok(injection->check, status))
        injection->failed = true;
    return !injection->failed;
}

/* Keeps what was there. */
static enum hc_status poison(struct hc_injection *injection, const struct hc_tensor *t)
{
    uint64_t bits = hc_encode(t->format, injection->at.bad, 0, HC_NEAREST);
    const struct hc_backend *backend = injection->device.backend;
    injection->bytes = (size_t)hc_formats[t->format].bytes;
    size_t element = injection->at.first ? 0 : (size_t)hc_tensor_count(t) - 1;
    injection->injected = (unsigned char *)t->data + element * injection->bytes;
    enum hc_status status =
        backend->download(injection->device.queue, injection->was, injection->injected, injection->bytes);
    if (status == HC_OK)
        status = backend->upload(injection->device.queue, injection->injected, &bits, injection->bytes);
    return status;
}

static void see(const struct hc_call *call, void *context)
{
    struct hc_injection *injection = context;
    const struct hc_backend *backend = injection->device.backend;
    bool adam = call->op == HC_OP_adam || call->op == HC_OP_adamw;
    if (injection->updating && (adam || call->op == HC_OP_sgd)) {
        int slot = adam ? 4 : 3;
        (void)ok(injection, backend->download(injection->device.queue, injection->hyper, call->in[slot].data,
                                          sizeof injection->hyper));
    }
    if (injection->updating)
        return;
    assert(injection->calls < (int)(sizeof injection->op / sizeof injection->op[0]));
    injection->op[injection->calls] = call->op;
    if (injection->calls++ == injection->at.call)
        (void)ok(injection, poison(injection, &call->in[injection->at.slot]));
}

static void fill(struct hc_injection *injection, int batch)
{
    uint64_t seed = hc_check_seed(injection->check);
    for (int i = 0; i < PIXELS; i++)
        injection->images[i] = (float)hc_random_normal(seed, 100 + 2 * (uint64_t)batch, (uint64_t)i);
    for (int i = 0; i < HC_INJECTION_BATCH; i++)
        injection->labels[i] =
            (int32_t)(hc_random(seed, 101 + 2 * (uint64_t)batch, (uint64_t)i) % CLASSES);
}

static enum hc_status start(struct hc_injection *injection)
{
    struct hc_rates rates[HC_INJECTION_STEPS];
    int n = hc_net_plan(injection->net)->parameters;
    struct hc_tensor *gradients = hc_check_memory(injection->check, (size_t)n * sizeof *gradients);
    enum hc_status status = hc_update_open(&injection->update, &injection->device, &injection->recipe,
                                           hc_net_parameters(injection->net), n);
    for (int s = 0; s < HC_INJECTION_STEPS; s++)
        rates[s] = (struct hc_rates){1e-2 / (1 + s), 0.9};
    for (int i = 0; i < n && status == HC_OK; i++)
        gradients[i] = hc_update_tensor(injection->update, HC_STATE_GRADIENT, i);
    if (status == HC_OK)
        status = hc_net_prepare(injection->net, &injection->recipe, gradients);
    if (status == HC_OK)
        status = hc_update_schedule(injection->update, rates, HC_INJECTION_STEPS);
    injection->scale = hc_storage_new(&injection->device, HC_FP32, 1);
    return status == HC_OK && !injection->scale ? HC_NO_MEMORY : status;
}

void hc_injection_open(struct hc_injection *injection, struct hc_check *check, const struct hc_recipe *recipe)
{
    *injection = (struct hc_injection){
        .check = check,
        .recipe = *recipe,
        .device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)}};
    if (hc_scalers[recipe->scaler.rule].rule.interval > 0) {
        injection->recipe.scaler.interval = HC_INJECTION_INTERVAL;
        injection->recipe.scaler.initial = 256;
    }
    if (hc_round(recipe->arithmetic, recipe->eps) == 0)
        injection->recipe.eps = 1e-4;
    injection->images = hc_check_memory(check, sizeof(float) * PIXELS);
    injection->labels = hc_check_memory(check, sizeof(int32_t) * HC_INJECTION_BATCH);
    if (ok(injection, hc_net_open(&injection->net, &injection->device, &network, CLASSES, HC_INJECTION_BATCH,
                              hc_check_seed(check))))
        (void)ok(injection, start(injection));
}

void hc_injection_close(struct hc_injection *injection)
{
    hc_storage_drop(injection->scale);
    hc_update_close(injection->update);
    hc_net_close(injection->net);
    hc_device_end(&injection->device);
}

/* What the pass read poisoned is sound again when the update runs: the copy of the scale, the ones
   that sum a bias' gradient. What it wrote is as the poison left it. */
static enum hc_status pass(struct hc_injection *injection)
{
    const struct hc_backend *backend = injection->device.backend;
    struct hc_tensor scale = hc_storage_tensor(injection->scale);
    int right;
    struct hc_counters counters;
    enum hc_status status = hc_update_counters(injection->update, &counters);
    if (status == HC_OK)
        status = hc_storage_write(injection->scale, &counters.scale);
    if (status == HC_OK)
        status =
            hc_net_train(injection->net, injection->images, injection->labels, &scale, &injection->loss, &right);
    if (status == HC_OK && injection->injected)
        status = backend->upload(injection->device.queue, injection->injected, injection->was, injection->bytes);
    return status;
}

void hc_injection_step(struct hc_injection *injection, int batch, const struct hc_injection_site *at)
{
    if (injection->failed)
        return;
    fill(injection, batch);
    injection->at = *at;
    injection->calls = 0;
    injection->injected = NULL;
    injection->updating = false;
    injection->device.observe = see;
    injection->device.context = injection;
    enum hc_status status = pass(injection);
    injection->updating = true;
    if (status == HC_OK && at->parameter >= 0) {
        struct hc_tensor g = hc_update_tensor(injection->update, HC_STATE_GRADIENT, at->parameter);
        status = poison(injection, &g);
    }
    if (status == HC_OK)
        status = hc_update_queue(injection->update);
    injection->device.observe = NULL;
    (void)ok(injection, status);
}

/* Carries all tensors of a piece one after the other, or with HC_STATE_COUNT the statistics. */
static enum hc_status carry(struct hc_injection *injection, enum hc_state_tensor piece, struct hc_bytes *bytes,
                            bool back)
{
    const struct hc_plan *plan = hc_net_plan(injection->net);
    bool statistics = piece == HC_STATE_COUNT;
    int n = statistics ? plan->statistics : plan->parameters;
    enum hc_status status = HC_OK;
    size_t at = 0;
    for (int i = 0; i < n && status == HC_OK; i++) {
        struct hc_storage *storage = statistics ? hc_net_statistics(injection->net)[i]->storage : NULL;
        struct hc_tensor t =
            statistics ? hc_storage_tensor(storage) : hc_update_tensor(injection->update, piece, i);
        unsigned char *here = bytes->data + at;
        at += hc_tensor_bytes(&t);
        if (!bytes->data)
            continue;
        if (statistics)
            status = back ? hc_storage_write(storage, here) : hc_storage_read(storage, here);
        else
            status = back ? hc_update_write(injection->update, piece, i, here)
                          : hc_update_read(injection->update, piece, i, here);
    }
    bytes->count = at;
    return status;
}

void hc_injection_save(struct hc_injection *injection, struct hc_injection_state *state)
{
    for (int p = 0; p <= HC_STATE_COUNT && !injection->failed; p++) {
        enum hc_state_tensor piece = (enum hc_state_tensor)p;
        struct hc_bytes *bytes = p < HC_STATE_COUNT ? &state->piece[p] : &state->statistics;
        if (!bytes->data) {
            (void)carry(injection, piece, bytes, false);
            bytes->data = hc_check_memory(injection->check, bytes->count);
        }
        (void)ok(injection, carry(injection, piece, bytes, false));
    }
    if (!injection->failed)
        (void)ok(injection, hc_update_counters(injection->update, &state->counters));
}

/* The counts first: a resume zeroes the gradients that the masters hold (hc_update_set_counters), and here
   they are what the step left. */
void hc_injection_restore(struct hc_injection *injection, const struct hc_injection_state *state)
{
    if (!injection->failed)
        (void)ok(injection, hc_update_set_counters(injection->update, &state->counters));
    for (int p = 0; p <= HC_STATE_COUNT && !injection->failed; p++) {
        struct hc_bytes bytes = p < HC_STATE_COUNT ? state->piece[p] : state->statistics;
        (void)ok(injection, carry(injection, (enum hc_state_tensor)p, &bytes, true));
    }
}

int64_t hc_injection_nonfinite(const struct hc_injection *injection, const struct hc_injection_state *state,
                      enum hc_state_tensor piece)
{
    const struct hc_plan *plan = hc_net_plan(injection->net);
    bool statistics = piece == HC_STATE_COUNT;
    const struct hc_bytes *bytes = statistics ? &state->statistics : &state->piece[piece];
    int n = statistics ? plan->statistics : plan->parameters;
    int64_t lost = 0;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = statistics ? hc_parameter_tensor(hc_net_statistics(injection->net)[i])
                                        : hc_update_tensor(injection->update, piece, i);
        t.data = bytes->data + at;
        for (int64_t e = 0; e < hc_tensor_count(&t); e++)
            lost += !isfinite(hc_tensor_get(&t, e));
        at += hc_tensor_bytes(&t);
    }
    return lost;
}
