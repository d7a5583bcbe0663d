/* Nets whose convolutions are quantised, through whole passes and updates. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "train/update/update.h"
#include "train/update/recipe_fields.h"

enum { BATCH = 4, PIXELS = 32 * 32 * 3, STATE = 4096 };

static struct hc_device device;
static struct hc_net *net;
static struct hc_update *update;
static struct hc_recipe recipe;
static char name[HC_RECIPE_NAME];
static float images[BATCH * PIXELS];
static const int32_t labels[BATCH] = {0, 1, 1, 0};

static void open_network(const char *text, const struct hc_network *network)
{
    device = (struct hc_device){.backend = hc_backend_by_name("exact")};
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    cr_assert_eq(hc_net_open(&net, &device, network, 2, BATCH, 3), HC_OK);
    cr_assert_eq(hc_model_open(&update, &device, net, &recipe), HC_OK, "%s", hc_message());
    for (int i = 0; i < BATCH * PIXELS; i++)
        images[i] = (float)hc_random_uniform(1, 2, (uint64_t)i) - 0.5F;
}

static void open_as(const char *text)
{
    open_network(text, &hc_darknet_tiny);
}

static void close_all(void)
{
    hc_update_close(update);
    hc_net_close(net);
    hc_device_end(&device);
    device.backend->close(device.queue);
}

static float pass(void)
{
    struct hc_tensor scale = hc_update_scale(update);
    float loss;
    int right;
    cr_assert_eq(hc_net_train(net, images, labels, &scale, &loss, &right), HC_OK, "%s",
                 hc_message());
    return loss;
}

/* Histories and scales, one behind the other. */
static size_t keep(unsigned char *to)
{
    size_t bytes = 0;
    for (int i = 0; i < HC_QUANT_STATES; i++) {
        struct hc_tensor t = hc_quant_state(hc_net_quant(net), i);
        cr_assert_leq(bytes + hc_tensor_bytes(&t), STATE * sizeof(float));
        memcpy(to + bytes, t.data, hc_tensor_bytes(&t));
        bytes += hc_tensor_bytes(&t);
    }
    return bytes;
}

Test(net_quant, the_first_convolution_and_the_linear_layer_are_not_quantised)
{
    open_as("nvfp4");
    for (int l = 0, next = 0; l < hc_net_plan(net)->layers; l++) {
        bool conv = hc_net_plan(net)->layer[l].kind == HC_LAYER_CONV;
        cr_expect_eq(hc_net_quant_of(net, l), conv && l > 0 ? next++ : -1, "layer %d", l);
    }
    close_all();
    open_as("amp-bf16");
    cr_expect_null(hc_net_quant(net));
    cr_expect_eq(hc_net_quant_of(net, 1), -1);
    close_all();
}

static const struct hc_gpt four = {
    .blocks = 4, .width = 32, .heads = 2, .length = 16, .hidden = 32, .tied = true};
static const struct hc_network four_blocks = {.name = "four", .gpt = &four, .side = 1};

/* The layers that are quantised, one name behind the other. */
static void expect_quantised(const char *text, const struct hc_network *network, const char *want)
{
    char got[512] = "";
    open_network(text, network);
    for (int l = 0, next = 0; l < hc_net_plan(net)->layers; l++) {
        const struct hc_layer *layer = &hc_net_plan(net)->layer[l];
        if (hc_net_quant_of(net, l) < 0)
            continue;
        cr_expect_eq(hc_net_quant_of(net, l), next);
        next += layer->kind == HC_LAYER_CONV ? 1 : layer->parameters;
        strncat(got, " ", sizeof got - strlen(got) - 1);
        strncat(got, layer->name, sizeof got - strlen(got) - 1);
    }
    cr_expect_str_eq(got, want, "%s", text);
    close_all();
}

Test(net_quant, blocks_at_either_end_may_stay_as_they_are)
{
    expect_quantised("nvfp4+plain_ends=1", &four_blocks,
                     " 1.attention 1.proj 1.mlp 1.down 2.attention 2.proj 2.mlp 2.down");
    expect_quantised("nvfp4+plain_ends=2", &hc_darknet_tiny, " g0.0b g1 g1.0a g1.0b g2");
    open_as("bf16-pure");
    cr_expect_eq(hc_net_requantise(net, &hc_quant_recipes[HC_BY_NONE + 1], 0, 100), HC_INVALID);
    cr_expect_str_eq(hc_message(), "plain_ends=100 leaves nothing of darknet-tiny to quantise");
    close_all();
}

static double largest(const struct hc_tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        most = fmax(most, fabs(hc_tensor_get(t, i)));
    return most;
}

/* The gradients of projections' outputs, by layer. */
static enum hc_status see_gradient(void *context, int layer, const struct hc_tensor *dy,
                                   const struct hc_tensor *dconv)
{
    (void)dconv;
    ((double *)context)[layer] = largest(dy);
    return HC_OK;
}

/* A history of two: the pass wrote its amaxes into the last slot, x of all products and then w;
   those of dy stand apart. */
