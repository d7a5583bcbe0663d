/* The reference network: the loss of a small network in MPFR.

   The problem. A whole training step has no useful error bound: errors grow from layer to layer by
   factors that depend on the weights. But an fp64 engine and an fp32 engine that share a wrong term
   agree with each other, so the gradient must come from outside of both.

   The idea. Only the forward pass is written down, at 256 bits, straight from the ops' definitions
   (src/op/): convolution, batch norm over batch statistics, leaky ReLU, sum, mean, linear layer,
   cross entropy. The gradient is its central difference, weight by weight. There is no backward
   pass that could be wrong in the same way, and at 256 bits the difference quotient loses nothing.

   The limits. It is slow, so the network is tiny; and a difference across the kink of leaky ReLU
   would be wrong, so its step is far smaller than any pre-activation. */
#include <math.h>

#include "case.h"

enum {
    REFERENCE_NET_BATCH = 2,
    REFERENCE_NET_CLASSES = 3,
    REFERENCE_NET_SIDE = 4,
    REFERENCE_NET_CHANNELS = 2
};
enum {
    REFERENCE_NET_PIXELS =
        REFERENCE_NET_BATCH * REFERENCE_NET_SIDE * REFERENCE_NET_SIDE * REFERENCE_NET_CHANNELS,
    REFERENCE_NET_MAX = 128 /* elements of a value, [batch, side, side, channels] */
};

struct reference_net {
    const struct hc_plan *plan;
    const int32_t *labels;
    struct hc_real **parameter[3 * HC_MAX_LAYERS];
    struct hc_real *value[HC_MAX_LAYERS + 1][REFERENCE_NET_MAX];
    struct hc_real *mean;
    struct hc_real *variance;
    struct hc_real *term;
    struct hc_real *loss;
};

static void add_product(struct reference_net *s, struct hc_real *sum, const struct hc_real *a,
                        const struct hc_real *b)
{
    hc_real_mul(s->term, a, b);
    hc_real_add(sum, sum, s->term);
}

static void add_square(struct reference_net *s, struct hc_real *sum, const struct hc_real *a,
                       const struct hc_real *b)
{
    hc_real_sub(s->term, a, b);
    add_product(s, sum, s->term, s->term);
}

static void divide(struct reference_net *s, struct hc_real *x, double by)
{
    hc_real_set(s->term, by);
    hc_real_div(x, x, s->term);
}

static int side_of(const struct reference_net *s, int v)
{
    return v == 0 ? REFERENCE_NET_SIDE : s->plan->layer[v - 1].side;
}

static int channels_of(const struct reference_net *s, int v)
{
    return v == 0 ? REFERENCE_NET_CHANNELS : s->plan->layer[v - 1].channels;
}

static void convolve(struct reference_net *s, const struct hc_layer *l, int at, struct hc_real *sum)
{
    int side = side_of(s, l->in);
    int channels = channels_of(s, l->in);
    int k = at % l->channels;
    int q = at / l->channels % l->side;
    int p = at / l->channels / l->side % l->side;
    int n = at / l->channels / l->side / l->side;
    hc_real_set(sum, 0);
    for (int tap = 0; tap < l->kernel * l->kernel; tap++) {
        int h = p * l->stride + tap / l->kernel - l->pad;
        int w = q * l->stride + tap % l->kernel - l->pad;
        for (int c = 0; c < channels && h >= 0 && h < side && w >= 0 && w < side; c++)
            add_product(
                s, sum, s->value[l->in][((n * side + h) * side + w) * channels + c],
                s->parameter[l->parameter][(k * l->kernel * l->kernel + tap) * channels + c]);
    }
}

