/* A whole training step of a small network, in MPFR (cases/fixture/reference_net.h), in fp64 and
   under recipes. It shows whether fp64 is precise enough as a baseline: compare --drift measures
   against it.

   The gradient in MPFR is a central difference, (L(w + h) - L(w - h)) / 2h with h = 2^-64. It is
   off by h^2 / 6 of the third derivative, about 2^-130, and by 2^-256 / h of the loss. (The loss
   has kinks where a leaky ReLU's input is 0; none of them is within h.) */
#include <math.h>

#include "cases/fixture/reference_net.h"

static const struct hc_network network = {.name = "darknet-2",
                                          .side = HC_REFERENCE_NET_SIDE,
                                          .channels = HC_REFERENCE_NET_CHANNELS,
                                          .width = 2,
                                          .groups = 1,
                                          .blocks = {1},
                                          .strides = {2}};

/* The central difference in parameter i of tensor p. */
static double slope(struct hc_reference_net *s, int p, int64_t i)
{
    struct hc_real *w = s->parameter[p][i];
    struct hc_real *kept = hc_real_new(0);
    struct hc_real *h = hc_real_new(0x1p-64);
    struct hc_real *up = hc_real_new(0);
    hc_real_copy(kept, w);
    hc_real_add(w, kept, h);
    hc_reference_net_forward(s);
    hc_real_copy(up, s->loss);
    hc_real_sub(w, kept, h);
    hc_reference_net_forward(s);
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
        hc_net_open(&net, &device, &network, HC_REFERENCE_NET_CLASSES, HC_REFERENCE_NET_BATCH, 1);
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
    struct hc_reference_net s;
    enum hc_status status =
        hc_net_open(&net, &device, &network, HC_REFERENCE_NET_CLASSES, HC_REFERENCE_NET_BATCH, 1);
    if (status == HC_OK) {
        int64_t n = hc_net_plan(net)->weights + hc_net_plan(net)->norm_weights;
        double *to = *want = hc_check_memory(check, (size_t)n * sizeof *to);
        hc_reference_net_open(check, &s, net, images, labels);
        for (int p = 0; p < s.plan->parameters; p++)
            for (int64_t i = 0; i < hc_parameter_count(hc_net_parameters(net)[p]); i++)
                *to++ = slope(&s, p, i);
        hc_reference_net_close(&s, net);
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
    float *images = hc_check_memory(check, sizeof(float) * HC_REFERENCE_NET_PIXELS);
    int32_t *labels = hc_check_memory(check, sizeof(int32_t) * HC_REFERENCE_NET_BATCH);
    double *want = NULL;
    double wide = 0;
    if (!has_fp64(check))
        return;
    for (int i = 0; i < HC_REFERENCE_NET_PIXELS; i++)
        images[i] = (float)hc_random_normal(hc_check_seed(check), 0, (uint64_t)i);
    for (int i = 0; i < HC_REFERENCE_NET_BATCH; i++)
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
    {.name = "training/fp64-beside-mpfr",
     .title = "a whole step in fp64 is less than a millionth as far from MPFR as one in fp32, half "
              "or bf16",
     .source = "the definitions in src/op, and central differences: no backward pass in them",
     .run = reference},
};

HC_CASES(training_against_mpfr, cases);
