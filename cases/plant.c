#include "cases/plant.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SIDE = 4, CLASSES = 2, PIXELS = HC_PLANT_BATCH * SIDE * SIDE * 3 };

/* Every kind of layer, and a residual. */
static const struct hc_network network = {.name = "darknet-4",
                                          .side = SIDE,
                                          .channels = 3,
                                          .width = 2,
                                          .groups = 1,
                                          .blocks = {1},
                                          .strides = {2}};

const struct hc_plant_at hc_plant_nowhere = {-1, -1, 0, 0, false};

static bool ok(struct hc_plant *plant, enum hc_status status)
{
    if (!hc_check_ok(plant->check, status))
        plant->failed = true;
    return !plant->failed;
}

/* Keeps what was there. */
static enum hc_status poison(struct hc_plant *plant, const struct hc_tensor *t)
{
    uint64_t bits = hc_encode(t->format, plant->at.bad, 0, HC_NEAREST);
    const struct hc_backend *backend = plant->device.backend;
    plant->bytes = (size_t)hc_formats[t->format].bytes;
    size_t element = plant->at.first ? 0 : (size_t)hc_tensor_count(t) - 1;
    plant->planted = (unsigned char *)t->data + element * plant->bytes;
    enum hc_status status =
        backend->download(plant->device.queue, plant->was, plant->planted, plant->bytes);
    if (status == HC_OK)
        status = backend->upload(plant->device.queue, plant->planted, &bits, plant->bytes);
    return status;
}

static void see(const struct hc_call *call, void *context)
{
    struct hc_plant *plant = context;
    const struct hc_backend *backend = plant->device.backend;
    bool adam = call->op == HC_OP_adam || call->op == HC_OP_adamw;
    if (plant->updating && (adam || call->op == HC_OP_sgd)) {
        int slot = adam ? 4 : 3;
        (void)ok(plant, backend->download(plant->device.queue, plant->hyper, call->in[slot].data,
                                          sizeof plant->hyper));
    }
    if (plant->updating)
        return;
    assert(plant->calls < (int)(sizeof plant->op / sizeof plant->op[0]));
    plant->op[plant->calls] = call->op;
    if (plant->calls++ == plant->at.call)
        (void)ok(plant, poison(plant, &call->in[plant->at.slot]));
}

static void fill(struct hc_plant *plant, int batch)
{
    uint64_t seed = hc_check_seed(plant->check);
    for (int i = 0; i < PIXELS; i++)
        plant->images[i] = (float)hc_random_normal(seed, 100 + 2 * (uint64_t)batch, (uint64_t)i);
    for (int i = 0; i < HC_PLANT_BATCH; i++)
        plant->labels[i] =
            (int32_t)(hc_random(seed, 101 + 2 * (uint64_t)batch, (uint64_t)i) % CLASSES);
}

static enum hc_status start(struct hc_plant *plant)
{
    struct hc_rates rates[HC_PLANT_STEPS];
    int n = hc_net_plan(plant->net)->parameters;
    struct hc_tensor *gradients = hc_check_memory(plant->check, (size_t)n * sizeof *gradients);
    enum hc_status status = hc_update_open(&plant->update, &plant->device, &plant->recipe,
                                           hc_net_parameters(plant->net), n);
    for (int s = 0; s < HC_PLANT_STEPS; s++)
        rates[s] = (struct hc_rates){1e-2 / (1 + s), 0.9};
    for (int i = 0; i < n && status == HC_OK; i++)
        gradients[i] = hc_update_tensor(plant->update, HC_PIECE_GRADIENT, i);
    if (status == HC_OK)
        status = hc_net_prepare(plant->net, &plant->recipe, gradients);
    if (status == HC_OK)
        status = hc_update_schedule(plant->update, rates, HC_PLANT_STEPS);
    plant->scale = hc_storage_new(&plant->device, HC_FP32, 1);
    return status == HC_OK && !plant->scale ? HC_NO_MEMORY : status;
}

void hc_plant_open(struct hc_plant *plant, struct hc_check *check, const struct hc_recipe *recipe)
{
    *plant = (struct hc_plant){
        .check = check,
        .recipe = *recipe,
        .device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)}};
    if (hc_scalers[recipe->scaler.rule].rule.interval > 0) {
        plant->recipe.scaler.interval = HC_PLANT_INTERVAL;
        plant->recipe.scaler.initial = 256;
    }
    if (hc_round(recipe->arithmetic, recipe->eps) == 0)
        plant->recipe.eps = 1e-4;
    plant->images = hc_check_memory(check, sizeof(float) * PIXELS);
    plant->labels = hc_check_memory(check, sizeof(int32_t) * HC_PLANT_BATCH);
    if (ok(plant, hc_net_open(&plant->net, &plant->device, &network, CLASSES, HC_PLANT_BATCH,
                              hc_check_seed(check))))
        (void)ok(plant, start(plant));
}

void hc_plant_close(struct hc_plant *plant)
{
    hc_storage_drop(plant->scale);
    hc_update_close(plant->update);
    hc_net_close(plant->net);
    hc_device_end(&plant->device);
}

