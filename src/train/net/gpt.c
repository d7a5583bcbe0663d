/* GPTs: their layers, how a matrix begins, and the passes of the layers that a Darknet has not, but
   for attention. A value is a matrix with a row for each byte of each text. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "op/defined.h"
#include "op/params.h"
#include "train/net/net_inner.h"

static const struct hc_gpt small = {
    .blocks = 4, .width = 128, .heads = 4, .length = 128, .hidden = 352, .tied = true, .epochs = 3};
static const struct hc_gpt tiny = {
    .blocks = 2, .width = 32, .heads = 2, .length = 16, .hidden = 88, .tied = true, .epochs = 8};
static const struct hc_gpt small2 = {.like_gpt2 = true,
                                     .blocks = 4,
                                     .width = 128,
                                     .heads = 4,
                                     .length = 128,
                                     .hidden = 512,
                                     .tied = true,
                                     .epochs = 3};
static const struct hc_gpt tiny2 = {.like_gpt2 = true,
                                    .blocks = 2,
                                    .width = 32,
                                    .heads = 2,
                                    .length = 16,
                                    .hidden = 128,
                                    .tied = true,
                                    .epochs = 8};

/* What those who train GPTs have in common, whatever their precision. */
#define TRAINS_WITH "beta2=0.95+weight_decay=0.1+decay_norm=false+clip=1"
const struct hc_network hc_gpt_small = {
    .name = "gpt", .trains_with = TRAINS_WITH, .gpt = &small, .side = 1};
const struct hc_network hc_gpt_tiny = {
    .name = "gpt-tiny", .trains_with = TRAINS_WITH, .gpt = &tiny, .side = 1};
const struct hc_network hc_gpt2_small = {
    .name = "gpt2", .trains_with = TRAINS_WITH, .gpt = &small2, .side = 1};
const struct hc_network hc_gpt2_tiny = {
    .name = "gpt2-tiny", .trains_with = TRAINS_WITH, .gpt = &tiny2, .side = 1};

enum { PARTS = 3 }; /* queries, keys, values */

static void append_branch_end(struct hc_plan *plan, int width, int skip, const char *name, int b,
                              const char *sum)
{
    hc_plan_append(plan, HC_LAYER_MATRIX, 0, 0, width, "%d.%s", b, name);
    hc_plan_append(plan, HC_LAYER_ADD, 0, 0, 0, "%d.%s", b, sum);
    plan->layer[plan->layers - 1].skip = skip;
}

void hc_gpt_plan(const struct hc_gpt *gpt, struct hc_plan *plan)
{
    int64_t length = gpt->length;
    enum hc_layer_kind norm = gpt->like_gpt2 ? HC_LAYER_CENTRED : HC_LAYER_NORM;
    enum hc_layer_kind mlp = gpt->like_gpt2 ? HC_LAYER_GELU : HC_LAYER_GATED;
    plan->classes = HC_BYTES;
    plan->places = gpt->length;
    hc_plan_append(plan, HC_LAYER_EMBED, 0, 0, gpt->width, "tok");
    if (gpt->like_gpt2)
        hc_plan_append(plan, HC_LAYER_PLACE, 0, 0, 0, "pos");
    for (int b = 0; b < gpt->blocks; b++) {
        int skip = plan->layers;
        hc_plan_append(plan, norm, 0, 0, 0, "%d.norm1", b);
        hc_plan_append(plan, HC_LAYER_ATTENTION, 0, 0, gpt->width, "%d.attention", b);
        plan->layer[plan->layers - 1].macs += 2 * length * length * gpt->width;
        plan->macs += 2 * length * length * gpt->width;
        append_branch_end(plan, gpt->width, skip, "proj", b, "sum1");
        skip = plan->layers;
        hc_plan_append(plan, norm, 0, 0, 0, "%d.norm2", b);
        hc_plan_append(plan, mlp, 0, 0, gpt->hidden, "%d.mlp", b);
        append_branch_end(plan, gpt->width, skip, "down", b, "sum2");
    }
    hc_plan_append(plan, norm, 0, 0, 0, "norm");
    hc_plan_append(plan, gpt->tied ? HC_LAYER_TIED_HEAD : HC_LAYER_HEAD, 0, 0, HC_BYTES, "head");
    if (gpt->tied) {
        plan->layer[plan->layers - 1].macs += length * HC_BYTES * gpt->width;
        plan->macs += length * HC_BYTES * gpt->width;
    }
}

