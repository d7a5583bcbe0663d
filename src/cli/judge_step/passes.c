/* The claims about the forward pass and the backward pass of a step, layer by layer. */
#include "cli/judge_step/passes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/bound/bound.h"

/* The forward pass: each layer from the values that entered it. */

/* Only those of the file; false if it has none. */
static bool statistics_in_file(struct hc_step_session *session, int l, struct hc_step_statistics *s)
{
    struct hc_step *step = session->step;
    struct hc_tensor like = hc_tensor1(HC_FP32, step->plan.layer[l].channels, NULL);
    *s = (struct hc_step_statistics){.in_file = true};
    s->mean = hc_step_inside(step, l, "saved.", HC_TORCH_NORM ".mean", like);
    s->invstd = hc_step_inside(step, l, "saved.", HC_TORCH_NORM ".invstd", like);
    return s->mean.data && s->invstd.data;
}

/* Batch norm's parameters, where x has this format.

   In fp64 others take 1e-5 and 0.1 as fp64's numbers, halfcheck as fp32's. In fp32 that is a
   fraction of the roundings. */
static struct hc_bn step_norm_params(const struct hc_step *step, enum hc_format x)
{
    return (struct hc_bn){.eps = HC_NORM_EPS,
                          .momentum = HC_NORM_MOMENTUM,
                          .slope = HC_LEAKY_SLOPE,
                          .as_given = x == HC_FP64 && !hc_step_is_own(step)};
}

static const char forward[] = "forward";

enum hc_format hc_step_format(const struct hc_tensor *in, const struct hc_tensor *out)
{
    if (!in->data || !out->data)
        return in->data ? in->format : out->format;
    return hc_step_narrower(in->format, out->format);
}

struct hc_step_claim hc_step_claim(const struct hc_step_session *session, const char *stage,
                                   const char *what, int l)
{
    const struct hc_plan *plan = &session->step->plan;
    struct hc_step_claim claim = {
        .stage = stage,
        .what = what,
        .quantised = hc_tensor_file_metadata(&session->step->file, "quant") != NULL &&
                     hc_plan_quantises(plan, l, 0)};
    hc_torch_module(plan, l, claim.where);
    return claim;
}

/* The forward pass of batch norm and leaky ReLU in layer l, with all outputs' shapes. */
static struct hc_call step_norm(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    int p = layer->parameter;
    int s = layer->statistic;
    struct hc_tensor channels = hc_tensor1(HC_FP32, layer->channels, NULL);
    struct hc_tensor x = hc_step_convolved(step, l, "activations.");
    return (struct hc_call){
        .op = HC_OP_bn_leaky_train,
        .in = {[HC_BN_X] = x,
               [HC_BN_GAMMA] = hc_step_parameter(step, p + HC_CONV_GAMMA, "weights."),
               [HC_BN_BETA] = hc_step_parameter(step, p + HC_CONV_BETA, "weights."),
               [HC_BN_MEAN] = hc_step_statistic(step, s + HC_CONV_MEAN, "buffers."),
               [HC_BN_VARIANCE] = hc_step_statistic(step, s + HC_CONV_VARIANCE, "buffers.")},
        .out = {[HC_BN_Y] = hc_step_shape(step, l + 1),
                [HC_BN_SAVED_MEAN] = channels,
                [HC_BN_SAVED_INVSTD] = channels,
                [HC_BN_NEW_MEAN] = channels,
                [HC_BN_NEW_VARIANCE] = channels},
        .params.bn = step_norm_params(step, x.format)};
}

/* The running variance of the biased variance differs by 1 / M of it, which in a long channel is
   less than what all its roundings may come to. But they do not come to just that in every channel:
   if all channels lie at the biased one, ten times nearer than at the right one, it is that. */