/* What the pass read poisoned is sound again when the update runs: the copy of the scale, the ones
   that sum a bias' gradient. What it wrote is as the poison left it. */
static enum hc_status pass(struct hc_plant *plant)
{
    const struct hc_backend *backend = plant->device.backend;
    struct hc_tensor scale = hc_storage_tensor(plant->scale);
    int right;
    struct hc_counters counters;
    enum hc_status status = hc_update_counters(plant->update, &counters);
    if (status == HC_OK)
        status = hc_storage_write(plant->scale, &counters.scale);
    if (status == HC_OK)
        status =
            hc_net_train(plant->net, plant->images, plant->labels, &scale, &plant->loss, &right);
    if (status == HC_OK && plant->planted)
        status = backend->upload(plant->device.queue, plant->planted, plant->was, plant->bytes);
    return status;
}

void hc_plant_step(struct hc_plant *plant, int batch, const struct hc_plant_at *at)
{
    if (plant->failed)
        return;
    fill(plant, batch);
    plant->at = *at;
    plant->calls = 0;
    plant->planted = NULL;
    plant->updating = false;
    plant->device.observe = see;
    plant->device.context = plant;
    enum hc_status status = pass(plant);
    plant->updating = true;
    if (status == HC_OK && at->parameter >= 0) {
        struct hc_tensor g = hc_update_tensor(plant->update, HC_PIECE_GRADIENT, at->parameter);
        status = poison(plant, &g);
    }
    if (status == HC_OK)
        status = hc_update_queue(plant->update);
    plant->device.observe = NULL;
    (void)ok(plant, status);
}

/* Carries all tensors of a piece one after the other, or with HC_PIECE_COUNT the statistics. */
static enum hc_status carry(struct hc_plant *plant, enum hc_piece piece, struct hc_bytes *bytes,
                            bool back)
{
    const struct hc_plan *plan = hc_net_plan(plant->net);
    bool statistics = piece == HC_PIECE_COUNT;
    int n = statistics ? plan->statistics : plan->parameters;
    enum hc_status status = HC_OK;
    size_t at = 0;
    for (int i = 0; i < n && status == HC_OK; i++) {
        struct hc_storage *storage = statistics ? hc_net_statistics(plant->net)[i]->storage : NULL;
        struct hc_tensor t =
            statistics ? hc_storage_tensor(storage) : hc_update_tensor(plant->update, piece, i);
        unsigned char *here = bytes->data + at;
        at += hc_tensor_bytes(&t);
        if (!bytes->data)
            continue;
        if (statistics)
            status = back ? hc_storage_write(storage, here) : hc_storage_read(storage, here);
        else
            status = back ? hc_update_write(plant->update, piece, i, here)
                          : hc_update_read(plant->update, piece, i, here);
    }
    bytes->count = at;
    return status;
}

void hc_plant_save(struct hc_plant *plant, struct hc_plant_state *state)
{
    for (int p = 0; p <= HC_PIECE_COUNT && !plant->failed; p++) {
        enum hc_piece piece = (enum hc_piece)p;
        struct hc_bytes *bytes = p < HC_PIECE_COUNT ? &state->piece[p] : &state->statistics;
        if (!bytes->data) {
            (void)carry(plant, piece, bytes, false);
            bytes->data = hc_check_memory(plant->check, bytes->count);
        }
        (void)ok(plant, carry(plant, piece, bytes, false));
    }
    if (!plant->failed)
        (void)ok(plant, hc_update_counters(plant->update, &state->counters));
}

/* The counts first: a resume zeroes the gradients that the masters hold (hc_update_set_counters), and here
   they are what the step left. */
void hc_plant_restore(struct hc_plant *plant, const struct hc_plant_state *state)
{
    if (!plant->failed)
        (void)ok(plant, hc_update_set_counters(plant->update, &state->counters));
    for (int p = 0; p <= HC_PIECE_COUNT && !plant->failed; p++) {
        struct hc_bytes bytes = p < HC_PIECE_COUNT ? state->piece[p] : state->statistics;
        (void)ok(plant, carry(plant, (enum hc_piece)p, &bytes, true));
    }
}

int64_t hc_plant_lost(const struct hc_plant *plant, const struct hc_plant_state *state,
                      enum hc_piece piece)
{
    const struct hc_plan *plan = hc_net_plan(plant->net);
    bool statistics = piece == HC_PIECE_COUNT;
    const struct hc_bytes *bytes = statistics ? &state->statistics : &state->piece[piece];
    int n = statistics ? plan->statistics : plan->parameters;
    int64_t lost = 0;
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = statistics ? hc_parameter_tensor(hc_net_statistics(plant->net)[i])
                                        : hc_update_tensor(plant->update, piece, i);
        t.data = bytes->data + at;
        for (int64_t e = 0; e < hc_tensor_count(&t); e++)
            lost += !isfinite(hc_tensor_get(&t, e));
        at += hc_tensor_bytes(&t);
    }
    return lost;
}
