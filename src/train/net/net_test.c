#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "train/update/update.h"

Test(net, darknet16_has_the_notebooks_parameters_and_macs)
{
    struct hc_plan plan;
    hc_plan_make(&hc_darknet16, 2, &plan);
    cr_assert_eq(plan.weights, 5059506);
    cr_assert_eq(plan.norm_weights, 7872);
    cr_assert_eq(plan.weights + plan.norm_weights, 5067378);
    cr_assert_eq(plan.macs, 63751168);
    hc_plan_make(&hc_darknet16, 10, &plan);
    cr_assert_eq(plan.weights, 5063610);
    cr_assert_eq(plan.weights + plan.norm_weights, 5071482);
    cr_assert_eq(plan.macs, 63755264);
}

Test(net, the_list_counts_what_the_parameters_hold)
{
    struct hc_device device = {.backend = hc_backend_by_name("exact")};
    struct hc_net *net;
    int64_t held = 0;
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    cr_assert_eq(hc_net_open(&net, &device, &hc_darknet16, 10, 1, 1), HC_OK);
    for (int i = 0; i < hc_net_plan(net)->parameters; i++)
        held += hc_parameter_count(hc_net_parameters(net)[i]);
    cr_assert_eq(held, 5071482);
    hc_net_close(net);
    device.backend->close(device.queue);
}

/* The definition again, in fp64 and as loops: the loss of a batch as a function of the parameters.
   */
enum { BATCH = 3, CLASSES = 4 };

static double *parameter[3 * HC_MAX_LAYERS];
static double *value[HC_MAX_LAYERS + 1];

static void convolve(const struct hc_layer *l, const double *x, int side, int channels,
                     const double *w, double *y)
{
    for (int n = 0; n < BATCH; n++)
        for (int p = 0; p < l->side; p++)
            for (int q = 0; q < l->side; q++)
                for (int k = 0; k < l->channels; k++) {
                    double sum = 0;
                    for (int r = 0; r < l->kernel; r++)
                        for (int s = 0; s < l->kernel; s++) {
                            int h = p * l->stride + r - l->pad;
                            int v = q * l->stride + s - l->pad;
                            if (h < 0 || h >= side || v < 0 || v >= side)
                                continue;
                            for (int c = 0; c < channels; c++)
                                sum += x[((n * side + h) * side + v) * channels + c] *
                                       w[((k * l->kernel + r) * l->kernel + s) * channels + c];
                        }
                    y[((n * l->side + p) * l->side + q) * l->channels + k] = sum;
                }
}

static void normalise_and_leak(const struct hc_layer *l, const double *gamma, const double *beta,
                               double *y)
{
    int m = BATCH * l->side * l->side;
    for (int c = 0; c < l->channels; c++) {
        double mean = 0;
        double var = 0;
        for (int i = 0; i < m; i++)
            mean += y[i * l->channels + c] / m;
        for (int i = 0; i < m; i++)
            var += (y[i * l->channels + c] - mean) * (y[i * l->channels + c] - mean) / m;
        for (int i = 0; i < m; i++) {
            double z = (y[i * l->channels + c] - mean) / sqrt(var + 1e-5) * gamma[c] + beta[c];
            y[i * l->channels + c] = z > 0 ? z : 0.1 * z;
        }
    }
}

static double cross_entropy(const double *z, const int32_t *labels)
{
    double loss = 0;
    for (int n = 0; n < BATCH; n++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++)
            sum += exp(z[n * CLASSES + c] - z[n * CLASSES + labels[n]]);
        loss += log(sum) / BATCH;
    }
    return loss;
}

static double loss_in_fp64(const struct hc_plan *plan, const int32_t *labels)
{
    for (int i = 0; i < plan->layers; i++) {
        const struct hc_layer *l = &plan->layer[i];
        const double *x = value[l->in];
        int side = l->in == 0 ? plan->network->side : plan->layer[l->in - 1].side;
        int channels = l->in == 0 ? plan->network->channels : plan->layer[l->in - 1].channels;
        int n = BATCH * l->side * l->side * l->channels;
        double *y = value[i + 1];
        if (l->kind == HC_LAYER_CONV) {
            convolve(l, x, side, channels, parameter[l->parameter], y);
            normalise_and_leak(l, parameter[l->parameter + 1], parameter[l->parameter + 2], y);
        } else if (l->kind == HC_LAYER_ADD) {
            for (int j = 0; j < n; j++)
                y[j] = x[j] + value[l->skip][j];
        } else if (l->kind == HC_LAYER_POOL) {
            memset(y, 0, (size_t)n * sizeof *y);
            for (int j = 0; j < BATCH * side * side * channels; j++)
                y[j / (side * side * channels) * channels + j % channels] += x[j] / (side * side);
        } else {
            for (int j = 0; j < n; j++) {
                y[j] = parameter[l->parameter + 1][j % l->channels];
                for (int c = 0; c < channels; c++)
                    y[j] += x[j / l->channels * channels + c] *
                            parameter[l->parameter][j % l->channels * channels + c];
            }
        }
    }
    return cross_entropy(value[plan->layers], labels);
}

static struct hc_device device;
static struct hc_net *net;
static struct hc_update *update;
static float images[BATCH * 32 * 32 * 3];
static int32_t labels[BATCH] = {2, 0, 3};

