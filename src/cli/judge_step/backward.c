/* The backward pass: each layer from the gradient of its output, which the file holds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "cli/judge_step/passes.h"

static const char backward[] = "backward";

/* The real mean and invstd of each channel, and how far those of bn_train may lie from them; the
   given ones, rounded to fp64, lie 2^-53 of themselves away. */
static bool real_statistics(struct hc_step_court *court, int l, struct hc_step_statistics *s)
{
    struct hc_call call = hc_step_norm(court, l);
    int64_t n = call.out[HC_BN_SAVED_MEAN].shape[0];
    if (!call.in[HC_BN_X].data)
        return false;
    s->owned = malloc(4 * (size_t)n * sizeof *s->owned);
    if (!s->owned)
        return false;
    double *rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] = s->owned + i * n;
    if (call.in[HC_BN_X].format == HC_FP64)
        call.out[HC_BN_SAVED_MEAN].format = call.out[HC_BN_SAVED_INVSTD].format = HC_FP64;
#pragma omp parallel
    {
#pragma omp for
        for (int64_t k = 0; k < 2 * n; k++) {
            int out = k < n ? HC_BN_SAVED_MEAN : HC_BN_SAVED_INVSTD;
            struct hc_element e = {&call, out, k % n};
            struct hc_exact want = hc_reference_value(&call, out, k % n);
            s->owned[k] = want.hi;
            s->owned[k + 2 * n] =
                hc_bound_any_order(&e, &court->accumulator, &want) + 0x1p-53 * fabs(want.hi);
        }
        hc_reference_end();
    }
    s->mean = hc_tensor1(HC_FP64, n, rows[0]);
    s->invstd = hc_tensor1(HC_FP64, n, rows[1]);
    s->strayed = (struct hc_strayed){rows[2], rows[3]};
    return true;
}

bool hc_step_told_statistics(struct hc_step_court *court, int l, struct hc_step_statistics *s)
{
    char module[HC_TORCH_NAME];
    char name[HC_TORCH_NAME + 16];
    struct hc_step *step = court->step;
    struct hc_tensor like = hc_tensor1(HC_FP32, step->plan.layer[l].channels, NULL);
    *s = (struct hc_step_statistics){.told = true};
    hc_torch_module(&step->plan, l, module);
    (void)snprintf(name, sizeof name, "%s" HC_TORCH_NORM ".mean", module);
    s->mean = hc_step_tensor(step, "saved.", name, like);
    (void)snprintf(name, sizeof name, "%s" HC_TORCH_NORM ".invstd", module);
    s->invstd = hc_step_tensor(step, "saved.", name, like);
    return s->mean.data && s->invstd.data;
}

bool hc_step_statistics(struct hc_step_court *court, int l, struct hc_step_statistics *s)
{
    if (hc_step_told_statistics(court, l, s))
        return true;
    s->told = false;
    return real_statistics(court, l, s);
}

static void judge_norm(struct hc_step_court *court, int l)
{
    static const struct {
        int out;
        int parameter; /* or -1 */
        const char *what;
    } rows[] = {{HC_BN_BWD_DX, -1, "batch norm, leaky ReLU"},
                {HC_BN_BWD_DGAMMA, HC_CONV_GAMMA, "gradient of gamma"},
                {HC_BN_BWD_DBETA, HC_CONV_BETA, "gradient of beta"}};
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_tensor channels = hc_tensor1(HC_FP32, layer->channels, NULL);
    struct hc_tensor x = hc_step_convolved(step, l, "activations.");
    struct hc_step_statistics s;
    if (!hc_step_statistics(court, l, &s))
        s = (struct hc_step_statistics){.mean = channels, .invstd = channels, .told = true};
    struct hc_call call = {.op = HC_OP_bn_leaky_bwd,
                           .in = {[HC_BN_LEAKY_BWD_X] = x,
                                  [HC_BN_LEAKY_BWD_Y] = hc_step_activation(step, l + 1),
                                  [HC_BN_LEAKY_BWD_DY] = hc_step_activation_gradient(step, l + 1),
                                  [HC_BN_LEAKY_BWD_GAMMA] = hc_step_parameter(
                                      step, layer->parameter + HC_CONV_GAMMA, "weights."),
                                  [HC_BN_LEAKY_BWD_MEAN] = s.mean,
                                  [HC_BN_LEAKY_BWD_INVSTD] = s.invstd},
                           .out = {[HC_BN_BWD_DX] = hc_step_shape(step, l + 1),
                                   [HC_BN_BWD_DGAMMA] = channels,
                                   [HC_BN_BWD_DBETA] = channels},
                           .params.bn = hc_step_norm_params(step, x.format)};
    struct hc_tensor dy = call.in[HC_BN_LEAKY_BWD_DY];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && step->status == HC_OK; i++) {
        struct hc_step_claim claim = hc_step_claim(court, backward, rows[i].what, l);
        claim.call = call;
        claim.out = rows[i].out;
        claim.got =
            rows[i].parameter < 0
                ? hc_step_convolved(step, l, "activation_gradients.")
                : hc_step_parameter(step, layer->parameter + rows[i].parameter, "gradients.");
        claim.expected = hc_step_format(court, &dy, rows[i].parameter < 0 ? &claim.got : &dy);
        claim.strayed = s.told ? NULL : &s.strayed;
        claim.data = rows[i].parameter < 0 ? 1u << HC_BN_LEAKY_BWD_DY : 0;
        (void)hc_step_judge(court, &claim);
    }
    free(s.owned);
}