static void normalize_and_leak(struct reference_net *s, const struct hc_layer *l,
                               struct hc_real **y, int c)
{
    int n = REFERENCE_NET_BATCH * l->side * l->side;
    hc_real_set(s->mean, 0);
    hc_real_set(s->variance, 0);
    for (int i = 0; i < n; i++)
        hc_real_add(s->mean, s->mean, y[i * l->channels + c]);
    divide(s, s->mean, n);
    for (int i = 0; i < n; i++)
        add_square(s, s->variance, y[i * l->channels + c], s->mean);
    divide(s, s->variance, n);
    hc_real_set(s->term, (double)(float)HC_NORM_EPS);
    hc_real_add(s->variance, s->variance, s->term);
    hc_real_sqrt(s->variance, s->variance);
    for (int i = 0; i < n; i++) {
        struct hc_real *z = y[i * l->channels + c];
        hc_real_sub(z, z, s->mean);
        hc_real_div(z, z, s->variance);
        hc_real_mul(z, z, s->parameter[l->parameter + 1][c]);
        hc_real_add(z, z, s->parameter[l->parameter + 2][c]);
        hc_real_set(s->term, (double)(float)HC_LEAKY_SLOPE);
        if (!(hc_real_double(z) > 0))
            hc_real_mul(z, z, s->term);
    }
}

static void pool_or_linear(struct reference_net *s, const struct hc_layer *l, struct hc_real **y)
{
    int channels = channels_of(s, l->in);
    int pixels = side_of(s, l->in) * side_of(s, l->in);
    for (int i = 0; i < REFERENCE_NET_BATCH * l->channels; i++) {
        int n = i / l->channels;
        int k = i % l->channels;
        hc_real_set(y[i], 0);
        for (int j = 0; j < pixels && l->kind == HC_LAYER_POOL; j++)
            hc_real_add(y[i], y[i], s->value[l->in][(n * pixels + j) * channels + k]);
        if (l->kind == HC_LAYER_POOL) {
            divide(s, y[i], pixels);
            continue;
        }
        for (int c = 0; c < channels; c++)
            add_product(s, y[i], s->value[l->in][n * channels + c],
                        s->parameter[l->parameter][k * channels + c]);
        hc_real_add(y[i], y[i], s->parameter[l->parameter + 1][k]);
    }
}

/* The mean of log(sum_j exp(z_j - z_label)). */
static void cross_entropy(struct reference_net *s, struct hc_real **z)
{
    hc_real_set(s->loss, 0);
    for (int n = 0; n < REFERENCE_NET_BATCH; n++) {
        hc_real_set(s->mean, 0);
        for (int j = 0; j < REFERENCE_NET_CLASSES; j++) {
            hc_real_sub(s->term, z[n * REFERENCE_NET_CLASSES + j],
                        z[n * REFERENCE_NET_CLASSES + s->labels[n]]);
            hc_real_exp(s->term, s->term);
            hc_real_add(s->mean, s->mean, s->term);
        }
        hc_real_log(s->mean, s->mean);
        hc_real_add(s->loss, s->loss, s->mean);
    }
    divide(s, s->loss, REFERENCE_NET_BATCH);
}

/* Computes reference->loss for the parameters and images as they are now. */
static void reference_net_forward(struct reference_net *s)
{
    for (int l = 0; l < s->plan->layers; l++) {
        const struct hc_layer *layer = &s->plan->layer[l];
        struct hc_real **y = s->value[l + 1];
        int count = REFERENCE_NET_BATCH * layer->side * layer->side * layer->channels;
        if (layer->kind == HC_LAYER_CONV) {
            for (int i = 0; i < count; i++)
                convolve(s, layer, i, y[i]);
            for (int c = 0; c < layer->channels; c++)
                normalize_and_leak(s, layer, y, c);
        } else if (layer->kind == HC_LAYER_ADD) {
            for (int i = 0; i < count; i++)
                hc_real_add(y[i], s->value[layer->in][i], s->value[layer->skip][i]);
        } else {
            pool_or_linear(s, layer, y);
        }
    }
    cross_entropy(s, s->value[s->plan->layers]);
}

/* Takes over the plan and the present parameters of a net with that batch and number of classes,
   and a batch. The net and the labels outlive it. */
