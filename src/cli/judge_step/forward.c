/* The forward pass: each layer from the values that entered it. */
#include <math.h>
#include <stdio.h>

#include "cli/judge_step/passes.h"

static const char forward[] = "forward";

enum hc_format hc_step_format(const struct hc_step_court *court, const struct hc_tensor *in,
                              const struct hc_tensor *out)
{
    (void)court;
    if (!in->data || !out->data)
        return in->data ? in->format : out->format;
    return hc_step_narrower(in->format, out->format);
}

struct hc_step_claim hc_step_claim(const struct hc_step_court *court, const char *stage,
                                   const char *what, int l)
{
    struct hc_step_claim claim = {.stage = stage, .what = what};
    hc_torch_module(&court->step->plan, l, claim.where);
    return claim;
}

struct hc_call hc_step_norm(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
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
        .params.bn = hc_step_norm_params(step, x.format)};
}

/* In fp64 others take 1e-5 and 0.1 as fp64's numbers, halfcheck as fp32's. In fp32 that is a
   fraction of the roundings. */
struct hc_bn hc_step_norm_params(const struct hc_step *step, enum hc_format x)
{
    return (struct hc_bn){.eps = HC_NORM_EPS,
                          .momentum = HC_NORM_MOMENTUM,
                          .slope = HC_LEAKY_SLOPE,
                          .as_given = x == HC_FP64 && !hc_step_is_own(step)};
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

static void judge_norm(struct hc_step_court *court, int l)
{
    static const struct {
        int out;
        const char *what;
    } rows[] = {{HC_BN_SAVED_MEAN, "batch mean"},
                {HC_BN_SAVED_INVSTD, "batch 1 / deviation"},
                {HC_BN_Y, "batch norm, leaky ReLU"},
                {HC_BN_NEW_MEAN, "running mean"},
                {HC_BN_NEW_VARIANCE, "running variance"}};
    struct hc_step *step = court->step;
    int s = step->plan.layer[l].statistic;
    struct hc_call call = hc_step_norm(court, l);
    struct hc_step_statistics told;
    bool known = hc_step_told_statistics(court, l, &told);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && step->status == HC_OK; i++) {
        struct hc_step_claim claim = hc_step_claim(court, forward, rows[i].what, l);
        claim.call = call;
        claim.out = rows[i].out;
        if (rows[i].out == HC_BN_Y)
            claim.got = hc_step_activation(step, l + 1);
        else if (rows[i].out == HC_BN_NEW_MEAN)
            claim.got = hc_step_statistic(step, s + HC_CONV_MEAN, "after.buffers.");
        else if (rows[i].out == HC_BN_NEW_VARIANCE)
            claim.got = hc_step_statistic(step, s + HC_CONV_VARIANCE, "after.buffers.");
        else if (known)
            claim.got = rows[i].out == HC_BN_SAVED_MEAN ? told.mean : told.invstd;
        else
            continue;
        /* Statistics are computed in fp32, or fp64, whatever x is. */
        bool y = rows[i].out == HC_BN_Y;
        claim.expected =
            hc_step_format(court, &call.in[HC_BN_X], y ? &claim.got : &call.in[HC_BN_X]);
        claim.data = y ? 1u << HC_BN_X : 0;
        struct hc_step_verdict *v = hc_step_judge(court, &claim);
        if (v && rows[i].out == HC_BN_NEW_VARIANCE)
            look_for_bias(&claim, v);
    }
}

static void judge_conv(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(court, forward, "convolution", l);
    claim.got = hc_step_convolved(step, l, "activations.");
    claim.call = (struct hc_call){.op = HC_OP_conv2d,
                                  .in = {[HC_CONV_X] = hc_step_activation(step, layer->in),
                                         [HC_CONV_W] = hc_step_parameter(
                                             step, layer->parameter + HC_CONV_FILTER, "weights.")},
                                  .out = {[HC_CONV_Y] = hc_step_shape(step, l + 1)},
                                  .params.conv = {.stride = layer->stride, .pad = layer->pad}};
    claim.expected = hc_step_format(court, &claim.call.in[HC_CONV_X], &claim.got);
    claim.data = 1u << HC_CONV_X | 1u << HC_CONV_W;
    (void)hc_step_judge(court, &claim);
    if (step->status == HC_OK)
        judge_norm(court, l);
}