static const double pi = 3.141592653589793;

static double unit_of(uint64_t bits)
{
    return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

/* Normal numbers by Box and Muller, of the stream 1000003 seed + index. */
enum hc_status hc_gpt_begin(const struct hc_gpt *gpt, bool ends_branch, uint64_t seed, int index,
                            struct hc_parameter *p)
{
    int64_t n = hc_parameter_count(p);
    uint64_t stream = 1000003 * seed + (uint64_t)index;
    double deviation = ends_branch ? 0.02 / sqrt(2.0 * gpt->blocks) : 0.02;
    float *values = malloc((size_t)n * sizeof *values);
    if (!values)
        return hc_fail(HC_NO_MEMORY, "no memory for %s", p->name);
    for (int64_t k = 0; k < n; k++) {
        double radius = sqrt(-2 * log(unit_of(hc_splitmix(stream, 2 * (uint64_t)k))));
        double turn = 2 * pi * unit_of(hc_splitmix(stream, 2 * (uint64_t)k + 1));
        values[k] = (float)(deviation * radius * cos(turn));
    }
    enum hc_status status = hc_storage_write(p->storage, values);
    free(values);
    return status;
}

static const struct hc_gpt *gpt_of(const struct hc_net *net)
{
    return net->plan.network->gpt;
}

int64_t hc_gpt_rows(const struct hc_net *net)
{
    return (int64_t)net->batch * gpt_of(net)->length;
}

/* What statistics are kept in. */
enum hc_format hc_gpt_wide(const struct hc_net *net)
{
    return net->numerics.format == HC_FP64 ? HC_FP64 : HC_FP32;
}

/* Element i of a row of d is turned by the angle position / 10000^(2 (i mod d/2) / d), whose cosine
   and sine are rounded once, from fp64. */
static enum hc_status make_angles(struct hc_net *net)
{
    const struct hc_gpt *gpt = gpt_of(net);
    struct hc_gpt_memory *m = net->gpt;
    int d = gpt->width / gpt->heads;
    int64_t n = (int64_t)gpt->length * d;
    enum hc_status status = HC_OK;
    hc_net_make(net, &status, &m->cosines, hc_gpt_wide(net), n);
    hc_net_make(net, &status, &m->sines, hc_gpt_wide(net), n);
    hc_net_make(net, &status, &m->negated, hc_gpt_wide(net), n);
    struct hc_storage *to[] = {m->cosines, m->sines, m->negated};
    struct hc_tensor table = hc_tensor1(hc_gpt_wide(net), n, NULL);
    table.data = malloc(hc_tensor_bytes(&table));
    if (status == HC_OK && !table.data)
        status = hc_fail(HC_NO_MEMORY, "no memory for %lld angles", (long long)n);
    for (int k = 0; k < 3 && status == HC_OK; k++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t position = i / d;
            int64_t pair = i % d % (d / 2);
            double angle = (double)position / pow(10000, 2.0 * (double)pair / d);
            hc_tensor_set(&table, i, k == 0 ? cos(angle) : k == 1 ? sin(angle) : -sin(angle));
        }
        status = hc_storage_write(to[k], table.data);
    }
    free(table.data);
    return status;
}

