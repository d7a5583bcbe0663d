#include "train/net/net.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "train/net/net_inner.h"

const struct hc_network hc_darknet16 = {.name = "darknet16",
                                        .side = 32,
                                        .channels = 3,
                                        .width = 16,
                                        .groups = 5,
                                        .blocks = {1, 2, 2, 2, 2},
                                        .strides = {2, 1, 2, 2, 2}};

const struct hc_network hc_darknet_tiny = {.name = "darknet-tiny",
                                           .side = 32,
                                           .channels = 3,
                                           .width = 4,
                                           .groups = 3,
                                           .blocks = {1, 1, 1},
                                           .strides = {2, 2, 2}};

/* How a tensor of a layer begins. */
enum start {
    START_ZERO,
    START_ONE,
    START_UNIFORM, /* in +- 1 / sqrt(fan in) */
    START_NORMAL,  /* of a GPT */
    START_BRANCH   /* the same, where a branch ends */
};

/* What an extent of a layer's tensor is. */
enum extent {
    RANK_ENDS,
    OUT,      /* channels of the output */
    THRICE,   /* three times as many */
    IN,       /* channels of the input */
    KERNEL,   /* of a convolution */
    ALPHABET, /* bytes, which are told apart */
    PLACES    /* of a text */
};

/* A tensor that a layer has of its own. */
struct tensor_row {
    const char *name;
    enum hc_role role;
    enum start start;
    enum extent extent[HC_MAX_RANK];
};

/* The kinds of layers, as far as their memory goes: net_pass.c has what they compute. */
static const struct {
    int parameters;
    int statistics;
    struct tensor_row parameter[HC_CONV_PARAMETERS];
    struct tensor_row statistic[HC_CONV_STATISTICS];
} kinds[] = {
    [HC_LAYER_CONV] =
        {HC_CONV_PARAMETERS,
         HC_CONV_STATISTICS,
         {[HC_CONV_FILTER] = {"filter", HC_ROLE_WEIGHT, START_UNIFORM, {OUT, KERNEL, KERNEL, IN}},
          [HC_CONV_GAMMA] = {"gamma", HC_ROLE_NORM, START_ONE, {OUT}},
          [HC_CONV_BETA] = {"beta", HC_ROLE_NORM, START_ZERO, {OUT}}},
         {[HC_CONV_MEAN] = {"mean", HC_ROLE_STATISTIC, START_ZERO, {OUT}},
          [HC_CONV_VARIANCE] = {"variance", HC_ROLE_STATISTIC, START_ONE, {OUT}}}},
    [HC_LAYER_LINEAR] = {HC_LINEAR_PARAMETERS,
                         0,
                         {[HC_LINEAR_WEIGHT] = {"weight", HC_ROLE_WEIGHT, START_UNIFORM, {OUT, IN}},
                          [HC_LINEAR_BIAS] = {"bias", HC_ROLE_BIAS, START_UNIFORM, {OUT}}},
                         {{0}}},
    [HC_LAYER_EMBED] = {1, 0, {{"weight", HC_ROLE_WEIGHT, START_NORMAL, {ALPHABET, OUT}}}, {{0}}},
    [HC_LAYER_PLACE] = {1, 0, {{"weight", HC_ROLE_WEIGHT, START_NORMAL, {PLACES, OUT}}}, {{0}}},
    [HC_LAYER_NORM] = {1, 0, {{"weight", HC_ROLE_NORM, START_ONE, {OUT}}}, {{0}}},
    [HC_LAYER_CENTRED] = {HC_CENTRED_PARAMETERS,
                          0,
                          {[HC_CENTRED_WEIGHT] = {"weight", HC_ROLE_NORM, START_ONE, {OUT}},
                           [HC_CENTRED_BIAS] = {"bias", HC_ROLE_NORM, START_ZERO, {OUT}}},
                          {{0}}},
    [HC_LAYER_ATTENTION] = {1, 0, {{"qkv", HC_ROLE_WEIGHT, START_NORMAL, {THRICE, IN}}}, {{0}}},
    [HC_LAYER_MATRIX] = {1, 0, {{"weight", HC_ROLE_WEIGHT, START_BRANCH, {OUT, IN}}}, {{0}}},
    [HC_LAYER_GATED] = {HC_GATED_PARAMETERS,
                        0,
                        {[HC_GATED_GATE] = {"gate", HC_ROLE_WEIGHT, START_NORMAL, {OUT, IN}},
                         [HC_GATED_UP] = {"up", HC_ROLE_WEIGHT, START_NORMAL, {OUT, IN}}},
                        {{0}}},
    [HC_LAYER_GELU] = {1, 0, {{"up", HC_ROLE_WEIGHT, START_NORMAL, {OUT, IN}}}, {{0}}},
    [HC_LAYER_HEAD] = {1, 0, {{"weight", HC_ROLE_WEIGHT, START_NORMAL, {OUT, IN}}}, {{0}}},
    [HC_LAYER_TIED_HEAD] = {0},
};