static void look_for_bias(const struct hc_step_claim *claim, struct hc_step_verdict *v)
{
    const struct hc_call *call = &claim->call;
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t channels = hc_tensor_count(&claim->got);
    double n = (double)hc_tensor_count(x) / (double)channels;
    double share = hc_bn_number(&call->params.bn, call->params.bn.momentum);
    if (v->judgement == HC_STEP_NOT_JUDGED || channels < 4 || n < 2)
        return;
    for (int64_t c = 0; c < channels; c++) {
        double right = hc_reference_value(call, HC_BN_NEW_VARIANCE, c).hi;
        double kept = (1 - share) * hc_tensor_get(&call->in[HC_BN_VARIANCE], c);
        double biased = kept + (right - kept) * (n - 1) / n;
        double got = hc_tensor_get(&claim->got, c);
        if (!(10 * fabs(got - biased) < fabs(got - right)))
            return;
    }
    v->judgement = HC_STEP_WRONG;
    (void)snprintf(v->note, sizeof v->note,
                   "it is made of the biased variance, over M and not over M - 1");
}

static void forward_norm(struct hc_step_session *session, int l)
{
    static const struct {
        int out;
        const char *what;
    } rows[] = {{HC_BN_SAVED_MEAN, "batch mean"},
                {HC_BN_SAVED_INVSTD, "batch 1 / deviation"},
                {HC_BN_Y, "batch norm, leaky ReLU"},
                {HC_BN_NEW_MEAN, "running mean"},
                {HC_BN_NEW_VARIANCE, "running variance"}};
    struct hc_step *step = session->step;
    int s = step->plan.layer[l].statistic;
    struct hc_call call = step_norm(session, l);
    struct hc_step_statistics saved;
    bool known = statistics_in_file(session, l, &saved);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && step->status == HC_OK; i++) {
        struct hc_step_claim claim = hc_step_claim(session, forward, rows[i].what, l);
        claim.call = call;
        claim.out = rows[i].out;
        if (rows[i].out == HC_BN_Y)
            claim.got = hc_step_activation(step, l + 1);
        else if (rows[i].out == HC_BN_NEW_MEAN)
            claim.got = hc_step_statistic(step, s + HC_CONV_MEAN, "after.buffers.");
        else if (rows[i].out == HC_BN_NEW_VARIANCE)
            claim.got = hc_step_statistic(step, s + HC_CONV_VARIANCE, "after.buffers.");
        else if (known)
            claim.got = rows[i].out == HC_BN_SAVED_MEAN ? saved.mean : saved.invstd;
        else
            continue;
        /* Statistics are computed in fp32, or fp64, whatever x is. */
        bool y = rows[i].out == HC_BN_Y;
        claim.expected = hc_step_format(&call.in[HC_BN_X], y ? &claim.got : &call.in[HC_BN_X]);
        claim.data = y ? 1u << HC_BN_X : 0;
        struct hc_step_verdict *v = hc_step_judge(session, &claim);
        if (v && rows[i].out == HC_BN_NEW_VARIANCE)
            look_for_bias(&claim, v);
    }
}

static void forward_conv(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(session, forward, "convolution", l);
    claim.got = hc_step_convolved(step, l, "activations.");
    claim.call = (struct hc_call){.op = HC_OP_conv2d,
                                  .in = {[HC_CONV_X] = hc_step_activation(step, layer->in),
                                         [HC_CONV_W] = hc_step_parameter(
                                             step, layer->parameter + HC_CONV_FILTER, "weights.")},
                                  .out = {[HC_CONV_Y] = hc_step_shape(step, l + 1)},
                                  .params.conv = {.stride = layer->stride, .pad = layer->pad}};
    claim.expected = hc_step_format(&claim.call.in[HC_CONV_X], &claim.got);
    claim.data = 1u << HC_CONV_X | 1u << HC_CONV_W;
    (void)hc_step_judge(session, &claim);
    if (step->status == HC_OK)
        forward_norm(session, l);
}

static void forward_add(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(session, forward, "sum with the skip", l);
    claim.got = hc_step_activation(step, l + 1);
    claim.call = (struct hc_call){.op = HC_OP_add,
                                  .in = {[HC_X] = hc_step_activation(step, layer->in),
                                         [HC_Y] = hc_step_activation(step, layer->skip)},
                                  .out = {[HC_OUT] = hc_step_shape(step, l + 1)}};
    claim.expected = hc_step_format(&claim.call.in[HC_X], &claim.got);
    claim.data = 1u << HC_X | 1u << HC_Y;
    (void)hc_step_judge(session, &claim);
}