static enum hc_status make_places(struct hc_net *net)
{
    enum hc_status status = HC_OK;
    int64_t n = hc_gpt_rows(net);
    int32_t *place = malloc((size_t)n * sizeof *place);
    if (!place)
        return hc_fail(HC_NO_MEMORY, "no memory for %lld places", (long long)n);
    for (int64_t i = 0; i < n; i++)
        place[i] = (int32_t)(i % gpt_of(net)->length);
    hc_net_make(net, &status, &net->gpt->places, HC_I32, n);
    if (status == HC_OK)
        status = hc_storage_write(net->gpt->places, place);
    free(place);
    return status;
}

enum hc_status hc_gpt_prepare(struct hc_net *net)
{
    const struct hc_gpt *gpt = gpt_of(net);
    enum hc_format format = net->numerics.format;
    enum hc_status status = HC_OK;
    int64_t values = hc_gpt_rows(net) * gpt->width;
    int64_t hidden = hc_gpt_rows(net) * gpt->hidden;
    struct hc_gpt_memory *m = calloc(1, sizeof *m);
    net->gpt = m;
    if (!m)
        return hc_fail(HC_NO_MEMORY, "no memory for a GPT");
    for (int l = 0; l < net->plan.layers; l++) {
        struct hc_gpt_kept *kept = &m->kept[l];
        if (net->plan.layer[l].kind == HC_LAYER_ATTENTION) {
            hc_net_make(net, &status, &kept->parts, format, PARTS * values);
            hc_net_make(net, &status, &kept->o, format, values);
            hc_net_make(net, &status, &kept->lse, hc_gpt_wide(net), hc_gpt_rows(net) * gpt->heads);
        }
        if (net->plan.layer[l].kind == HC_LAYER_GATED)
            hc_net_make(net, &status, &kept->gate, format, hidden);
        if (net->plan.layer[l].kind == HC_LAYER_GATED || net->plan.layer[l].kind == HC_LAYER_GELU)
            hc_net_make(net, &status, &kept->up, format, hidden);
    }
    for (int w = 0; w < HC_GPT_WORK; w++)
        hc_net_make(net, &status, &m->work[w], format,
                    hidden > PARTS * values ? hidden : PARTS * values);
    if (gpt->tied)
        hc_net_make(net, &status, &m->share, net->gradient[0].format,
                    (int64_t)HC_BYTES * gpt->width);
    if (status != HC_OK)
        return status;
    return gpt->like_gpt2 ? make_places(net) : make_angles(net);
}

void hc_gpt_close(struct hc_gpt_memory *m)
{
    if (!m)
        return;
    for (int l = 0; l < HC_MAX_LAYERS; l++) {
        hc_storage_drop(m->kept[l].parts);
        hc_storage_drop(m->kept[l].o);
        hc_storage_drop(m->kept[l].lse);
        hc_storage_drop(m->kept[l].gate);
        hc_storage_drop(m->kept[l].up);
    }
    for (int w = 0; w < HC_GPT_WORK; w++)
        hc_storage_drop(m->work[w]);
    hc_storage_drop(m->cosines);
    hc_storage_drop(m->sines);
    hc_storage_drop(m->negated);
    hc_storage_drop(m->places);
    hc_storage_drop(m->share);
    free(m);
}

static struct hc_tensor weight_of(const struct hc_net *net, int l, int p)
{
    return hc_parameter_tensor(&net->parameter[net->plan.layer[l].parameter + p]);
}

static struct hc_tensor weight_gradient(const struct hc_net *net, int l, int p)
{
    return net->gradient[net->plan.layer[l].parameter + p];
}

/* Whoever looks on sees what lies inside a layer. */
enum hc_status hc_gpt_show(const struct hc_net *net, int l, const char *prefix, const char *suffix,
                           struct hc_tensor t)
{
    return net->inside ? net->inside(net->inside_context, l, prefix, suffix, &t) : HC_OK;
}

static const char activations[] = "activations.";
static const char saved[] = "saved.";
static const char activation_gradients[] = "activation_gradients.";
static const char shares[] = "shares.";