/* The channels of a layer's input. */
static int channels_before(const struct hc_plan *plan, const struct hc_layer *layer)
{
    return layer->in == 0 ? plan->network->channels : plan->layer[layer->in - 1].channels;
}

static struct hc_tensor tensor_of(const struct hc_plan *plan, const struct hc_layer *layer,
                                  const struct tensor_row *row)
{
    const int64_t extents[] = {[OUT] = layer->channels,
                               [THRICE] = 3 * (int64_t)layer->channels,
                               [IN] = channels_before(plan, layer),
                               [KERNEL] = layer->kernel,
                               [ALPHABET] = HC_BYTES,
                               [PLACES] = plan->places};
    struct hc_tensor t = {.format = HC_FP32};
    while (t.rank < HC_MAX_RANK && row->extent[t.rank] != RANK_ENDS) {
        t.shape[t.rank] = extents[row->extent[t.rank]];
        t.rank++;
    }
    return t;
}

const struct hc_layer *hc_plan_layer_of(const struct hc_plan *plan, int p)
{
    int l = 0;
    assert(p >= 0 && p < plan->parameters);
    while (p < plan->layer[l].parameter ||
           p >= plan->layer[l].parameter + plan->layer[l].parameters)
        l++;
    return &plan->layer[l];
}

struct hc_tensor hc_plan_parameter(const struct hc_plan *plan, int p)
{
    const struct hc_layer *layer = hc_plan_layer_of(plan, p);
    return tensor_of(plan, layer, &kinds[layer->kind].parameter[p - layer->parameter]);
}

void hc_plan_append(struct hc_plan *plan, enum hc_layer_kind kind, int kernel, int stride,
                    int channels, const char *name, ...)
{
    assert(plan->layers < HC_MAX_LAYERS);
    int in = plan->layers;
    int side = in == 0 ? plan->network->side : plan->layer[in - 1].side;
    struct hc_layer *layer = &plan->layer[plan->layers++];
    *layer = (struct hc_layer){.kind = kind,
                               .in = in,
                               .skip = -1,
                               .kernel = kernel,
                               .stride = stride,
                               .parameter = kinds[kind].parameters ? plan->parameters : -1,
                               .parameters = kinds[kind].parameters,
                               .statistic = kinds[kind].statistics ? plan->statistics : -1};
    layer->channels = channels ? channels : channels_before(plan, layer);
    layer->pad = kind == HC_LAYER_CONV ? kernel / 2 : 0;
    layer->side = kind == HC_LAYER_CONV  ? (side + 2 * layer->pad - kernel) / stride + 1
                  : kind == HC_LAYER_ADD ? side
                                         : 1;
    plan->parameters += kinds[kind].parameters;
    plan->statistics += kinds[kind].statistics;
    for (int p = 0; p < kinds[kind].parameters; p++) {
        const struct tensor_row *row = &kinds[kind].parameter[p];
        struct hc_tensor t = tensor_of(plan, layer, row);
        int64_t n = hc_tensor_count(&t);
        layer->role[p] = row->role;
        layer->elements[p] = n;
        bool multiplies =
            row->extent[1] != RANK_ENDS && row->extent[0] != ALPHABET && row->extent[0] != PLACES;
        layer->macs += multiplies ? n * layer->side * layer->side * plan->places : 0;
        *(row->role == HC_ROLE_NORM ? &plan->norm_weights : &plan->weights) += n;
    }
    plan->macs += layer->macs;
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(layer->name, sizeof layer->name, name, arguments);
    va_end(arguments);
}