static void forward_pool(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(session, forward, "average pooling", l);
    claim.got = hc_step_activation(step, l + 1);
    claim.call = (struct hc_call){.op = HC_OP_avg_pool,
                                  .in = {[HC_POOL_X] = hc_step_activation(step, layer->in)},
                                  .out = {[HC_POOL_Y] = hc_step_shape(step, l + 1)},
                                  .params.pool = {layer->kernel}};
    claim.expected = hc_step_format(&claim.call.in[HC_POOL_X], &claim.got);
    claim.data = 1u << HC_POOL_X;
    (void)hc_step_judge(session, &claim);
}

static void forward_linear(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(session, forward, "linear", l);
    struct hc_tensor x = hc_step_activation(step, layer->in);
    claim.got = hc_step_activation(step, l + 1);
    claim.call = (struct hc_call){
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = hc_tensor2(x.format, x.shape[0], x.shape[3], x.data),
               [HC_GEMM_B] = hc_step_parameter(step, layer->parameter, "weights."),
               [HC_GEMM_C] = hc_step_parameter(step, layer->parameter + 1, "weights.")},
        .out = {[HC_GEMM_OUT] = hc_step_shape(step, l + 1)},
        .params.gemm = {.transpose_b = true, .alpha = 1, .beta = 1}};
    claim.expected = hc_step_format(&x, &claim.got);
    claim.data = 1u << HC_GEMM_A | 1u << HC_GEMM_B | 1u << HC_GEMM_C;
    (void)hc_step_judge(session, &claim);
}

/* The loss is computed in fp32, or fp64, from the logits as they are. A recipe may hold it in a
   narrower format than the file does. */
static void forward_loss(struct hc_step_session *session)
{
    struct hc_step *step = session->step;
    struct hc_step_claim claim = {.stage = forward, .what = "cross-entropy", .where = "loss"};
    struct hc_tensor logits = hc_step_activation(step, step->plan.layers);
    const struct hc_recipe *recipe = hc_step_recipe(step);
    uint64_t held;
    claim.got = hc_step_tensor(step, "", "loss", hc_tensor1(HC_FP32, 1, NULL));
    if (recipe && claim.got.data &&
        hc_formats[recipe->loss].precision < hc_formats[claim.got.format].precision) {
        double loss = hc_tensor_get(&claim.got, 0);
        if (hc_round(recipe->loss, loss) == loss) {
            claim.got = hc_tensor1(recipe->loss, 1, &held);
            hc_tensor_set(&claim.got, 0, loss);
        }
    }
    claim.call =
        (struct hc_call){.op = HC_OP_xent,
                         .in = {[HC_XENT_LOGITS] = logits, [HC_XENT_LABELS] = hc_step_labels(step)},
                         .out = {[HC_XENT_LOSS] = claim.got, [HC_XENT_CORRECT] = {.rank = 0}},
                         .params.xent = {.sum = hc_step_metadata_is(step, "reduction", "sum")}};
    claim.expected = logits.format;
    (void)hc_step_judge(session, &claim);
}

/* A parameter that has a master is the master rounded. */
static void judge_copies(struct hc_step_session *session)
{
    struct hc_step *step = session->step;
    for (int p = 0; p < step->parameters && step->status == HC_OK; p++) {
        struct hc_step_claim claim = {.stage = "before", .what = "copy of the master"};
        struct hc_tensor master = hc_step_parameter(step, p, "masters.");
        claim.got = hc_step_parameter(step, p, "weights.");
        if (!master.data || !claim.got.data)
            continue;
        hc_step_name(step, p, claim.where);
        claim.call = (struct hc_call){
            .op = HC_OP_cast, .in = {[HC_X] = master}, .out = {[HC_OUT] = claim.got}};
        claim.expected = claim.got.format;
        (void)hc_step_judge(session, &claim);
    }
}