/* Bytes to rows of the embedding, and back. */

static enum hc_status embed_forward(struct hc_net *net, int l, bool training)
{
    struct hc_call call = {
        .op = HC_OP_embedding,
        .in = {[HC_EMBEDDING_W] = weight_of(net, l, 0), [HC_EMBEDDING_ID] = hc_net_value(net, 0)},
        .out = {[HC_EMBEDDING_Y] = hc_net_value(net, l + 1)}};
    (void)training;
    return hc_device_run(net->device, &call);
}

/* The head's share of the gradient is there already where the two are tied. */
static enum hc_status embed_backward(struct hc_net *net, int l)
{
    struct hc_tensor dw = weight_gradient(net, l, 0);
    struct hc_tensor share = dw;
    if (net->gpt->share)
        share.data = net->gpt->share->data;
    struct hc_call call = {.op = HC_OP_embedding_backward,
                           .in = {[HC_EMBEDDING_BWD_DY] = hc_net_value_gradient(net, l + 1),
                                  [HC_EMBEDDING_BWD_ID] = hc_net_value(net, 0)},
                           .out = {[HC_EMBEDDING_BWD_DW] = share}};
    struct hc_call add = {
        .op = HC_OP_add, .in = {[HC_X] = dw, [HC_Y] = share}, .out = {[HC_OUT] = dw}};
    hc_params_usual(call.op, &call.params);
    enum hc_status status = hc_device_run(net->device, &call);
    if (status == HC_OK && net->gpt->share)
        status = hc_gpt_show(net, l, shares, ".weight", share);
    return status == HC_OK && net->gpt->share ? hc_device_run(net->device, &add) : status;
}

/* A row for each place of a text, and back. */

static enum hc_status place_forward(struct hc_net *net, int l, bool training)
{
    struct hc_tensor y = hc_net_value(net, l + 1);
    struct hc_tensor row = hc_tensor2(y.format, y.shape[0], y.shape[1], net->gpt->work[0]->data);
    struct hc_call call = {.op = HC_OP_embedding,
                           .in = {[HC_EMBEDDING_W] = weight_of(net, l, 0),
                                  [HC_EMBEDDING_ID] = hc_storage_tensor(net->gpt->places)},
                           .out = {[HC_EMBEDDING_Y] = row}};
    struct hc_call add = {.op = HC_OP_add,
                          .in = {[HC_X] = hc_net_value(net, net->plan.layer[l].in), [HC_Y] = row},
                          .out = {[HC_OUT] = y}};
    (void)training;
    enum hc_status status = hc_device_run(net->device, &call);
    return status == HC_OK ? hc_device_run(net->device, &add) : status;
}

/* The input's gradient is the output's. */
static enum hc_status place_backward(struct hc_net *net, int l)
{
    struct hc_call call = {.op = HC_OP_embedding_backward,
                           .in = {[HC_EMBEDDING_BWD_DY] = hc_net_value_gradient(net, l + 1),
                                  [HC_EMBEDDING_BWD_ID] = hc_storage_tensor(net->gpt->places)},
                           .out = {[HC_EMBEDDING_BWD_DW] = weight_gradient(net, l, 0)}};
    hc_params_usual(call.op, &call.params);
    return hc_device_run(net->device, &call);
}

static enum hc_status norm_forward(struct hc_net *net, int l, bool training)
{
    const double eps = HC_NORM_EPS;
    struct hc_call call = {.op = HC_OP_rms_norm_kept,
                           .in = {[HC_RMS_X] = hc_net_value(net, net->plan.layer[l].in),
                                  [HC_RMS_W] = weight_of(net, l, 0)},
                           .out = {[HC_RMS_Y] = hc_net_value(net, l + 1),
                                   [HC_RMS_RSTD] = hc_storage_tensor(net->kept[l].invstd)}};
    (void)training;
    hc_params_usual(call.op, &call.params);
    memcpy(call.params.later, &eps, sizeof eps);
    enum hc_status status = hc_device_run(net->device, &call);
    return status == HC_OK ? hc_gpt_show(net, l, saved, ".rstd", call.out[HC_RMS_RSTD]) : status;
}

