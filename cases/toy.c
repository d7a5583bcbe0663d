#include "cases/toy.h"

#include <math.h>

enum { SIDE = 8, COLOURS = 3, PIXELS = SIDE * SIDE * COLOURS };

static const struct hc_network stripes = {.name = "darknet-tiny-8",
                                          .side = SIDE,
                                          .channels = COLOURS,
                                          .width = 4,
                                          .groups = 2,
                                          .blocks = {1, 1},
                                          .strides = {2, 2}};

static bool ok(struct hc_tiny *tiny, enum hc_status status)
{
    if (!hc_check_ok(tiny->check, status))
        tiny->failed = true;
    return !tiny->failed;
}

/* Image i of stream `number`: cos over rows or columns, two waves a side, plus normal noise. */
static void fill(struct hc_tiny *tiny, uint64_t number)
{
    uint64_t seed = tiny->seed;
    for (uint64_t i = 0; i < HC_TINY_BATCH; i++) {
        uint64_t random = hc_random(seed, 1000 + number, i);
        double phase = hc_random_uniform(seed, 2000 + number, i);
        tiny->labels[i] = (int32_t)(random & 1);
        for (uint64_t p = 0; p < PIXELS; p++) {
            uint64_t at = p / COLOURS;
            uint64_t along = random & 1 ? at / SIDE : at % SIDE;
            double wave = cos(6.283185307179586 * ((double)along / 4 + phase));
            double noise = hc_random_normal(seed, 3000 + number, i * PIXELS + p);
            tiny->images[i * PIXELS + p] = (float)(wave + 0.5 * noise);
        }
    }
}

void hc_tiny_open(struct hc_tiny *tiny, struct hc_check *check, uint64_t seed)
{
    *tiny = (struct hc_tiny){
        .check = check,
        .seed = seed,
        .device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)}};
    tiny->images = hc_check_memory(check, sizeof(float) * HC_TINY_BATCH * PIXELS);
    tiny->labels = hc_check_memory(check, sizeof(int32_t) * HC_TINY_BATCH);
    (void)ok(tiny, hc_net_open(&tiny->net, &tiny->device, &stripes, 2, HC_TINY_BATCH, seed));
}

void hc_tiny_start(struct hc_tiny *tiny, const struct hc_recipe *recipe)
{
    if (tiny->failed)
        return;
    int n = hc_net_plan(tiny->net)->parameters;
    struct hc_tensor *gradients = hc_check_memory(tiny->check, (size_t)n * sizeof *gradients);
    if (!ok(tiny,
            hc_update_open(&tiny->update, &tiny->device, recipe, hc_net_parameters(tiny->net), n)))
        return;
    for (int i = 0; i < n; i++)
        gradients[i] = hc_update_tensor(tiny->update, HC_STATE_GRADIENT, i);
    (void)ok(tiny, hc_net_prepare(tiny->net, recipe, gradients));
}

void hc_tiny_close(struct hc_tiny *tiny)
{
    hc_update_close(tiny->update);
    hc_net_close(tiny->net);
    hc_device_end(&tiny->device);
}

double hc_tiny_step(struct hc_tiny *tiny, int step, double lr)
{
    float loss = NAN;
    int right;
    if (tiny->failed)
        return (double)NAN;
    struct hc_tensor scale = hc_update_scale(tiny->update);
    fill(tiny, 100 + (uint64_t)step);
    if (ok(tiny, hc_net_train(tiny->net, tiny->images, tiny->labels, &scale, &loss, &right)))
        (void)ok(tiny, hc_update_step(tiny->update, lr, 0.9));
    return tiny->failed ? (double)NAN : (double)loss;
}

double hc_tiny_validate(struct hc_tiny *tiny)
{
    double sum = 0;
    for (int batch = 0; batch < 4 && !tiny->failed; batch++) {
        float loss = NAN;
        int right;
        fill(tiny, (uint64_t)batch);
        (void)ok(tiny,
                 hc_net_infer(tiny->net, tiny->images, tiny->labels, HC_TINY_BATCH, &loss, &right));
        sum += (double)loss / 4;
    }
    return tiny->failed ? (double)NAN : sum;
}
