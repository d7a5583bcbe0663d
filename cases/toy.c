#include "cases/toy.h"

#include <math.h>

enum { SIDE = 8, COLOURS = 3, PIXELS = SIDE * SIDE * COLOURS };

static const struct hc_network stripes = {.name = "darknet-toy",
                                          .side = SIDE,
                                          .channels = COLOURS,
                                          .width = 4,
                                          .groups = 2,
                                          .blocks = {1, 1},
                                          .strides = {2, 2}};

static bool ok(struct hc_toy *toy, enum hc_status status)
{
    if (!hc_check_ok(toy->check, status))
        toy->failed = true;
    return !toy->failed;
}

/* Image i of stream `number`: cos over rows or columns, two waves a side, plus normal noise. */
static void fill(struct hc_toy *toy, uint64_t number)
{
    uint64_t seed = toy->seed;
    for (uint64_t i = 0; i < HC_TOY_BATCH; i++) {
        uint64_t random = hc_random(seed, 1000 + number, i);
        double phase = hc_random_uniform(seed, 2000 + number, i);
        toy->labels[i] = (int32_t)(random & 1);
        for (uint64_t p = 0; p < PIXELS; p++) {
            uint64_t at = p / COLOURS;
            uint64_t along = random & 1 ? at / SIDE : at % SIDE;
            double wave = cos(6.283185307179586 * ((double)along / 4 + phase));
            double noise = hc_random_normal(seed, 3000 + number, i * PIXELS + p);
            toy->images[i * PIXELS + p] = (float)(wave + 0.5 * noise);
        }
    }
}

void hc_toy_open(struct hc_toy *toy, struct hc_check *check, uint64_t seed)
{
    *toy = (struct hc_toy){
        .check = check,
        .seed = seed,
        .device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)}};
    toy->images = hc_check_memory(check, sizeof(float) * HC_TOY_BATCH * PIXELS);
    toy->labels = hc_check_memory(check, sizeof(int32_t) * HC_TOY_BATCH);
    (void)ok(toy, hc_net_open(&toy->net, &toy->device, &stripes, 2, HC_TOY_BATCH, seed));
}

void hc_toy_start(struct hc_toy *toy, const struct hc_recipe *recipe)
{
    if (toy->failed)
        return;
    int n = hc_net_plan(toy->net)->parameters;
    struct hc_tensor *gradients = hc_check_memory(toy->check, (size_t)n * sizeof *gradients);
    if (!ok(toy,
            hc_update_open(&toy->update, &toy->device, recipe, hc_net_parameters(toy->net), n)))
        return;
    for (int i = 0; i < n; i++)
        gradients[i] = hc_update_tensor(toy->update, HC_PIECE_GRADIENT, i);
    (void)ok(toy, hc_net_prepare(toy->net, recipe, gradients));
}

void hc_toy_close(struct hc_toy *toy)
{
    hc_update_close(toy->update);
    hc_net_close(toy->net);
    hc_device_end(&toy->device);
}

double hc_toy_step(struct hc_toy *toy, int step, double lr)
{
    float loss = NAN;
    int right;
    if (toy->failed)
        return (double)NAN;
    struct hc_tensor scale = hc_update_scale(toy->update);
    fill(toy, 100 + (uint64_t)step);
    if (ok(toy, hc_net_train(toy->net, toy->images, toy->labels, &scale, &loss, &right)))
        (void)ok(toy, hc_update_step(toy->update, lr, 0.9));
    return toy->failed ? (double)NAN : (double)loss;
}

double hc_toy_validate(struct hc_toy *toy)
{
    double sum = 0;
    for (int batch = 0; batch < 4 && !toy->failed; batch++) {
        float loss = NAN;
        int right;
        fill(toy, (uint64_t)batch);
        (void)ok(toy,
                 hc_net_infer(toy->net, toy->images, toy->labels, HC_TOY_BATCH, &loss, &right));
        sum += (double)loss / 4;
    }
    return toy->failed ? (double)NAN : sum;
}