void hc_step_judge_forward(struct hc_step_session *session)
{
    static void (*const layers[])(struct hc_step_session * session,
                                  int l) = {[HC_LAYER_CONV] = forward_conv,
                                            [HC_LAYER_ADD] = forward_add,
                                            [HC_LAYER_POOL] = forward_pool,
                                            [HC_LAYER_LINEAR] = forward_linear,
                                            [HC_LAYER_EMBED] = hc_step_forward_embed,
                                            [HC_LAYER_PLACE] = hc_step_forward_place,
                                            [HC_LAYER_NORM] = hc_step_forward_norm,
                                            [HC_LAYER_CENTRED] = hc_step_forward_centred,
                                            [HC_LAYER_ATTENTION] = hc_step_forward_attention,
                                            [HC_LAYER_MATRIX] = hc_step_forward_matrix,
                                            [HC_LAYER_GATED] = hc_step_forward_gated,
                                            [HC_LAYER_GELU] = hc_step_forward_gelu,
                                            [HC_LAYER_HEAD] = hc_step_forward_matrix,
                                            [HC_LAYER_TIED_HEAD] = hc_step_forward_head};
    struct hc_step *step = session->step;
    judge_copies(session);
    for (int l = 0; l < step->plan.layers && step->status == HC_OK; l++)
        layers[step->plan.layer[l].kind](session, l);
    if (step->status == HC_OK && step->plan.network)
        forward_loss(session);
}

/* The backward pass: each layer from the gradient of its output, which the file holds. */

static const char backward[] = "backward";

/* The real mean and invstd of each channel, and how far those of bn_train may lie from them; the
   given ones, rounded to fp64, lie 2^-53 of themselves away. */
static bool real_statistics(struct hc_step_session *session, int l, struct hc_step_statistics *s)
{
    struct hc_call call = step_norm(session, l);
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
                hc_bound_any_order(&e, &session->accumulator, &want) + 0x1p-53 * fabs(want.hi);
        }
        hc_reference_end();
    }
    s->mean = hc_tensor1(HC_FP64, n, rows[0]);
    s->invstd = hc_tensor1(HC_FP64, n, rows[1]);
    s->strayed = (struct hc_strayed){rows[2], rows[3]};
    return true;
}

bool hc_step_statistics(struct hc_step_session *session, int l, struct hc_step_statistics *s)
{
    if (statistics_in_file(session, l, s))
        return true;
    s->in_file = false;
    return real_statistics(session, l, s);
}

static void backward_norm(struct hc_step_session *session, int l)
{
    static const struct {
        int out;
        int parameter; /* or -1 */
        const char *what;
    } rows[] = {{HC_BN_BWD_DX, -1, "batch norm, leaky ReLU"},
                {HC_BN_BWD_DGAMMA, HC_CONV_GAMMA, "gradient of gamma"},
                {HC_BN_BWD_DBETA, HC_CONV_BETA, "gradient of beta"}};
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_tensor channels = hc_tensor1(HC_FP32, layer->channels, NULL);
    struct hc_tensor x = hc_step_convolved(step, l, "activations.");
    struct hc_step_statistics s;
    if (!hc_step_statistics(session, l, &s))
        s = (struct hc_step_statistics){.mean = channels, .invstd = channels, .in_file = true};
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
                           .params.bn = step_norm_params(step, x.format)};
    struct hc_tensor dy = call.in[HC_BN_LEAKY_BWD_DY];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && step->status == HC_OK; i++) {
        struct hc_step_claim claim = hc_step_claim(session, backward, rows[i].what, l);
        claim.call = call;
        claim.out = rows[i].out;
        claim.got =
            rows[i].parameter < 0
                ? hc_step_convolved(step, l, "activation_gradients.")
                : hc_step_parameter(step, layer->parameter + rows[i].parameter, "gradients.");
        claim.expected = hc_step_format(&dy, rows[i].parameter < 0 ? &claim.got : &dy);
        claim.strayed = s.in_file ? NULL : &s.strayed;
        claim.data = rows[i].parameter < 0 ? 1u << HC_BN_LEAKY_BWD_DY : 0;
        (void)hc_step_judge(session, &claim);
    }
    free(s.owned);
}

int hc_step_skip_of(const struct hc_plan *plan, int v)
{
    for (int l = 0; l < plan->layers; l++)
        if (plan->layer[l].kind == HC_LAYER_ADD && plan->layer[l].skip == v)
            return l;
    return -1;
}