/* The layer that adds value v to something else, or -1. */
static int skip_of(const struct hc_plan *plan, int v)
{
    for (int l = 0; l < plan->layers; l++)
        if (plan->layer[l].kind == HC_LAYER_ADD && plan->layer[l].skip == v)
            return l;
    return -1;
}

static void judge_conv(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_tensor dy = hc_step_convolved(step, l, "activation_gradients.");
    struct hc_tensor x = hc_step_activation(step, layer->in);
    judge_norm(court, l);
    struct hc_step_claim filter = hc_step_claim(court, backward, "gradient of the filter", l);
    filter.got = hc_step_parameter(step, layer->parameter + HC_CONV_FILTER, "gradients.");
    filter.call = (struct hc_call){.op = HC_OP_conv2d_bwd_filter,
                                   .in = {[HC_CONV_BWD_FILTER_X] = x, [HC_CONV_BWD_FILTER_DY] = dy},
                                   .out = {[HC_CONV_BWD_FILTER_DW] = filter.got},
                                   .params.conv = {.stride = layer->stride, .pad = layer->pad}};
    filter.expected = dy.format;
    filter.data = 1u << HC_CONV_BWD_FILTER_X | 1u << HC_CONV_BWD_FILTER_DY;
    if (step->status == HC_OK)
        (void)hc_step_judge(court, &filter);
    if (layer->in == 0 || step->status != HC_OK)
        return;
    struct hc_step_claim data = hc_step_claim(court, backward, "gradient of the input", l);
    int add = skip_of(&step->plan, layer->in);
    if (add >= 0)
        data.addend = hc_step_activation_gradient(step, add + 1);
    data.got = hc_step_activation_gradient(step, layer->in);
    data.call = (struct hc_call){.op = HC_OP_conv2d_bwd_data,
                                 .in = {[HC_CONV_BWD_DATA_DY] = dy,
                                        [HC_CONV_BWD_DATA_W] = hc_step_parameter(
                                            step, layer->parameter + HC_CONV_FILTER, "weights.")},
                                 .out = {[HC_CONV_BWD_DATA_DX] = data.got},
                                 .params.conv = {.stride = layer->stride, .pad = layer->pad}};
    data.expected = hc_step_format(court, &dy, &data.got);
    data.data = 1u << HC_CONV_BWD_DATA_DY | 1u << HC_CONV_BWD_DATA_W;
    (void)hc_step_judge(court, &data);
}

/* What enters a sum has the gradient of the sum. */
static void judge_add(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    struct hc_step_claim claim = hc_step_claim(court, backward, "sum with the skip", l);
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    claim.got = hc_step_activation_gradient(step, step->plan.layer[l].in);
    claim.call =
        (struct hc_call){.op = HC_OP_cast, .in = {[HC_X] = dy}, .out = {[HC_OUT] = claim.got}};
    claim.expected = hc_step_format(court, &dy, &claim.got);
    (void)hc_step_judge(court, &claim);
}

