#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "train/net/net.h"

const struct hc_network hc_darknet16 = {.name = "darknet16",
                                        .side = 32,
                                        .channels = 3,
                                        .width = 16,
                                        .groups = 5,
                                        .blocks = {1, 2, 2, 2, 2},
                                        .strides = {2, 1, 2, 2, 2}};

const struct hc_network hc_darknet_tiny = {.name = "darknet-tiny",
                                           .side = 32,
                                           .channels = 3,
                                           .width = 4,
                                           .groups = 3,
                                           .blocks = {1, 1, 1},
                                           .strides = {2, 2, 2}};

/* Where a value stands while the list grows. */
struct cursor {
    int value;
    int side;
    int channels;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static struct hc_layer *
append(struct hc_plan *plan, const char *name, ...)
{
    assert(plan->layers < HC_MAX_LAYERS);
    struct hc_layer *layer = &plan->layer[plan->layers++];
    va_list arguments;
    *layer = (struct hc_layer){.parameter = -1, .statistic = -1, .skip = -1};
    va_start(arguments, name);
    (void)vsnprintf(layer->name, sizeof layer->name, name, arguments);
    va_end(arguments);
    return layer;
}

static void conv(struct hc_plan *plan, struct hc_layer *layer, struct cursor *at, int kernel,
                 int stride, int channels)
{
    layer->kind = HC_LAYER_CONV;
    layer->in = at->value;
    layer->kernel = kernel;
    layer->stride = stride;
    layer->pad = kernel / 2;
    layer->side = (at->side + 2 * layer->pad - kernel) / stride + 1;
    layer->channels = channels;
    layer->parameter = plan->parameters;
    layer->statistic = plan->statistics;
    layer->parameters = HC_CONV_PARAMETERS;
    plan->parameters += HC_CONV_PARAMETERS;
    plan->statistics += HC_CONV_STATISTICS;
    int64_t weights = (int64_t)kernel * kernel * at->channels * channels;
    plan->weights += weights;
    plan->norm_weights += 2 * (int64_t)channels;
    plan->macs += weights * layer->side * layer->side;
    *at = (struct cursor){plan->layers, layer->side, channels};
}

static void residual(struct hc_plan *plan, struct cursor *at, int group, int block)
{
    int skip = at->value;
    int channels = at->channels;
    conv(plan, append(plan, "g%d.%da", group, block), at, 1, 1, channels / 2);
    conv(plan, append(plan, "g%d.%db", group, block), at, 3, 1, channels);
    struct hc_layer *layer = append(plan, "g%d.%d", group, block);
    layer->kind = HC_LAYER_ADD;
    layer->in = at->value;
    layer->skip = skip;
    layer->side = at->side;
    layer->channels = channels;
    at->value = plan->layers;
}

static void head(struct hc_plan *plan, struct cursor *at)
{
    struct hc_layer *pool = append(plan, "pool");
    pool->kind = HC_LAYER_POOL;
    pool->in = at->value;
    pool->kernel = at->side;
    pool->side = 1;
    pool->channels = at->channels;
    struct hc_layer *linear = append(plan, "linear");
    linear->kind = HC_LAYER_LINEAR;
    linear->in = plan->layers - 1;
    linear->side = 1;
    linear->channels = plan->classes;
    linear->parameter = plan->parameters;
    linear->parameters = HC_LINEAR_PARAMETERS;
    plan->parameters += HC_LINEAR_PARAMETERS;
    plan->weights += (int64_t)plan->classes * (at->channels + 1);
    plan->macs += (int64_t)plan->classes * at->channels;
}

void hc_plan_make(const struct hc_network *network, int classes, struct hc_plan *plan)
{
    struct cursor at = {0, network->side, network->channels};
    memset(plan, 0, sizeof *plan);
    plan->network = network;
    plan->classes = classes;
    conv(plan, append(plan, "stem"), &at, 3, 1, network->width);
    for (int g = 0; g < network->groups; g++) {
        conv(plan, append(plan, "g%d", g), &at, 3, network->strides[g], 2 * at.channels);
        for (int b = 0; b < network->blocks[g]; b++)
            residual(plan, &at, g, b);
    }
    head(plan, &at);
}