static void judge_add(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(court, forward, "sum with the skip", l);
    claim.got = hc_step_activation(step, l + 1);
    claim.call = (struct hc_call){.op = HC_OP_add,
                                  .in = {[HC_X] = hc_step_activation(step, layer->in),
                                         [HC_Y] = hc_step_activation(step, layer->skip)},
                                  .out = {[HC_OUT] = hc_step_shape(step, l + 1)}};
    claim.expected = hc_step_format(court, &claim.call.in[HC_X], &claim.got);
    claim.data = 1u << HC_X | 1u << HC_Y;
    (void)hc_step_judge(court, &claim);
}

static void judge_pool(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(court, forward, "average pooling", l);
    claim.got = hc_step_activation(step, l + 1);
    claim.call = (struct hc_call){.op = HC_OP_avg_pool,
                                  .in = {[HC_POOL_X] = hc_step_activation(step, layer->in)},
                                  .out = {[HC_POOL_Y] = hc_step_shape(step, l + 1)},
                                  .params.pool = {layer->kernel}};
    claim.expected = hc_step_format(court, &claim.call.in[HC_POOL_X], &claim.got);
    claim.data = 1u << HC_POOL_X;
    (void)hc_step_judge(court, &claim);
}

static void judge_linear(struct hc_step_court *court, int l)
{
    struct hc_step *step = court->step;
    const struct hc_layer *layer = &step->plan.layer[l];
    struct hc_step_claim claim = hc_step_claim(court, forward, "linear", l);
    struct hc_tensor x = hc_step_activation(step, layer->in);
    claim.got = hc_step_activation(step, l + 1);
    claim.call = (struct hc_call){
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = hc_tensor2(x.format, x.shape[0], x.shape[3], x.data),
               [HC_GEMM_B] = hc_step_parameter(step, layer->parameter, "weights."),
               [HC_GEMM_C] = hc_step_parameter(step, layer->parameter + 1, "weights.")},
        .out = {[HC_GEMM_OUT] = hc_step_shape(step, l + 1)},
        .params.gemm = {.transpose_b = true, .alpha = 1, .beta = 1}};
    claim.expected = hc_step_format(court, &x, &claim.got);
    claim.data = 1u << HC_GEMM_A | 1u << HC_GEMM_B | 1u << HC_GEMM_C;
    (void)hc_step_judge(court, &claim);
}

/* The loss is computed in fp32, or fp64, from the logits as they are. A recipe may hold it in a
   narrower format than the file does. */
static void judge_loss(struct hc_step_court *court)
{
    struct hc_step *step = court->step;
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
    claim.call = (struct hc_call){
        .op = HC_OP_xent,
        .in = {[HC_XENT_LOGITS] = logits,
               [HC_XENT_LABELS] = *hc_tensor_file_find(&step->file, "batch.labels")},
        .out = {[HC_XENT_LOSS] = claim.got, [HC_XENT_CORRECT] = {.rank = 0}},
        .params.xent = {.sum = hc_step_says(step, "reduction", "sum")}};
    claim.expected = logits.format;
    (void)hc_step_judge(court, &claim);
}

/* A parameter that has a master is the master rounded. */
static void judge_copies(struct hc_step_court *court)
{
    struct hc_step *step = court->step;
    for (int p = 0; p < step->plan.parameters && step->status == HC_OK; p++) {
        struct hc_step_claim claim = {.stage = "before", .what = "copy of the master"};
        struct hc_tensor master = hc_step_parameter(step, p, "masters.");
        claim.got = hc_step_parameter(step, p, "weights.");
        if (!master.data || !claim.got.data)
            continue;
        hc_torch_parameter(&step->plan, p, claim.where);
        claim.call = (struct hc_call){
            .op = HC_OP_cast, .in = {[HC_X] = master}, .out = {[HC_OUT] = claim.got}};
        claim.expected = claim.got.format;
        (void)hc_step_judge(court, &claim);
    }
}

void hc_step_judge_forward(struct hc_step_court *court)
{
    static void (*const layers[])(struct hc_step_court * court,
                                  int l) = {[HC_LAYER_CONV] = judge_conv,
                                            [HC_LAYER_ADD] = judge_add,
                                            [HC_LAYER_POOL] = judge_pool,
                                            [HC_LAYER_LINEAR] = judge_linear};
    struct hc_step *step = court->step;
    judge_copies(court);
    for (int l = 0; l < step->plan.layers && step->status == HC_OK; l++)
        layers[step->plan.layer[l].kind](court, l);
    if (step->status == HC_OK)
        judge_loss(court);
}
