#include "cases/restated.h"

#include <assert.h>

const double hc_restated_mean[] = {.49139968, .48215841, .44653091};
const double hc_restated_deviation[] = {.24703223, .24348513, .26158784};

static struct hc_restated_layer *append(struct hc_restated *net, enum hc_restated_kind kind)
{
    assert(net->layers < HC_RESTATED_MAX);
    const struct hc_restated_layer *last = net->layers ? &net->layer[net->layers - 1] : NULL;
    struct hc_restated_layer *layer = &net->layer[net->layers];
    *layer = (struct hc_restated_layer){.kind = kind,
                                        .from = net->layers,
                                        .kernel = 1,
                                        .stride = 1,
                                        .side_in = last ? last->side : HC_RESTATED_SIDE,
                                        .channels_in = last ? last->channels : HC_RESTATED_COLOURS};
    layer->side = layer->side_in;
    layer->channels = layer->channels_in;
    net->layers++;
    return layer;
}

/* With padding of half the kernel a side is divided by the stride, rounded up. */
static void convolution(struct hc_restated *net, int kernel, int stride, int channels)
{
    struct hc_restated_layer *layer = append(net, HC_RESTATED_CONV);
    layer->kernel = kernel;
    layer->stride = stride;
    layer->side = (layer->side_in + stride - 1) / stride;
    layer->channels = channels;
    int64_t weights = (int64_t)kernel * kernel * layer->channels_in * channels;
    net->weights += weights;
    net->norms += 2 * (int64_t)channels;
    net->products += weights * layer->side * layer->side;
}

void hc_restated_make(struct hc_restated *net)
{
    int channels = net->width;
    net->layers = 0;
    convolution(net, 3, 1, channels);
    for (int g = 0; g < net->groups; g++) {
        channels *= 2;
        convolution(net, 3, net->strides[g], channels);
        for (int b = 0; b < net->blocks[g]; b++) {
            int start = net->layers;
            convolution(net, 1, 1, channels / 2);
            convolution(net, 3, 1, channels);
            append(net, HC_RESTATED_SUM)->shortcut = start;
        }
    }
    append(net, HC_RESTATED_POOL)->side = 1;
    append(net, HC_RESTATED_LINEAR)->channels = net->classes;
    net->weights += (int64_t)net->classes * (channels + 1);
    net->products += (int64_t)net->classes * channels;
}

static bool is_expected(const struct hc_restated_layer *layer, struct hc_restated_place *place,
                        enum hc_op op)
{
    switch (layer->kind) {
    case HC_RESTATED_CONV:
        if (!place->norm)
            return op == HC_OP_conv2d;
        if (place->layer == 0)
            place->trains = op == HC_OP_bn_leaky_train;
        return op == (place->trains ? HC_OP_bn_leaky_train : HC_OP_bn_leaky_infer);
    case HC_RESTATED_SUM:
        return op == HC_OP_add;
    case HC_RESTATED_POOL:
        return op == HC_OP_avg_pool;
    default:
        return op == HC_OP_gemm;
    }
}

bool hc_restated_follow(struct hc_check *check, const struct hc_restated *net,
                        struct hc_restated_place *place, const struct hc_call *call, int *at)
{
    if (place->layer < 0 && call->op == HC_OP_conv2d)
        *place = (struct hc_restated_place){.layer = 0};
    if (place->layer < 0)
        return false;
    *at = place->layer;
    const struct hc_restated_layer *layer = &net->layer[place->layer];
    if (!hc_claim_true(check, "a forward pass goes through the layers in their order",
                       is_expected(layer, place, call->op))) {
        place->layer = -1;
        return false;
    }
    place->norm = layer->kind == HC_RESTATED_CONV && !place->norm;
    if (!place->norm)
        place->layer = place->layer + 1 < net->layers ? place->layer + 1 : -1;
    return true;
}

/* Rows and columns in the upper five bits of the first two channels, the image's number in the
   lower three, noise in the last. */
uint8_t hc_restated_pixel(int image, int y, int x, int c)
{
    unsigned noise = (unsigned)(image * 1024 + y * 32 + x) * 2654435761u >> 24;
    return (uint8_t)(c == 0 ? 8 * y + image % 8 : c == 1 ? 8 * x + image / 8 : (int)noise);
}

/* Neighbours differ, and the classes are mixed. */
int hc_restated_label(int image)
{
    return (7 * image + 3) % 10;
}

static void fill(struct hc_images *images, int count, int first)
{
    assert(images->count >= count);
    images->count = count;
    for (int i = 0; i < count; i++) {
        images->labels[i] = hc_restated_label(first + i);
        for (int p = 0; p < HC_RESTATED_SIDE * HC_RESTATED_SIDE * HC_RESTATED_COLOURS; p++)
            images->pixels[i * HC_RESTATED_SIDE * HC_RESTATED_SIDE * HC_RESTATED_COLOURS + p] =
                hc_restated_pixel(first + i, p / 96, p / 3 % 32, p % 3);
    }
}

bool hc_restated_data(struct hc_check *check, struct hc_dataset *set, int train, int test)
{
    struct hc_data_options options = {.train_per_class = 13, .test_per_class = 4};
    if (!hc_check_ok(check, hc_dataset_open(&options, set)))
        return false;
    fill(&set->train, train, 0);
    fill(&set->test, test, HC_RESTATED_TESTS);
    return true;
}