static void backward_conv(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_tensor dy = hc_step_convolved(step, l, "activation_gradients.");
    struct hc_tensor x = hc_step_activation(step, layer->in);
    backward_norm(session, l);
    struct hc_step_claim filter = hc_step_claim(session, backward, "gradient of the filter", l);
    filter.got = hc_step_parameter(step, layer->parameter + HC_CONV_FILTER, "gradients.");
    filter.call = (struct hc_call){.op = HC_OP_conv2d_bwd_filter,
                                   .in = {[HC_CONV_BWD_FILTER_X] = x, [HC_CONV_BWD_FILTER_DY] = dy},
                                   .out = {[HC_CONV_BWD_FILTER_DW] = filter.got},
                                   .params.conv = {.stride = layer->stride, .pad = layer->pad}};
    filter.expected = dy.format;
    filter.data = 1u << HC_CONV_BWD_FILTER_X | 1u << HC_CONV_BWD_FILTER_DY;
    if (step->status == HC_OK)
        (void)hc_step_judge(session, &filter);
    if (layer->in == 0 || step->status != HC_OK)
        return;
    struct hc_step_claim data = hc_step_claim(session, backward, "gradient of the input", l);
    int add = hc_step_skip_of(&step->plan, layer->in);
    if (add >= 0)
        data.addend = hc_step_activation_gradient(step, add + 1);
    data.got = hc_step_activation_gradient(step, layer->in);
    data.call = (struct hc_call){.op = HC_OP_conv2d_bwd_data,
                                 .in = {[HC_CONV_BWD_DATA_DY] = dy,
                                        [HC_CONV_BWD_DATA_W] = hc_step_parameter(
                                            step, layer->parameter + HC_CONV_FILTER, "weights.")},
                                 .out = {[HC_CONV_BWD_DATA_DX] = data.got},
                                 .params.conv = {.stride = layer->stride, .pad = layer->pad}};
    data.expected = hc_step_format(&dy, &data.got);
    data.data = 1u << HC_CONV_BWD_DATA_DY | 1u << HC_CONV_BWD_DATA_W;
    (void)hc_step_judge(session, &data);
}

/* What enters a sum has the gradient of the sum. */
static void backward_add(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    struct hc_step_claim claim = hc_step_claim(session, backward, "sum with the skip", l);
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    claim.got = hc_step_activation_gradient(step, step->plan.layer[l].in);
    claim.call =
        (struct hc_call){.op = HC_OP_cast, .in = {[HC_X] = dy}, .out = {[HC_OUT] = claim.got}};
    claim.expected = hc_step_format(&dy, &claim.got);
    (void)hc_step_judge(session, &claim);
}

static void backward_pool(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(session, backward, "average pooling", l);
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    claim.got = hc_step_activation_gradient(step, layer->in);
    claim.call = (struct hc_call){.op = HC_OP_avg_pool_bwd,
                                  .in = {[HC_POOL_BWD_DY] = dy},
                                  .out = {[HC_POOL_BWD_DX] = claim.got},
                                  .params.pool = {layer->kernel}};
    claim.expected = hc_step_format(&dy, &claim.got);
    claim.data = 1u << HC_POOL_BWD_DY;
    (void)hc_step_judge(session, &claim);
}

void hc_step_judge_product(struct hc_step_session *session, struct hc_step_claim claim,
                           bool transpose_a, struct hc_tensor a, bool transpose_b,
                           struct hc_tensor b, enum hc_format expected)
{
    claim.call = (struct hc_call){
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = a, [HC_GEMM_B] = b},
        .out = {[HC_GEMM_OUT] = claim.got},
        .params.gemm = {.transpose_a = transpose_a, .transpose_b = transpose_b, .alpha = 1}};
    claim.expected = expected;
    claim.data = 1u << HC_GEMM_A | 1u << HC_GEMM_B;
    if (session->step->status == HC_OK)
        (void)hc_step_judge(session, &claim);
}

static struct hc_tensor matrix(struct hc_tensor t)
{
    return hc_tensor2(t.format, t.shape[0], t.shape[3], t.data);
}