static void begin(const char *backend, const struct hc_recipe *recipe)
{
    device = (struct hc_device){.backend = hc_backend_by_name(backend)};
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 2), HC_OK);
    cr_assert_eq(hc_net_open(&net, &device, &hc_darknet_tiny, CLASSES, BATCH, 7), HC_OK);
    cr_assert_eq(hc_model_open(&update, &device, net, recipe), HC_OK);
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
        images[i] = (float)hc_random_normal(3, 0, i);
}

static void end(void)
{
    hc_update_close(update);
    hc_net_close(net);
    hc_device_end(&device);
    device.backend->close(device.queue);
}

/* Parameters and the batch, as fp64. */
static void copy_to_fp64(void)
{
    const struct hc_plan *plan = hc_net_plan(net);
    value[0] = calloc(sizeof images / sizeof images[0], sizeof(double));
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
        value[0][i] = (double)images[i];
    for (int i = 0; i < plan->layers; i++) {
        const struct hc_layer *l = &plan->layer[i];
        value[i + 1] = calloc((size_t)(BATCH * l->side * l->side * l->channels), sizeof(double));
    }
    for (int p = 0; p < plan->parameters; p++) {
        int64_t n = hc_parameter_count(hc_net_parameters(net)[p]);
        parameter[p] = calloc((size_t)n, sizeof(double));
        for (int64_t i = 0; i < n; i++)
            cr_assert_eq(hc_update_get(update, HC_STATE_MODEL, p, i, &parameter[p][i]), HC_OK);
    }
}

static void free_fp64(void)
{
    for (int i = 0; i <= hc_net_plan(net)->layers; i++)
        free(value[i]);
    for (int p = 0; p < hc_net_plan(net)->parameters; p++)
        free(parameter[p]);
}

/* Central differences with h = 1e-6: their own error is about h^2 f''' + 2^-53 f / h, 1e-9 or so.
   An fp32 gradient of this net passes through some 10 layers of sums, with a relative error of some
   hundred u = 2^-24 of the largest entry of its tensor at most; 2e-4 of it leaves a margin, and is
   far below what any wrong term, factor or missing branch would do. */
Test(net, gradients_are_the_derivatives_of_the_loss)
{
    static const char *const backends[] = {"exact", "host"};
    for (int b = 0; b < 2; b++) {
        float loss;
        int right;
        begin(backends[b], hc_recipe_by_name("fp32"));
        copy_to_fp64();
        struct hc_tensor scale = hc_update_scale(update);
        enum hc_status status = hc_net_train(net, images, labels, &scale, &loss, &right);
        cr_assert_eq(status, HC_OK, "%s", hc_message());
        const struct hc_plan *plan = hc_net_plan(net);
        cr_assert_float_eq((double)loss, loss_in_fp64(plan, labels), 1e-5);
        for (int p = 0; p < plan->parameters; p++) {
            int64_t n = hc_parameter_count(hc_net_parameters(net)[p]);
            double largest = 0;
            double got;
            for (int64_t i = 0; i < n; i++) {
                cr_assert_eq(hc_update_get(update, HC_STATE_GRADIENT, p, i, &got), HC_OK);
                largest = fmax(largest, fabs(got));
            }
            for (int64_t i = 0; i < n; i += n / 3 + 1) {
                double *x = &parameter[p][i];
                double at = *x;
                *x = at + 1e-6;
                double want = loss_in_fp64(plan, labels);
                *x = at - 1e-6;
                want = (want - loss_in_fp64(plan, labels)) / 2e-6;
                *x = at;
                cr_assert_eq(hc_update_get(update, HC_STATE_GRADIENT, p, i, &got), HC_OK);
                cr_assert_float_eq(got, want, 2e-4 * largest + 1e-8, "%s %s[%ld]: want %g, got %g",
                                   backends[b], hc_net_parameters(net)[p]->name, (long)i, want,
                                   got);
            }
        }
        free_fp64();
        end();
    }
}

/* The scale is a power of two and nothing underflows in fp32: scaled gradients are the unscaled
   ones, bit for bit, times the scale. */
Test(net, a_scaled_loss_scales_every_gradient)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    float loss;
    int right;
    double got;
    static double plain[3 * HC_MAX_LAYERS];
    for (int scaled = 0; scaled < 2; scaled++) {
        if (scaled)
            recipe.scaler = (struct hc_scaler){.rule = HC_SCALER_STATIC, .initial = 1024};
        begin("exact", &recipe);
        struct hc_tensor scale = hc_update_scale(update);
        cr_assert_eq(hc_net_train(net, images, labels, &scale, &loss, &right), HC_OK);
        for (int p = 0; p < hc_net_plan(net)->parameters; p++) {
            cr_assert_eq(hc_update_get(update, HC_STATE_GRADIENT, p, 0, &got), HC_OK);
            if (scaled)
                cr_assert_eq(got, plain[p] * 1024);
            else
                plain[p] = got;
        }
        end();
    }
}

Test(net, every_recipe_runs_forward_backward_and_infers)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        float loss = 0;
        int right;
        begin("exact", &recipes[r]);
        struct hc_tensor scale = hc_update_scale(update);
        cr_assert_eq(hc_net_train(net, images, labels, &scale, &loss, &right), HC_OK, "%s: %s",
                     recipes[r].name, hc_message());
        cr_assert(loss > 0.5f && loss < 3.0f, "%s: loss %g", recipes[r].name, (double)loss);
        cr_assert_eq(hc_net_infer(net, images, labels, 2, &loss, &right), HC_OK);
        cr_assert(isfinite(loss) && right >= 0 && right <= 2);
        end();
    }
}
