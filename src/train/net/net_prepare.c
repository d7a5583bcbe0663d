/* What a step needs beside the parameters: activations, gradient buffers, the batch. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "train/net/net_inner.h"

/* Elements of any format whose bytes are a multiple of 64. */
enum { HC_ALIGNED = 64 };

struct hc_tensor hc_net_shaped(const struct hc_net *net, int v, enum hc_format format, void *data)
{
    const struct hc_network *network = net->plan.network;
    if (v == 0)
        return hc_tensor4(format, net->batch, network->side, network->side, network->channels,
                          data);
    const struct hc_layer *layer = &net->plan.layer[v - 1];
    if (layer->kind == HC_LAYER_LINEAR)
        return hc_tensor2(format, net->batch, layer->channels, data);
    return hc_tensor4(format, net->batch, layer->side, layer->side, layer->channels, data);
}

static int64_t count(const struct hc_net *net, int v)
{
    struct hc_tensor t = hc_net_shaped(net, v, net->numerics.format, NULL);
    return hc_tensor_count(&t);
}

/* Allocates *storage. After a failure, which it remembers in *status, it does nothing any more. */
static void make(struct hc_net *net, enum hc_status *status, struct hc_storage **storage,
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
        make(net, &status, &kept->value, net->numerics.format, count(net, l + 1));
        if (net->plan.layer[l].kind != HC_LAYER_CONV)
            continue;
        make(net, &status, &kept->conv, net->numerics.format, count(net, l + 1));
        make(net, &status, &kept->mean, statistics, net->plan.layer[l].channels);
        make(net, &status, &kept->invstd, statistics, net->plan.layer[l].channels);
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

/* A sum passes its gradient on to both sides, which share one buffer. The first layer of the
   residual branch adds to it for the skipped side. It runs after the branch's own side has been
   read, so nobody sees the shared buffer change. */
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
        int64_t n = count(net, v);
        if (n > most[net->buffer_of[v]])
            most[net->buffer_of[v]] = n;
        if (n > largest)
            largest = n;
    }
    for (int l = 0; l < net->plan.layers; l++)
        if (net->adds[l] && count(net, net->plan.layer[l].in) > added)
            added = count(net, net->plan.layer[l].in);
    for (int s = 0; s < HC_GRADIENT_BUFFERS; s++)
        make(net, &status, &net->buffers[s], net->numerics.format, most[s]);
    make(net, &status, &net->added, net->numerics.format, added);
    make(net, &status, &net->before_conv, net->numerics.format, largest);
    return status;
}

static enum hc_status make_batch(struct hc_net *net)
{
    enum hc_status status = HC_OK;
    make(net, &status, &net->image, HC_FP32, count(net, 0));
    make(net, &status, &net->input, net->numerics.format, count(net, 0));
    make(net, &status, &net->own_labels, HC_I32, net->batch);
    make(net, &status, &net->report, HC_FP32, 2);
    if (net->numerics.format == HC_FP64)
        make(net, &status, &net->wide_report, HC_FP64, HC_WIDE_COUNT);
    if (net->numerics.loss != HC_FP32)
        make(net, &status, &net->loss_held, net->numerics.loss, 1);
    make(net, &status, &net->ones, net->numerics.format, net->batch);
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
        if (layer->kind == HC_LAYER_CONV && count(net, l + 1) > size.elements)
            size.elements = count(net, l + 1);
    }
    return hc_norm_sync_open(&net->norm_sync, net->device, net->comm, &size);
}

/* The first convolution is not quantised. */
int hc_net_quant_of(const struct hc_net *net, int l)
{
    int before = 0;
    for (int i = 0; i < l; i++)
        before += net->plan.layer[i].kind == HC_LAYER_CONV && net->plan.layer[i].in > 0;
    bool is = net->quant && net->plan.layer[l].kind == HC_LAYER_CONV && net->plan.layer[l].in > 0;
    return is ? before : -1;
}

static enum hc_status make_quant(struct hc_net *net)
{
    struct hc_quant_shape shapes[HC_MAX_LAYERS];
    int n = 0;
    for (int l = 0; l < net->plan.layers; l++) {
        const struct hc_layer *layer = &net->plan.layer[l];
        if (layer->kind != HC_LAYER_CONV || layer->in == 0)
            continue;
        const struct hc_layer *from = &net->plan.layer[layer->in - 1];
        shapes[n++] = (struct hc_quant_shape){.images = net->batch,
                                              .side = from->side,
                                              .channels = from->channels,
                                              .filters = layer->channels,
                                              .kernel = layer->kernel,
                                              .stride = layer->stride,
                                              .pad = layer->pad};
    }
    return hc_quant_open(&net->quant, net->device, net->numerics.quant, net->numerics.amax_history,
                         shapes, n, net->numerics.format);
}

enum hc_status hc_net_requantise(struct hc_net *net, const struct hc_quant_recipe *recipe,
                                 int64_t amax_history)
{
    hc_quant_close(net->quant);
    net->quant = NULL;
    net->numerics.quant = recipe;
    net->numerics.amax_history = amax_history;
    return recipe ? make_quant(net) : HC_OK;
}

void hc_net_quantise_from(struct hc_net *net, const struct hc_tensor *weights)
{
    memcpy(net->quantised, weights, (size_t)net->plan.parameters * sizeof *weights);
}

struct hc_tensor hc_net_filter(const struct hc_net *net, int p)
{
    return net->quantised[p].data ? net->quantised[p] : hc_parameter_tensor(&net->parameter[p]);
}

struct hc_quant *hc_net_quant(const struct hc_net *net)
{
    return net->quant;
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
        status = make_quant(net);
    if (status == HC_OK && net->comm)
        status = make_norm_sync(net);
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
        make(net, &status, &net->unread, net->numerics.statistics,
             2 * ((most + HC_ALIGNED - 1) / HC_ALIGNED * HC_ALIGNED));
    net->holds_statistics = holds;
    return status;
}