void hc_plan_make(const struct hc_network *network, int classes, struct hc_plan *plan)
{
    int channels = network->width;
    memset(plan, 0, sizeof *plan);
    plan->network = network;
    plan->classes = classes;
    plan->places = 1;
    if (network->gpt) {
        hc_gpt_plan(network->gpt, plan);
        return;
    }
    hc_plan_append(plan, HC_LAYER_CONV, 3, 1, channels, "stem");
    for (int g = 0; g < network->groups; g++) {
        channels *= 2;
        hc_plan_append(plan, HC_LAYER_CONV, 3, network->strides[g], channels, "g%d", g);
        for (int b = 0; b < network->blocks[g]; b++) {
            int skip = plan->layers;
            hc_plan_append(plan, HC_LAYER_CONV, 1, 1, channels / 2, "g%d.%da", g, b);
            hc_plan_append(plan, HC_LAYER_CONV, 3, 1, channels, "g%d.%db", g, b);
            hc_plan_append(plan, HC_LAYER_ADD, 0, 0, 0, "g%d.%d", g, b);
            plan->layer[plan->layers - 1].skip = skip;
        }
    }
    hc_plan_append(plan, HC_LAYER_POOL, plan->layer[plan->layers - 1].side, 0, 0, "pool");
    hc_plan_append(plan, HC_LAYER_LINEAR, 0, 0, classes, "linear");
}

enum { INIT_STREAM = 0x494e4954 }; /* in the upper half of a stream's number; the parameter below */

/* A tensor begins as its row says; what is drawn is a function of the seed and its index. */
static enum hc_status begin_tensor(struct hc_parameter *p, const struct tensor_row *row,
                                   const struct hc_gpt *gpt, int64_t fan_in, uint64_t seed,
                                   int index)
{
    int64_t n = hc_parameter_count(p);
    double middle = row->start == START_ONE;
    double bound = row->start == START_UNIFORM ? 1 / sqrt((double)fan_in) : 0;
    uint64_t stream = (uint64_t)INIT_STREAM << 32 | (uint64_t)index;
    if (row->start == START_ZERO)
        return HC_OK; /* as memory begins */
    if (row->start == START_NORMAL || row->start == START_BRANCH)
        return hc_gpt_begin(gpt, row->start == START_BRANCH, seed, index, p);
    float *values = malloc((size_t)n * sizeof *values);
    if (!values)
        return hc_fail(HC_NO_MEMORY, "no memory for %s", p->name);
    for (int64_t i = 0; i < n; i++) {
        double unit = 2 * hc_random_uniform(seed, stream, (uint64_t)i) - 1;
        values[i] = (float)(middle + bound * unit);
    }
    enum hc_status status = hc_storage_write(p->storage, values);
    free(values);
    return status;
}

static enum hc_status open_tensor(struct hc_net *net, const struct hc_layer *layer,
                                  const struct tensor_row *row, struct hc_parameter *p,
                                  uint64_t seed, int index)
{
    struct hc_tensor as = tensor_of(&net->plan, layer, row);
    int64_t kernel = layer->kernel ? layer->kernel : 1;
    int64_t fan_in = channels_before(&net->plan, layer) * kernel * kernel;
    char name[sizeof p->name];
    (void)snprintf(name, sizeof name, "%s.%s", layer->name, row->name);
    enum hc_status status = hc_parameter_open(p, net->device, name, row->role, &as);
    return status == HC_OK ? begin_tensor(p, row, net->plan.network->gpt, fan_in, seed, index)
                           : status;
}

static enum hc_status open_layer(struct hc_net *net, const struct hc_layer *layer, uint64_t seed)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < kinds[layer->kind].parameters && status == HC_OK; i++) {
        int index = layer->parameter + i;
        net->parameters[index] = &net->parameter[index];
        status = open_tensor(net, layer, &kinds[layer->kind].parameter[i], &net->parameter[index],
                             seed, index);
    }
    for (int i = 0; i < kinds[layer->kind].statistics && status == HC_OK; i++) {
        int index = layer->statistic + i;
        net->statistics[index] = &net->statistic[index];
        status = open_tensor(net, layer, &kinds[layer->kind].statistic[i], &net->statistic[index],
                             seed, index);
    }
    return status;
}

