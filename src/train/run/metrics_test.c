#include <criterion/criterion.h>
#include <math.h>

#include "train/run/metrics.h"

static struct hc_device device;
static struct hc_net *net;
static struct hc_update *update;
static struct hc_metrics *metrics;
static struct hc_histogram histogram;

static void begin(const struct hc_recipe *recipe)
{
    struct hc_tensor gradients[3 * HC_MAX_LAYERS];
    device = (struct hc_device){.backend = hc_backend_by_name("exact")};
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    cr_assert_eq(hc_net_open(&net, &device, &hc_darknet_tiny, 10, 2, 7), HC_OK);
    cr_assert_eq(hc_update_open(&update, &device, recipe, hc_net_parameters(net),
                                hc_net_plan(net)->parameters),
                 HC_OK);
    for (int i = 0; i < hc_net_plan(net)->parameters; i++)
        gradients[i] = hc_update_tensor(update, HC_STATE_GRADIENT, i);
    cr_assert_eq(hc_net_prepare(net, hc_recipe_numerics(recipe), gradients), HC_OK);
    cr_assert_eq(hc_metrics_open(&metrics, &device, net, update), HC_OK);
    histogram = (struct hc_histogram){0};
}

static void end(void)
{
    hc_metrics_close(metrics);
    hc_update_close(update);
    hc_net_close(net);
    hc_device_end(&device);
    device.backend->close(device.queue);
}

static void put(enum hc_state_tensor state, int p, int64_t i, double value)
{
    cr_assert_eq(hc_update_set(update, state, p, i, value), HC_OK);
}

static void step(double lr, double beta1)
{
    cr_assert_eq(hc_metrics_before(metrics, &histogram), HC_OK);
    cr_assert_eq(hc_update_step(update, lr, beta1), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_metrics_after(metrics, lr, beta1), HC_OK);
}

/* The stem's filter has 4 x 27 = 108 elements, all of which are sampled. With S = 512: 10 zeros, 20
   of 2^-24, which are nothing after division by 512, 78 of 2^-9, which are 2^-18 after it. */
Test(metrics, shares_of_underflow_and_norms_are_those_of_the_gradients_given)
{
    begin(hc_recipe_by_name("fastai-004b-flat"));
    for (int i = 0; i < 108; i++)
        put(HC_STATE_GRADIENT, 0, i, i < 10 ? 0 : i < 30 ? 0x1p-24 : 0x1p-9);
    step(1e-3, 0.9);
    struct hc_shares stem = hc_metrics_layer(metrics, 0);
    cr_assert_float_eq(stem.underflow, 10 / 108.0, 1e-12);
    cr_assert_float_eq(stem.unscaled, 30 / 108.0, 1e-12);
    cr_assert_float_eq(stem.gradient_norm, sqrt(78) * 0x1p-18, 1e-10);
    cr_assert_eq(histogram.scaled[-24 - HC_EXPONENT_ZERO], 20);
    cr_assert_eq(histogram.scaled[-9 - HC_EXPONENT_ZERO], 78);
    cr_assert_eq(histogram.unscaled[-33 - HC_EXPONENT_ZERO], 20);
    cr_assert_eq(histogram.unscaled[-18 - HC_EXPONENT_ZERO], 78);
    end();
}

/* SGD's update is the gradient with momentum 0 and lr 1, and in the first step with Nesterov's
   momentum of 1 and a velocity that holds the rate of 1/2. Upwards from 1 half an ulp is 2^-11,
   downwards 2^-12; both ties go to the even 1, and a little more than each does not. */
Test(metrics, updates_are_lost_below_half_an_ulp_of_the_weight)
{
    static const double updates[4] = {-0x1p-11, -0x1.1p-11, 0x1p-12, 0x1.1p-12};
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    for (int inside = 0; inside < 2; inside++) {
        recipe.nesterov = recipe.rate_inside = inside;
        begin(&recipe);
        for (int i = 0; i < 108; i++) {
            put(HC_STATE_MODEL, 0, i, 1);
            put(HC_STATE_MASTER, 0, i, 1);
            put(HC_STATE_GRADIENT, 0, i, 512 * updates[i % 4]);
        }
        step(inside ? 0.5 : 1, inside);
        cr_assert_float_eq(hc_metrics_layer(metrics, 0).update_lost, 0.5, 1e-12);
        end();
    }
}

/* Adam's first step is lr in size, whatever the gradient: 1e-4 moves no half at 1, and 1e-3 does.
   */
Test(metrics, adams_intended_step_is_seen_where_half_loses_it)
{
    begin(hc_recipe_by_name("adamw16"));
    for (int i = 0; i < 108; i++) {
        put(HC_STATE_MODEL, 0, i, 1);
        put(HC_STATE_GRADIENT, 0, i, 1);
    }
    step(1e-4, 0.9);
    cr_assert_eq(hc_metrics_layer(metrics, 0).update_lost, 1.0);
    end();
    begin(hc_recipe_by_name("adamw16"));
    for (int i = 0; i < 108; i++) {
        put(HC_STATE_MODEL, 0, i, 1);
        put(HC_STATE_GRADIENT, 0, i, 1);
    }
    step(1e-3, 0.9);
    cr_assert_eq(hc_metrics_layer(metrics, 0).update_lost, 0.0);
    end();
}

Test(metrics, a_skipped_step_has_no_share_of_updates)
{
    begin(hc_recipe_by_name("amp"));
    put(HC_STATE_GRADIENT, 0, 0, INFINITY);
    step(1e-3, 0.9);
    cr_assert(isnan(hc_metrics_all(metrics).update_lost));
    cr_assert_eq(histogram.scaled[HC_EXPONENT_LAST - HC_EXPONENT_ZERO], 1);
    end();
}

/* The logits' gradient is (p - 1 or p) S / 2, with p near 1/10 of 10 classes: for S = 2^-22 the p S
   / 2 of wrong classes are below 2^-25 and those of the two labels above it. */
Test(metrics, gradients_of_activations_are_seen_on_their_way_back)
{
    static float images[2 * 32 * 32 * 3];
    static const int32_t labels[2] = {3, 8};
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    recipe.scaler.initial = 0x1p-22f;
    begin(&recipe);
    struct hc_tensor scale = hc_update_scale(update);
    float loss;
    int right;
    int linear = hc_net_plan(net)->layers - 1;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
        images[i] = (float)(i % 7) / 7 - 0.5f;
    cr_assert_eq(hc_net_train(net, images, labels, &scale, &loss, &right), HC_OK);
    step(1e-3, 0.9);
    cr_assert_float_eq(hc_metrics_layer(metrics, linear).activation_underflow, 18 / 20.0, 1e-12);

    end();
}