static void backward_linear(struct hc_step_session *session, int l)
{
    struct hc_step *step = session->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_tensor dy = hc_step_activation_gradient(step, l + 1);
    struct hc_tensor x = matrix(hc_step_activation(step, layer->in));
    struct hc_tensor w = hc_step_parameter(step, layer->parameter, "weights.");
    struct hc_step_claim dw = hc_step_claim(session, backward, "gradient of the weight", l);
    dw.got = hc_step_parameter(step, layer->parameter, "gradients.");
    hc_step_judge_product(session, dw, true, dy, false, x, dy.format);
    struct hc_step_claim db = hc_step_claim(session, backward, "gradient of the bias", l);
    db.got = hc_step_parameter(step, layer->parameter + 1, "gradients.");
    struct hc_tensor ones = hc_tensor2(HC_FP32, 1, step->images, NULL);
    ones.data = malloc(hc_tensor_bytes(&ones));
    for (int64_t i = 0; ones.data && i < step->images; i++)
        hc_tensor_set(&ones, i, 1);
    db.got = hc_tensor2(db.got.format, 1, db.got.shape[0], db.got.data);
    hc_step_judge_product(session, db, false, ones, false, dy, dy.format);
    free(ones.data);
    struct hc_step_claim dx = hc_step_claim(session, backward, "gradient of the input", l);
    dx.got = matrix(hc_step_activation_gradient(step, layer->in));
    hc_step_judge_product(session, dx, false, dy, false, w, hc_step_format(&dy, &dx.got));
}

static void backward_loss(struct hc_step_session *session)
{
    struct hc_step *step = session->step;
    struct hc_step_claim claim = {.stage = backward, .what = "cross-entropy", .where = "logits"};
    struct hc_tensor logits = hc_step_activation(step, step->plan.layers);
    double scale = hc_step_scalar(step, "scale", 1);
    float upstream = (float)scale;
    claim.got = hc_step_activation_gradient(step, step->plan.layers);
    claim.call =
        (struct hc_call){.op = HC_OP_xent_bwd,
                         .in = {[HC_XENT_LOGITS] = logits,
                                [HC_XENT_LABELS] = hc_step_labels(step),
                                [HC_XENT_UPSTREAM] = hc_tensor1(HC_FP32, 1, &upstream)},
                         .out = {[HC_XENT_DLOGITS] = claim.got},
                         .params.xent = {.sum = hc_step_metadata_is(step, "reduction", "sum")}};
    if (logits.format == HC_FP64)
        claim.call.in[HC_XENT_UPSTREAM] = hc_tensor1(HC_FP64, 1, &scale);
    claim.expected = hc_step_format(&logits, &claim.got);
    (void)hc_step_judge(session, &claim);
}

void hc_step_judge_backward(struct hc_step_session *session)
{
    static void (*const layers[])(struct hc_step_session * session,
                                  int l) = {[HC_LAYER_CONV] = backward_conv,
                                            [HC_LAYER_ADD] = backward_add,
                                            [HC_LAYER_POOL] = backward_pool,
                                            [HC_LAYER_LINEAR] = backward_linear,
                                            [HC_LAYER_EMBED] = hc_step_backward_embed,
                                            [HC_LAYER_PLACE] = hc_step_backward_place,
                                            [HC_LAYER_NORM] = hc_step_backward_norm,
                                            [HC_LAYER_CENTRED] = hc_step_backward_centred,
                                            [HC_LAYER_ATTENTION] = hc_step_backward_attention,
                                            [HC_LAYER_MATRIX] = hc_step_backward_matrix,
                                            [HC_LAYER_GATED] = hc_step_backward_gated,
                                            [HC_LAYER_GELU] = hc_step_backward_gelu,
                                            [HC_LAYER_HEAD] = hc_step_backward_matrix,
                                            [HC_LAYER_TIED_HEAD] = hc_step_backward_head};
    struct hc_step *step = session->step;
    if (step->plan.network)
        backward_loss(session);
    for (int l = step->plan.layers - 1; l >= 0 && step->status == HC_OK; l--)
        layers[step->plan.layer[l].kind](session, l);
}