static void reference_net_open(struct hc_check *check, struct reference_net *s, struct hc_net *net,
                               const float *images, const int32_t *labels)
{
    *s = (struct reference_net){.plan = hc_net_plan(net), .labels = labels};
    s->mean = hc_real_new(0);
    s->variance = hc_real_new(0);
    s->term = hc_real_new(0);
    s->loss = hc_real_new(0);
    for (int v = 0; v <= s->plan->layers; v++)
        for (int i = 0; i < REFERENCE_NET_MAX; i++)
            s->value[v][i] =
                hc_real_new(v == 0 && i < REFERENCE_NET_PIXELS ? (double)images[i] : 0);
    for (int p = 0; p < s->plan->parameters; p++) {
        struct hc_tensor t = hc_parameter_tensor(hc_net_parameters(net)[p]);
        int64_t n = hc_tensor_count(&t);
        struct hc_tensor host =
            hc_tensor1(t.format, n, hc_check_memory(check, hc_tensor_bytes(&t)));
        s->parameter[p] = hc_check_memory(check, (size_t)n * sizeof(struct hc_real *));
        (void)hc_check_ok(check, hc_storage_read(hc_net_parameters(net)[p]->storage, host.data));
        for (int64_t i = 0; i < n; i++)
            s->parameter[p][i] = hc_real_new(hc_tensor_get(&host, i));
    }
}

static void reference_net_close(struct reference_net *s, struct hc_net *net)
{
    for (int v = 0; v <= s->plan->layers; v++)
        for (int i = 0; i < REFERENCE_NET_MAX; i++)
            hc_real_free(s->value[v][i]);
    for (int p = 0; p < s->plan->parameters; p++)
        for (int64_t i = 0; i < hc_parameter_count(hc_net_parameters(net)[p]); i++)
            hc_real_free(s->parameter[p][i]);
    hc_real_free(s->mean);
    hc_real_free(s->variance);
    hc_real_free(s->term);
    hc_real_free(s->loss);
}

/* A whole training step of a small network, in MPFR, in fp64 and
   under recipes. It shows whether fp64 is precise enough as a baseline: compare --drift measures
   against it.

   The gradient in MPFR is a central difference, (L(w + h) - L(w - h)) / 2h with h = 2^-64. It is
   off by h^2 / 6 of the third derivative, about 2^-130, and by 2^-256 / h of the loss. (The loss
   has kinks where a leaky ReLU's input is 0; none of them is within h.) */

static const struct hc_network network = {.name = "darknet-2",
                                          .side = REFERENCE_NET_SIDE,
                                          .channels = REFERENCE_NET_CHANNELS,
                                          .width = 2,
                                          .groups = 1,
                                          .blocks = {1},
                                          .strides = {2}};

/* The central difference in parameter i of tensor p. */
static double slope(struct reference_net *s, int p, int64_t i)
{
    struct hc_real *w = s->parameter[p][i];
    struct hc_real *kept = hc_real_new(0);
    struct hc_real *h = hc_real_new(0x1p-64);
    struct hc_real *up = hc_real_new(0);
    hc_real_copy(kept, w);
    hc_real_add(w, kept, h);
    reference_net_forward(s);
    hc_real_copy(up, s->loss);
    hc_real_sub(w, kept, h);
    reference_net_forward(s);
    hc_real_sub(up, up, s->loss);
    hc_real_add(h, h, h);
    hc_real_div(up, up, h);
    double result = hc_real_double(up);
    hc_real_copy(w, kept);
    hc_real_free(kept);
    hc_real_free(h);
    hc_real_free(up);
    return result;
}

/* One step under the recipe from the same weights. *error becomes |g - want| / |want| over all
   parameters, g unscaled. */
static enum hc_status gradient_error(struct hc_check *check, const char *recipe_name,
                                     const float *images, const int32_t *labels, const double *want,
                                     double *error)
{
    const struct hc_recipe *recipe = hc_recipe_by_name(recipe_name);
    struct hc_device device = hc_case_device(check);
    struct hc_net *net = NULL;
    struct hc_update *update = NULL;
    float loss;
    int right;
    double off = 0;
    double all = 0;
    enum hc_status status =
        hc_net_open(&net, &device, &network, REFERENCE_NET_CLASSES, REFERENCE_NET_BATCH, 1);
    if (status == HC_OK)
        status = hc_model_open(&update, &device, net, recipe);
    if (status == HC_OK) {
        struct hc_tensor scale = hc_update_scale(update);
        status = hc_net_train(net, images, labels, &scale, &loss, &right);
    }
    struct hc_counters counters = {.scale = 1};
    if (status == HC_OK)
        status = hc_update_counters(update, &counters);
    for (int p = 0; status == HC_OK && p < hc_net_plan(net)->parameters; p++)
        for (int64_t i = 0; i < hc_parameter_count(hc_net_parameters(net)[p]) && status == HC_OK;
             i++) {
            double g;
            status = hc_update_get(update, HC_STATE_GRADIENT, p, i, &g);
            g /= (double)counters.scale;
            off += (g - *want) * (g - *want);
            all += *want * *want;
            want++;
        }
    *error = sqrt(off / all);
    hc_update_close(update);
    hc_net_close(net);
    hc_device_end(&device);
    return status;
}