static enum hc_status norm_backward(struct hc_net *net, int l)
{
    struct hc_call call = {.op = HC_OP_rms_norm_backward,
                           .in = {[HC_RMS_BWD_DY] = hc_net_value_gradient(net, l + 1),
                                  [HC_RMS_BWD_X] = hc_net_value(net, net->plan.layer[l].in),
                                  [HC_RMS_BWD_W] = weight_of(net, l, 0),
                                  [HC_RMS_BWD_RSTD] = hc_storage_tensor(net->kept[l].invstd)},
                           .out = {[HC_RMS_BWD_DX] = hc_net_share_of(net, l),
                                   [HC_RMS_BWD_DW] = weight_gradient(net, l, 0)}};
    enum hc_status status = hc_device_run(net->device, &call);
    return status == HC_OK ? hc_net_add_share(net, l) : status;
}

static enum hc_status centred_forward(struct hc_net *net, int l, bool training)
{
    const double eps = HC_NORM_EPS;
    struct hc_call call = {.op = HC_OP_layer_norm_kept,
                           .in = {[HC_LN_X] = hc_net_value(net, net->plan.layer[l].in),
                                  [HC_LN_W] = weight_of(net, l, HC_CENTRED_WEIGHT),
                                  [HC_LN_B] = weight_of(net, l, HC_CENTRED_BIAS)},
                           .out = {[HC_LN_Y] = hc_net_value(net, l + 1),
                                   [HC_LN_MU] = hc_storage_tensor(net->kept[l].mean),
                                   [HC_LN_RSTD] = hc_storage_tensor(net->kept[l].invstd)}};
    (void)training;
    hc_params_usual(call.op, &call.params);
    memcpy(call.params.later, &eps, sizeof eps);
    enum hc_status status = hc_device_run(net->device, &call);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, saved, ".mean", call.out[HC_LN_MU]);
    return status == HC_OK ? hc_gpt_show(net, l, saved, ".rstd", call.out[HC_LN_RSTD]) : status;
}

static enum hc_status centred_backward(struct hc_net *net, int l)
{
    struct hc_call call = {.op = HC_OP_layer_norm_backward,
                           .in = {[HC_LN_BWD_DY] = hc_net_value_gradient(net, l + 1),
                                  [HC_LN_BWD_X] = hc_net_value(net, net->plan.layer[l].in),
                                  [HC_LN_BWD_W] = weight_of(net, l, HC_CENTRED_WEIGHT),
                                  [HC_LN_BWD_MU] = hc_storage_tensor(net->kept[l].mean),
                                  [HC_LN_BWD_RSTD] = hc_storage_tensor(net->kept[l].invstd)},
                           .out = {[HC_LN_BWD_DX] = hc_net_share_of(net, l),
                                   [HC_LN_BWD_DW] = weight_gradient(net, l, HC_CENTRED_WEIGHT),
                                   [HC_LN_BWD_DB] = weight_gradient(net, l, HC_CENTRED_BIAS)}};
    enum hc_status status = hc_device_run(net->device, &call);
    return status == HC_OK ? hc_net_add_share(net, l) : status;
}

/* The products of a layer's matrix p, which some recipes take below half. */

/* out = x w' */
enum hc_status hc_gpt_multiply(struct hc_net *net, int l, int p, struct hc_tensor out)
{
    struct hc_tensor x = hc_net_value(net, net->plan.layer[l].in);
    int quant = hc_net_quant_of(net, l);
    return quant >= 0 ? hc_quant_forward(net->quant, quant + p, x,
                                         hc_net_filter(net, net->plan.layer[l].parameter + p), out)
                      : hc_net_multiply(net, false, x, true, weight_of(net, l, p), out);
}