Test(net_quant, a_gpts_history_has_the_amaxes_of_its_numbers)
{
    static int32_t bytes[2 * BATCH * 16];
    double dy[HC_MAX_LAYERS];
    float loss;
    int right;
    for (int i = 0; i < 2 * BATCH * 16; i++)
        bytes[i] = (int32_t)(hc_random(1, 3, (uint64_t)i) % HC_BYTES);
    open_network("fp8-te-delayed+amax_history=2", &four_blocks);
    struct hc_tensor scale = hc_update_scale(update);
    hc_net_trace(net, see_gradient, dy);
    cr_assert_eq(hc_net_train(net, bytes, bytes + (ptrdiff_t)BATCH * 16, &scale, &loss, &right),
                 HC_OK, "%s", hc_message());
    struct hc_tensor forward = hc_quant_state(hc_net_quant(net), 0);
    struct hc_tensor backward = hc_quant_state(hc_net_quant(net), 2);
    int64_t products = backward.shape[1];
    cr_assert(products == 20 && forward.shape[1] == 2 * products && forward.shape[0] == 2);
    for (int l = 0; l < hc_net_plan(net)->layers; l++) {
        const struct hc_layer *layer = &hc_net_plan(net)->layer[l];
        int first = hc_net_quant_of(net, l);
        for (int p = 0; first >= 0 && p < layer->parameters; p++) {
            struct hc_tensor x = hc_net_value(net, layer->in);
            struct hc_tensor w = hc_update_tensor(update, HC_STATE_MASTER, layer->parameter + p);
            cr_expect_eq(hc_tensor_get(&forward, 2 * products + first + p), largest(&x), "%s",
                         layer->name);
            cr_expect_eq(hc_tensor_get(&forward, 3 * products + first + p), largest(&w), "%s",
                         layer->name);
        }
        if (layer->kind == HC_LAYER_MATRIX)
            cr_expect_eq(hc_tensor_get(&backward, products + first), dy[l], "%s", layer->name);
    }
    close_all();
}

/* A loss scale under which bf16 gradients overflow, and a norm to clip to: neither the step that is
   skipped nor the one that is clipped comes near the state, which the passes alone have changed. */
static void expect_untouched(const char *text, bool skips)
{
    static unsigned char before[STATE * sizeof(float)];
    static unsigned char after[sizeof before];
    struct hc_counters counters;
    open_as(text);
    for (int i = 0; i < 3; i++) {
        (void)pass();
        size_t bytes = keep(before);
        cr_assert_eq(hc_update_step(update, 0.1, 0.9), HC_OK, "%s", hc_message());
        cr_assert_eq(keep(after), bytes);
        cr_expect_eq(memcmp(before, after, bytes), 0, "%s: step %d", text, i);
    }
    cr_assert_eq(hc_update_counters(update, &counters), HC_OK);
    cr_expect_eq(counters.skipped > 0, skips, "%s: %d steps skipped", text, counters.skipped);
    close_all();
}

Test(net_quant, neither_a_skipped_step_nor_a_clipped_one_touches_amaxes_and_scales)
{
    expect_untouched("fp8-te-delayed+amax_history=4+scaler=torch+loss_scale=3e38", true);
    expect_untouched("fp8-te-delayed+amax_history=4+clip=1e-3", false);
}

/* Under a history of one, each pass's scales come from the pass before. */
Test(net_quant, the_scales_follow_the_passes)
{
    open_as("fp8-te-delayed+amax_history=1");
    const float *scale = hc_quant_state(hc_net_quant(net), 1).data;
    cr_assert_eq(scale[0], 1);
    (void)pass();
    float first = scale[0];
    cr_expect(first > 1, "%g", (double)first);
    (void)pass();
    cr_expect_eq(scale[0], first, "the same pass has the same amax: %g", (double)scale[0]);
    close_all();
}

/* Weights are quantised from the masters: what the model's bf16 copy loses makes a difference. */
Test(net_quant, weights_are_quantised_from_the_masters)
{
    open_as("fp8-te-current+amax_history=0");
    float before = pass();
    struct hc_tensor w = hc_update_tensor(update, HC_STATE_MODEL, HC_CONV_PARAMETERS);
    memset(w.data, 0, hc_tensor_bytes(&w));
    cr_expect_eq(pass(), before, "the model's copy is not looked at");
    for (int64_t i = 0; i < hc_tensor_count(&w); i++)
        cr_assert_eq(hc_update_set(update, HC_STATE_MASTER, HC_CONV_PARAMETERS, i, 0), HC_OK);
    cr_expect_neq(pass(), before);
    close_all();
}

static void expect_refused(const char *text, const char *why)
{
    cr_expect_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_INVALID, "%s", text);
    cr_expect_not_null(strstr(hc_message(), why), "%s", hc_message());
}

Test(net_quant, contradictions_are_refused)
{
    expect_refused("fp64+quant=mxfp8-rp", "fp64 is not quantised");
    expect_refused("mxfp8-rp+amax_history=4", "no delayed scaling");
    expect_refused("fp8-te-delayed+shards=2", "takes a batch in one piece");
    expect_refused("fp32+quant=mxfp4", "quant is one of none, im2col");
}