/* The gradient of all parameters by MPFR. */
static enum hc_status differences(struct hc_check *check, const float *images,
                                  const int32_t *labels, double **want)
{
    struct hc_device device = hc_case_device(check);
    struct hc_net *net = NULL;
    struct reference_net s;
    enum hc_status status =
        hc_net_open(&net, &device, &network, REFERENCE_NET_CLASSES, REFERENCE_NET_BATCH, 1);
    if (status == HC_OK) {
        int64_t n = hc_net_plan(net)->weights + hc_net_plan(net)->norm_weights;
        double *to = *want = hc_check_memory(check, (size_t)n * sizeof *to);
        reference_net_open(check, &s, net, images, labels);
        for (int p = 0; p < s.plan->parameters; p++)
            for (int64_t i = 0; i < hc_parameter_count(hc_net_parameters(net)[p]); i++)
                *to++ = slope(&s, p, i);
        reference_net_close(&s, net);
    }
    hc_net_close(net);
    hc_device_end(&device);
    return status;
}

/* Multiplies two numbers in fp64, so that backends without fp64 are left out here as elsewhere. */
static bool has_fp64(struct hc_check *check)
{
    struct hc_call product = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    struct hc_tensor *const tensors[] = {&product.in[HC_GEMM_A], &product.in[HC_GEMM_B],
                                         &product.out[HC_GEMM_OUT]};
    for (int i = 0; i < 3; i++)
        *tensors[i] = hc_tensor2(HC_FP64, 1, 1, hc_check_memory(check, sizeof(double)));
    return hc_do(check, &product) == HC_OK;
}

/* The scale is static, because 65536 overflows in so small a network for some seeds. u of fp64 is
   2^-29 of fp32's and the operations are the same, so the errors should be 2^-29 of each other.
   2^-20 leaves room for the signs of some hundred roundings to fall differently; a reference that
   is off by a millionth of what it measures changes no printed digit. */
static void reference(struct hc_check *check)
{
    static const char *const recipes[] = {"fp32", "fastai-004b", "amp-bf16"};
    float *images = hc_check_memory(check, sizeof(float) * REFERENCE_NET_PIXELS);
    int32_t *labels = hc_check_memory(check, sizeof(int32_t) * REFERENCE_NET_BATCH);
    double *want = NULL;
    double wide = 0;
    if (!has_fp64(check))
        return;
    for (int i = 0; i < REFERENCE_NET_PIXELS; i++)
        images[i] = (float)hc_random_normal(hc_check_seed(check), 0, (uint64_t)i);
    for (int i = 0; i < REFERENCE_NET_BATCH; i++)
        labels[i] = i;
    enum hc_status status = differences(check, images, labels, &want);
    if (status == HC_OK)
        status = gradient_error(check, "fp64", images, labels, want, &wide);
    hc_say(check, "|g - MPFR's| / |MPFR's| in fp64: %.3g", wide);
    for (int i = 0; i < 3 && status == HC_OK; i++) {
        double error = 0;
        status = gradient_error(check, recipes[i], images, labels, want, &error);
        if (status != HC_OK)
            break;
        hc_say(check, "under %s: %.3g, %.3g times as much", recipes[i], error, error / wide);
        hc_claim_within(check, recipes[i], 0, wide, 0x1p-20 * error);
        hc_claim_true(check, "the recipe's error is one of rounding", error > 0 && error < 1);
    }
    (void)hc_check_ok(check, status);
}

static const struct hc_case cases[] = {
    {"training/fp64-beside-mpfr",
     "a whole step in fp64 is less than a millionth as far from MPFR as one in fp32, half or bf16",
     "the definitions in src/op, and central differences: no backward pass in them",
     .run = reference},
};

HC_CASES(training_against_mpfr, cases);