/* dw = dy' x, dx = dy w */
enum hc_status hc_gpt_multiply_back(struct hc_net *net, int l, int p, struct hc_tensor dy,
                                    struct hc_tensor dx)
{
    struct hc_tensor x = hc_net_value(net, net->plan.layer[l].in);
    struct hc_tensor dw = weight_gradient(net, l, p);
    int quant = hc_net_quant_of(net, l);
    enum hc_status status = quant >= 0 ? hc_quant_to_filter(net->quant, quant + p, x, dy, dw)
                                       : hc_net_multiply(net, true, dy, false, x, dw);
    if (status != HC_OK)
        return status;
    return quant >= 0 ? hc_quant_to_input(net->quant, quant + p, dy,
                                          hc_net_filter(net, net->plan.layer[l].parameter + p), dx)
                      : hc_net_multiply(net, false, dy, false, weight_of(net, l, p), dx);
}

static enum hc_status matrix_forward(struct hc_net *net, int l, bool training)
{
    (void)training;
    return hc_gpt_multiply(net, l, 0, hc_net_value(net, l + 1));
}

static enum hc_status matrix_backward(struct hc_net *net, int l)
{
    enum hc_status status =
        hc_gpt_multiply_back(net, l, 0, hc_net_value_gradient(net, l + 1), hc_net_share_of(net, l));
    return status == HC_OK ? hc_net_add_share(net, l) : status;
}

/* Parameter 0 is the embedding's. */
static enum hc_status tied_head_forward(struct hc_net *net, int l, bool training)
{
    (void)training;
    return hc_net_multiply(net, false, hc_net_value(net, net->plan.layer[l].in), true,
                           hc_parameter_tensor(&net->parameter[0]), hc_net_value(net, l + 1));
}

static enum hc_status tied_head_backward(struct hc_net *net, int l)
{
    struct hc_tensor dy = hc_net_value_gradient(net, l + 1);
    enum hc_status status = hc_net_multiply(
        net, true, dy, false, hc_net_value(net, net->plan.layer[l].in), net->gradient[0]);
    if (status == HC_OK)
        status = hc_net_multiply(net, false, dy, false, hc_parameter_tensor(&net->parameter[0]),
                                 hc_net_share_of(net, l));
    if (status == HC_OK)
        status = hc_gpt_show(net, l, shares, ".weight", net->gradient[0]);
    return status == HC_OK ? hc_net_add_share(net, l) : status;
}

/* Gate and up of a value, and their product. */

static struct hc_tensor hidden_in(const struct hc_net *net, const struct hc_storage *storage)
{
    return hc_tensor2(net->numerics.format, hc_gpt_rows(net), gpt_of(net)->hidden, storage->data);
}

/* All elements of a matrix in a row, as ops take them whose elements stand alone. */
static struct hc_tensor flat(struct hc_tensor t)
{
    return hc_tensor1(t.format, hc_tensor_count(&t), t.data);
}

static enum hc_status gated_forward(struct hc_net *net, int l, bool training)
{
    const struct hc_gpt_kept *kept = &net->gpt->kept[l];
    struct hc_tensor gate = hidden_in(net, kept->gate);
    struct hc_tensor up = hidden_in(net, kept->up);
    struct hc_call call = {.op = HC_OP_swiglu,
                           .in = {[HC_SWIGLU_GATE] = gate, [HC_SWIGLU_UP] = up},
                           .out = {[HC_SWIGLU_Y] = hc_net_value(net, l + 1)}};
    (void)training;
    enum hc_status status = hc_gpt_multiply(net, l, HC_GATED_GATE, gate);
    if (status == HC_OK)
        status = hc_gpt_multiply(net, l, HC_GATED_UP, up);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activations, ".gate", gate);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activations, ".up", up);
    return status == HC_OK ? hc_device_run(net->device, &call) : status;
}