static void number_layers(struct hc_net *net)
{
    int layer = 0;
    for (int l = 0; l < net->plan.layers; l++) {
        const struct hc_layer *at = &net->plan.layer[l];
        for (int p = 0; p < at->parameters; p++)
            net->parameter[at->parameter + p].layer = layer;
        layer += at->parameters > 0;
    }
}

enum hc_status hc_net_open(struct hc_net **out, struct hc_device *device,
                           const struct hc_network *network, int classes, int batch, uint64_t seed)
{
    enum hc_status status = HC_OK;
    *out = NULL;
    struct hc_net *net = calloc(1, sizeof *net);
    if (!net)
        return hc_fail(HC_NO_MEMORY, "no memory for a network");
    net->device = device;
    net->batch = batch;
    hc_plan_make(network, classes, &net->plan);
    for (int l = 0; l < net->plan.layers && status == HC_OK; l++)
        status = open_layer(net, &net->plan.layer[l], seed);
    number_layers(net);
    if (status == HC_OK)
        *out = net;
    else
        hc_net_close(net);
    return status;
}

void hc_net_close(struct hc_net *net)
{
    if (!net)
        return;
    for (int i = 0; i < net->plan.parameters; i++)
        hc_parameter_close(&net->parameter[i]);
    for (int i = 0; i < net->plan.statistics; i++)
        hc_parameter_close(&net->statistic[i]);
    for (int l = 0; l < net->plan.layers; l++) {
        hc_storage_drop(net->kept[l].value);
        hc_storage_drop(net->kept[l].conv);
        hc_storage_drop(net->kept[l].mean);
        hc_storage_drop(net->kept[l].invstd);
    }
    for (int s = 0; s < HC_GRADIENT_BUFFERS; s++)
        hc_storage_drop(net->buffers[s]);
    hc_storage_drop(net->added);
    hc_storage_drop(net->before_conv);
    hc_storage_drop(net->image);
    hc_storage_drop(net->input);
    hc_storage_drop(net->own_labels);
    hc_storage_drop(net->report);
    hc_storage_drop(net->wide_report);
    hc_storage_drop(net->loss_held);
    hc_storage_drop(net->ones);
    hc_storage_drop(net->unread);
    hc_norm_sync_close(net->norm_sync);
    hc_quant_close(net->quant);
    hc_gpt_close(net->gpt);
    free(net);
}

void hc_net_share(struct hc_net *net, struct hc_comm *comm)
{
    net->comm = comm;
}

const struct hc_plan *hc_net_plan(const struct hc_net *net)
{
    return &net->plan;
}

void hc_net_watch(struct hc_net *net, hc_gradient_watch *watch, void *context)
{
    net->watch = watch;
    net->watch_context = context;
}

void hc_net_trace(struct hc_net *net, hc_layer_trace *trace, void *context)
{
    net->trace = trace;
    net->trace_context = context;
}

void hc_net_trace_inside(struct hc_net *net, hc_inner_trace *trace, void *context)
{
    net->inside = trace;
    net->inside_context = context;
}

struct hc_parameter *const *hc_net_parameters(const struct hc_net *net)
{
    return net->parameters;
}

struct hc_parameter *const *hc_net_statistics(const struct hc_net *net)
{
    return net->statistics;
}

/* What a step needs beside the parameters: activations, gradient buffers, the batch. */

/* Elements of any format whose bytes are a multiple of 64. */
enum { HC_ALIGNED = 64 };

struct hc_tensor hc_net_shaped(const struct hc_net *net, int v, enum hc_format format, void *data)
{
    const struct hc_network *network = net->plan.network;
    int64_t places = (int64_t)net->batch * net->plan.places;
    if (network->gpt)
        return v == 0 ? hc_tensor1(HC_I32, places, data)
                      : hc_tensor2(format, places, net->plan.layer[v - 1].channels, data);
    if (v == 0)
        return hc_tensor4(format, net->batch, network->side, network->side, network->channels,
                          data);
    const struct hc_layer *layer = &net->plan.layer[v - 1];
    if (layer->kind == HC_LAYER_LINEAR)
        return hc_tensor2(format, net->batch, layer->channels, data);
    return hc_tensor4(format, net->batch, layer->side, layer->side, layer->channels, data);
}

