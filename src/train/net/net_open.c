#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "num/rng.h"
#include "train/net/net_inner.h"

enum { INIT_STREAM = 0x494e4954 }; /* in the upper half of a stream's number; the parameter below */

/* Uniform in middle +- bound; a bound of 0 makes a constant. */
static enum hc_status fill(struct hc_parameter *p, double middle, double bound, uint64_t seed,
                           int index)
{
    int64_t n = hc_parameter_count(p);
    float *values = malloc((size_t)n * sizeof *values);
    uint64_t stream = (uint64_t)INIT_STREAM << 32 | (uint64_t)index;
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

static enum hc_status open_parameter(struct hc_net *net, int index, const char *layer,
                                     const char *what, enum hc_role role, struct hc_tensor as)
{
    bool statistic = role == HC_ROLE_STATISTIC;
    struct hc_parameter *p = statistic ? &net->statistic[index] : &net->parameter[index];
    char name[sizeof p->name];
    (void)snprintf(name, sizeof name, "%s.%s", layer, what);
    enum hc_status status = hc_parameter_open(p, net->device, name, role, &as);
    if (statistic)
        net->statistics[index] = p;
    else
        net->parameters[index] = p;
    return status;
}

static enum hc_status open_conv(struct hc_net *net, const struct hc_layer *layer, uint64_t seed)
{
    int p = layer->parameter;
    int s = layer->statistic;
    int k = layer->kernel;
    int64_t c =
        layer->in == 0 ? net->plan.network->channels : net->plan.layer[layer->in - 1].channels;
    struct hc_tensor filter = hc_tensor4(HC_FP32, layer->channels, k, k, c, NULL);
    struct hc_tensor vector = hc_tensor1(HC_FP32, layer->channels, NULL);
    enum hc_status status =
        open_parameter(net, p + HC_CONV_FILTER, layer->name, "filter", HC_ROLE_WEIGHT, filter);
    if (status == HC_OK)
        status = open_parameter(net, p + HC_CONV_GAMMA, layer->name, "gamma", HC_ROLE_NORM, vector);
    if (status == HC_OK)
        status = open_parameter(net, p + HC_CONV_BETA, layer->name, "beta", HC_ROLE_NORM, vector);
    if (status == HC_OK)
        status =
            open_parameter(net, s + HC_CONV_MEAN, layer->name, "mean", HC_ROLE_STATISTIC, vector);
    if (status == HC_OK)
        status = open_parameter(net, s + HC_CONV_VARIANCE, layer->name, "variance",
                                HC_ROLE_STATISTIC, vector);
    if (status == HC_OK)
        status = fill(&net->parameter[p], 0, 1 / sqrt((double)(c * k * k)), seed, p);
    if (status == HC_OK)
        status = fill(&net->parameter[p + HC_CONV_GAMMA], 1, 0, seed, 0);
    return status == HC_OK ? fill(&net->statistic[s + HC_CONV_VARIANCE], 1, 0, seed, 0) : status;
}

static enum hc_status open_linear(struct hc_net *net, const struct hc_layer *layer, uint64_t seed)
{
    int p = layer->parameter;
    int64_t c = net->plan.layer[layer->in - 1].channels;
    double bound = 1 / sqrt((double)c);
    struct hc_tensor weight = hc_tensor2(HC_FP32, layer->channels, c, NULL);
    struct hc_tensor bias = hc_tensor1(HC_FP32, layer->channels, NULL);
    enum hc_status status =
        open_parameter(net, p + HC_LINEAR_WEIGHT, layer->name, "weight", HC_ROLE_WEIGHT, weight);
    if (status == HC_OK)
        status = open_parameter(net, p + HC_LINEAR_BIAS, layer->name, "bias", HC_ROLE_BIAS, bias);
    if (status == HC_OK)
        status = fill(&net->parameter[p], 0, bound, seed, p);
    return status == HC_OK ? fill(&net->parameter[p + 1], 0, bound, seed, p + 1) : status;
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
    for (int l = 0; l < net->plan.layers && status == HC_OK; l++) {
        if (net->plan.layer[l].kind == HC_LAYER_CONV)
            status = open_conv(net, &net->plan.layer[l], seed);
        else if (net->plan.layer[l].kind == HC_LAYER_LINEAR)
            status = open_linear(net, &net->plan.layer[l], seed);
    }
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

struct hc_parameter *const *hc_net_parameters(const struct hc_net *net)
{
    return net->parameters;
}

struct hc_parameter *const *hc_net_statistics(const struct hc_net *net)
{
    return net->statistics;
}