/* The two shares of the input's gradient are added as a framework adds them: each is rounded. */
static enum hc_status gated_backward(struct hc_net *net, int l)
{
    const struct hc_gpt_memory *m = net->gpt;
    assert(!net->adds[l]);
    struct hc_tensor dgate = hidden_in(net, m->work[0]);
    struct hc_tensor dup = hidden_in(net, m->work[1]);
    struct hc_tensor dx = hc_net_share_of(net, l);
    struct hc_call call = {.op = HC_OP_swiglu_backward,
                           .in = {[HC_SWIGLU_BWD_GATE] = hidden_in(net, m->kept[l].gate),
                                  [HC_SWIGLU_BWD_UP] = hidden_in(net, m->kept[l].up),
                                  [HC_SWIGLU_BWD_DY] = hc_net_value_gradient(net, l + 1)},
                           .out = {[HC_SWIGLU_BWD_DGATE] = dgate, [HC_SWIGLU_BWD_DUP] = dup}};
    enum hc_status status = hc_device_run(net->device, &call);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activation_gradients, ".gate", dgate);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activation_gradients, ".up", dup);
    if (status == HC_OK)
        status = hc_gpt_multiply_back(net, l, HC_GATED_GATE, dgate, dx);
    struct hc_tensor share = hc_tensor2(dx.format, dx.shape[0], dx.shape[1], m->work[0]->data);
    struct hc_call add = {
        .op = HC_OP_add, .in = {[HC_X] = dx, [HC_Y] = share}, .out = {[HC_OUT] = dx}};
    if (status == HC_OK)
        status = hc_gpt_multiply_back(net, l, HC_GATED_UP, dup, share);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, shares, ".gate", dx);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, shares, ".up", share);
    return status == HC_OK ? hc_device_run(net->device, &add) : status;
}

/* A matrix and gelu. */

static enum hc_status gelu_forward(struct hc_net *net, int l, bool training)
{
    struct hc_tensor up = hidden_in(net, net->gpt->kept[l].up);
    struct hc_call call = {.op = HC_OP_gelu_tanh,
                           .in = {[HC_GELU_X] = flat(up)},
                           .out = {[HC_GELU_Y] = flat(hc_net_value(net, l + 1))}};
    (void)training;
    enum hc_status status = hc_gpt_multiply(net, l, 0, up);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activations, ".up", up);
    return status == HC_OK ? hc_device_run(net->device, &call) : status;
}

static enum hc_status gelu_backward(struct hc_net *net, int l)
{
    struct hc_tensor dup = hidden_in(net, net->gpt->work[0]);
    struct hc_call call = {.op = HC_OP_gelu_tanh_backward,
                           .in = {[HC_GELU_BWD_DY] = flat(hc_net_value_gradient(net, l + 1)),
                                  [HC_GELU_BWD_X] = flat(hidden_in(net, net->gpt->kept[l].up))},
                           .out = {[HC_GELU_BWD_DX] = flat(dup)}};
    enum hc_status status = hc_device_run(net->device, &call);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activation_gradients, ".up", dup);
    if (status == HC_OK)
        status = hc_gpt_multiply_back(net, l, 0, dup, hc_net_share_of(net, l));
    return status == HC_OK ? hc_net_add_share(net, l) : status;
}

const struct hc_layer_pass hc_embed_pass = {embed_forward, embed_backward};
const struct hc_layer_pass hc_place_pass = {place_forward, place_backward};
const struct hc_layer_pass hc_centred_pass = {centred_forward, centred_backward};
const struct hc_layer_pass hc_gelu_pass = {gelu_forward, gelu_backward};
const struct hc_layer_pass hc_norm_pass = {norm_forward, norm_backward};
const struct hc_layer_pass hc_matrix_pass = {matrix_forward, matrix_backward};
const struct hc_layer_pass hc_gated_pass = {gated_forward, gated_backward};
const struct hc_layer_pass hc_tied_head_pass = {tied_head_forward, tied_head_backward};