static int64_t count_value(const struct hc_net *net, int v)
{
    struct hc_tensor t = hc_net_shaped(net, v, net->numerics.format, NULL);
    return hc_tensor_count(&t);
}

void hc_net_make(struct hc_net *net, enum hc_status *status, struct hc_storage **storage,
                 enum hc_format format, int64_t n)
{
    if (*status != HC_OK)
        return;
    *storage = hc_storage_new(net->device, format, n);
    if (!*storage)
        *status = HC_NO_MEMORY;
}

static enum hc_status make_forward(struct hc_net *net)
{
    enum hc_status status = HC_OK;
    enum hc_format statistics = net->numerics.format == HC_FP64 ? HC_FP64 : HC_FP32;
    for (int l = 0; l < net->plan.layers; l++) {
        struct hc_kept *kept = &net->kept[l];
        hc_net_make(net, &status, &kept->value, net->numerics.format, count_value(net, l + 1));
        enum hc_layer_kind kind = net->plan.layer[l].kind;
        int64_t rows = (int64_t)net->batch * net->plan.places;
        if (kind == HC_LAYER_NORM || kind == HC_LAYER_CENTRED)
            hc_net_make(net, &status, &kept->invstd, statistics, rows);
        if (kind == HC_LAYER_CENTRED)
            hc_net_make(net, &status, &kept->mean, statistics, rows);
        if (kind != HC_LAYER_CONV)
            continue;
        hc_net_make(net, &status, &kept->conv, net->numerics.format, count_value(net, l + 1));
        hc_net_make(net, &status, &kept->mean, statistics, net->plan.layer[l].channels);
        hc_net_make(net, &status, &kept->invstd, statistics, net->plan.layer[l].channels);
    }
    return status;
}

/* The first buffer that is free while layer l runs backward. Those in use hold the gradient of its
   own output, or one that waits for an earlier layer. */
static int free_buffer(const struct hc_net *net, int l)
{
    bool taken[HC_GRADIENT_BUFFERS] = {false};
    int buffer = 0;
    for (int v = 1; v <= l + 1; v++)
        if (net->buffer_of[v] >= 0)
            taken[net->buffer_of[v]] = true;
    while (buffer < HC_GRADIENT_BUFFERS && taken[buffer])
        buffer++;
    assert(buffer < HC_GRADIENT_BUFFERS);
    return buffer;
}

/* A sum passes its gradient on to both sides, which share one buffer, and one with a parameter to
   its one side. The first layer of the residual branch adds to it for the skipped side. It runs
   after the branch's own side has been read, so nobody sees the shared buffer change. */
static void plan_backward(struct hc_net *net)
{
    const struct hc_plan *plan = &net->plan;
    for (int v = 0; v <= plan->layers; v++)
        net->buffer_of[v] = -1;
    net->buffer_of[plan->layers] = 0;
    for (int l = plan->layers - 1; l >= 0; l--) {
        const struct hc_layer *layer = &plan->layer[l];
        net->adds[l] = false;
        if (layer->kind == HC_LAYER_ADD) {
            assert(net->buffer_of[layer->in] < 0 && net->buffer_of[layer->skip] < 0);
            net->buffer_of[layer->in] = net->buffer_of[l + 1];
            net->buffer_of[layer->skip] = net->buffer_of[l + 1];
        } else if (layer->kind == HC_LAYER_PLACE) {
            net->buffer_of[layer->in] = net->buffer_of[l + 1];
        } else if (layer->in > 0 && net->buffer_of[layer->in] >= 0) {
            net->adds[l] = true;
        } else if (layer->in > 0) {
            net->buffer_of[layer->in] = free_buffer(net, l);
        }
    }
}

static enum hc_status make_backward(struct hc_net *net)
{
    enum hc_status status = HC_OK;
    int64_t most[HC_GRADIENT_BUFFERS] = {0};
    int64_t largest = 0;
    int64_t added = 0;
    plan_backward(net);
    for (int v = 1; v <= net->plan.layers; v++) {
        int64_t n = count_value(net, v);
        if (n > most[net->buffer_of[v]])
            most[net->buffer_of[v]] = n;
        if (n > largest)
            largest = n;
    }
    for (int l = 0; l < net->plan.layers; l++)
        if (net->adds[l] && count_value(net, net->plan.layer[l].in) > added)
            added = count_value(net, net->plan.layer[l].in);
    for (int s = 0; s < HC_GRADIENT_BUFFERS; s++)
        hc_net_make(net, &status, &net->buffers[s], net->numerics.format, most[s]);
    hc_net_make(net, &status, &net->added, net->numerics.format, added);
    hc_net_make(net, &status, &net->before_conv, net->numerics.format, largest);
    return status;
}