static void judge_pool(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(court, backward, "average pooling", l);
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    claim.got = hc_step_activation_gradient(step, layer->in);
    claim.call = (struct hc_call){.op = HC_OP_avg_pool_bwd,
                                  .in = {[HC_POOL_BWD_DY] = dy},
                                  .out = {[HC_POOL_BWD_DX] = claim.got},
                                  .params.pool = {layer->kernel}};
    claim.expected = hc_step_format(court, &dy, &claim.got);
    claim.data = 1u << HC_POOL_BWD_DY;
    (void)hc_step_judge(court, &claim);
}

/* got = op(a) b */
static void judge_product(struct hc_step_court *court, struct hc_step_claim claim, bool transpose_a,
                          struct hc_tensor a, struct hc_tensor b, enum hc_format expected)
{
    claim.call = (struct hc_call){.op = HC_OP_gemm,
                                  .in = {[HC_GEMM_A] = a, [HC_GEMM_B] = b},
                                  .out = {[HC_GEMM_OUT] = claim.got},
                                  .params.gemm = {.transpose_a = transpose_a, .alpha = 1}};
    claim.expected = expected;
    claim.data = 1u << HC_GEMM_A | 1u << HC_GEMM_B;
    if (court->step->status == HC_OK)
        (void)hc_step_judge(court, &claim);
}

static struct hc_tensor matrix(struct hc_tensor t)
{
    return hc_tensor2(t.format, t.shape[0], t.shape[3], t.data);
}

static void judge_linear(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    struct hc_tensor x = matrix(hc_step_activation(step, layer->in));
    struct hc_tensor w = hc_step_parameter(step, layer->parameter, "weights.");
    struct hc_step_claim dw = hc_step_claim(court, backward, "gradient of the weight", l);
    dw.got = hc_step_parameter(step, layer->parameter, "gradients.");
    judge_product(court, dw, true, dy, x, dy.format);
    struct hc_step_claim db = hc_step_claim(court, backward, "gradient of the bias", l);
    db.got = hc_step_parameter(step, layer->parameter + 1, "gradients.");
    struct hc_tensor ones = hc_tensor2(HC_FP32, 1, step->images, NULL);
    ones.data = malloc(hc_tensor_bytes(&ones));
    for (int64_t i = 0; ones.data && i < step->images; i++)
        hc_tensor_set(&ones, i, 1);
    db.got = hc_tensor2(db.got.format, 1, db.got.shape[0], db.got.data);
    judge_product(court, db, false, ones, dy, dy.format);
    free(ones.data);
    struct hc_step_claim dx = hc_step_claim(court, backward, "gradient of the input", l);
    dx.got = matrix(hc_step_activation_gradient(step, layer->in));
    judge_product(court, dx, false, dy, w, hc_step_format(court, &dy, &dx.got));
}

static void judge_loss(struct hc_step_court *court)
{
    struct hc_step *step = court->step;
    struct hc_step_claim claim = {.stage = backward, .what = "cross-entropy", .where = "logits"};
    struct hc_tensor logits = hc_step_activation(step, step->plan.layers);
    double scale = hc_step_scalar(step, "scale", 1);
    float upstream = (float)scale;
    claim.got = hc_step_activation_gradient(step, step->plan.layers);
    claim.call = (struct hc_call){
        .op = HC_OP_xent_bwd,
        .in = {[HC_XENT_LOGITS] = logits,
               [HC_XENT_LABELS] = *hc_tensor_file_find(&step->file, "batch.labels"),
               [HC_XENT_UPSTREAM] = hc_tensor1(HC_FP32, 1, &upstream)},
        .out = {[HC_XENT_DLOGITS] = claim.got},
        .params.xent = {.sum = hc_step_says(step, "reduction", "sum")}};
    if (logits.format == HC_FP64)
        claim.call.in[HC_XENT_UPSTREAM] = hc_tensor1(HC_FP64, 1, &scale);
    claim.expected = hc_step_format(court, &logits, &claim.got);
    (void)hc_step_judge(court, &claim);
}

void hc_step_judge_backward(struct hc_step_court *court)
{
    static void (*const layers[])(struct hc_step_court * court,
                                  int l) = {[HC_LAYER_CONV] = judge_conv,
                                            [HC_LAYER_ADD] = judge_add,
                                            [HC_LAYER_POOL] = judge_pool,
                                            [HC_LAYER_LINEAR] = judge_linear};
    struct hc_step *step = court->step;
    judge_loss(court);
    for (int l = step->plan.layers - 1; l >= 0 && step->status == HC_OK; l--)
        layers[step->plan.layer[l].kind](court, l);
}
