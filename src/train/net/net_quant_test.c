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

static void open_as(const char *text)
{
    device = (struct hc_device){.backend = hc_backend_by_name("exact")};
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    cr_assert_eq(hc_net_open(&net, &device, &hc_darknet_tiny, 2, BATCH, 3), HC_OK);
    cr_assert_eq(hc_model_open(&update, &device, net, &recipe), HC_OK, "%s", hc_message());
    for (int i = 0; i < BATCH * PIXELS; i++)
        images[i] = (float)hc_random_uniform(1, 2, (uint64_t)i) - 0.5F;
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