static enum hc_status make_batch(struct hc_net *net)
{
    enum hc_status status = HC_OK;
    bool text = net->plan.network->gpt != NULL;
    hc_net_make(net, &status, &net->image, HC_FP32, text ? 0 : count_value(net, 0));
    hc_net_make(net, &status, &net->input, text ? HC_I32 : net->numerics.format,
                count_value(net, 0));
    hc_net_make(net, &status, &net->own_labels, HC_I32, (int64_t)net->batch * net->plan.places);
    hc_net_make(net, &status, &net->report, HC_FP32, 2);
    if (net->numerics.format == HC_FP64)
        hc_net_make(net, &status, &net->wide_report, HC_FP64, HC_WIDE_COUNT);
    if (net->numerics.loss != HC_FP32)
        hc_net_make(net, &status, &net->loss_held, net->numerics.loss, 1);
    hc_net_make(net, &status, &net->ones, net->numerics.format, net->batch);
    if (status != HC_OK)
        return status;
    struct hc_tensor ones = hc_tensor1(net->numerics.format, net->batch, NULL);
    ones.data = malloc(hc_tensor_bytes(&ones));
    if (!ones.data)
        return hc_fail(HC_NO_MEMORY, "no memory for a batch of %d ones", net->batch);
    for (int i = 0; i < net->batch; i++)
        hc_tensor_set(&ones, i, 1);
    status = hc_storage_write(net->ones, ones.data);
    free(ones.data);
    return status;
}

/* What the largest layer needs. */
static enum hc_status make_norm_sync(struct hc_net *net)
{
    struct hc_norm_sync_size size = {.format = net->numerics.format};
    for (int l = 0; l < net->plan.layers; l++) {
        const struct hc_layer *layer = &net->plan.layer[l];
        if (layer->kind == HC_LAYER_CONV && layer->channels > size.channels)
            size.channels = layer->channels;
        if (layer->kind == HC_LAYER_CONV && count_value(net, l + 1) > size.elements)
            size.elements = count_value(net, l + 1);
    }
    return hc_norm_sync_open(&net->norm_sync, net->device, net->comm, &size);
}

enum hc_status hc_net_prepare(struct hc_net *net, struct hc_net_numerics numerics,
                              const struct hc_tensor *gradients)
{
    enum hc_status status = HC_OK;
    net->numerics = numerics;
    memcpy(net->gradient, gradients, (size_t)net->plan.parameters * sizeof *gradients);
    for (int i = 0; i < net->plan.statistics && status == HC_OK; i++) {
        if (numerics.statistics_rounded)
            status = hc_parameter_to(&net->statistic[i], numerics.format);
        if (status == HC_OK)
            status = hc_parameter_to(&net->statistic[i], numerics.statistics);
    }
    if (status == HC_OK)
        status = make_forward(net);
    if (status == HC_OK)
        status = make_backward(net);
    if (status == HC_OK && numerics.quant)
        status = hc_net_requantise(net, numerics.quant, numerics.amax_history, numerics.plain_ends);
    if (status == HC_OK && net->comm && !net->plan.network->gpt)
        status = make_norm_sync(net);
    if (status == HC_OK && net->plan.network->gpt)
        status = hc_gpt_prepare(net);
    return status == HC_OK ? make_batch(net) : status;
}

enum hc_status hc_net_hold_statistics(struct hc_net *net, bool holds)
{
    enum hc_status status = HC_OK;
    int64_t most = 0;
    for (int l = 0; l < net->plan.layers; l++)
        if (net->plan.layer[l].channels > most)
            most = net->plan.layer[l].channels;
    if (holds && !net->unread)
        hc_net_make(net, &status, &net->unread, net->numerics.statistics,
                    2 * ((most + HC_ALIGNED - 1) / HC_ALIGNED * HC_ALIGNED));
    net->holds_statistics = holds;
    return status;
}
