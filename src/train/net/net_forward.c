#include "train/net/net_inner.h"

struct hc_tensor hc_net_value(const struct hc_net *net, int v)
{
    return hc_net_shaped(net, v, net->numerics.format,
                         v == 0 ? net->images : net->kept[v - 1].value->data);
}

struct hc_tensor hc_net_conv_output(const struct hc_net *net, int l)
{
    return hc_net_shaped(net, l + 1, net->numerics.format, net->kept[l].conv->data);
}

struct hc_tensor hc_net_batch_mean(const struct hc_net *net, int l)
{
    return hc_storage_tensor(net->kept[l].mean);
}

struct hc_tensor hc_net_batch_invstd(const struct hc_net *net, int l)
{
    return hc_storage_tensor(net->kept[l].invstd);
}

static void leave_statistics(const struct hc_net *net, struct hc_call *norm)
{
    size_t half = (size_t)net->unread->count / 2 * (size_t)hc_formats[net->unread->format].bytes;
    norm->out[HC_BN_NEW_MEAN].data = net->unread->data;
    norm->out[HC_BN_NEW_VARIANCE].data = (unsigned char *)net->unread->data + half;
}

static enum hc_status conv_layer(struct hc_net *net, int l, bool training)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    const struct hc_parameter *p = &net->parameter[layer->parameter];
    const struct hc_parameter *s = &net->statistic[layer->statistic];
    struct hc_tensor y = hc_net_conv_output(net, l);
    struct hc_call conv = {.op = HC_OP_conv2d,
                           .in = {[HC_CONV_X] = hc_net_value(net, layer->in),
                                  [HC_CONV_W] = hc_parameter_tensor(&p[HC_CONV_FILTER])},
                           .out = {[HC_CONV_Y] = y},
                           .params.conv = {layer->stride, layer->pad, net->numerics.tf32}};
    struct hc_tensor mean = hc_parameter_tensor(&s[HC_CONV_MEAN]);
    struct hc_tensor variance = hc_parameter_tensor(&s[HC_CONV_VARIANCE]);
    struct hc_call norm = {.op = training ? HC_OP_bn_leaky_train : HC_OP_bn_leaky_infer,
                           .in = {[HC_BN_X] = y,
                                  [HC_BN_GAMMA] = hc_parameter_tensor(&p[HC_CONV_GAMMA]),
                                  [HC_BN_BETA] = hc_parameter_tensor(&p[HC_CONV_BETA]),
                                  [HC_BN_MEAN] = mean,
                                  [HC_BN_VARIANCE] = variance},
                           .out = {[HC_BN_Y] = hc_net_value(net, l + 1)},
                           .params.bn = {HC_NORM_EPS, HC_NORM_MOMENTUM, HC_LEAKY_SLOPE}};
    if (training) {
        norm.out[HC_BN_SAVED_MEAN] = hc_net_batch_mean(net, l);
        norm.out[HC_BN_SAVED_INVSTD] = hc_net_batch_invstd(net, l);
        norm.out[HC_BN_NEW_MEAN] = mean;
        norm.out[HC_BN_NEW_VARIANCE] = variance;
        if (net->holds_statistics)
            leave_statistics(net, &norm);
    }
    int quant = hc_net_quant_of(net, l);
    enum hc_status status =
        quant >= 0 ? hc_quant_forward(net->quant, quant, conv.in[HC_CONV_X],
                                      hc_net_filter(net, layer->parameter + HC_CONV_FILTER), y)
                   : hc_device_run(net->device, &conv);
    if (status == HC_OK && training && net->norm_sync)
        return hc_norm_sync_train(net->norm_sync, &norm, &net->kept[l].elements);
    return status == HC_OK ? hc_device_run(net->device, &norm) : status;
}

static enum hc_status add_layer(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    struct hc_call call = {
        .op = HC_OP_add,
        .in = {[HC_X] = hc_net_value(net, layer->in), [HC_Y] = hc_net_value(net, layer->skip)},
        .out = {[HC_OUT] = hc_net_value(net, l + 1)}};
    return hc_device_run(net->device, &call);
}

static enum hc_status pool_layer(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    struct hc_call call = {.op = HC_OP_avg_pool,
                           .in = {[HC_POOL_X] = hc_net_value(net, layer->in)},
                           .out = {[HC_POOL_Y] = hc_net_value(net, l + 1)},
                           .params.pool = {layer->kernel}};
    return hc_device_run(net->device, &call);
}

static enum hc_status linear_layer(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    const struct hc_parameter *p = &net->parameter[layer->parameter];
    struct hc_tensor x = hc_net_value(net, layer->in);
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = hc_tensor2(x.format, x.shape[0], x.shape[3], x.data),
               [HC_GEMM_B] = hc_parameter_tensor(&p[HC_LINEAR_WEIGHT]),
               [HC_GEMM_C] = hc_parameter_tensor(&p[HC_LINEAR_BIAS])},
        .out = {[HC_GEMM_OUT] = hc_net_value(net, l + 1)},
        .params.gemm = {.transpose_b = true, .alpha = 1, .beta = 1, .tf32 = net->numerics.tf32}};
    return hc_device_run(net->device, &call);
}

static enum hc_status layer_forward(struct hc_net *net, int l, bool training)
{
    switch (net->plan.layer[l].kind) {
    case HC_LAYER_CONV:
        return conv_layer(net, l, training);
    case HC_LAYER_ADD:
        return add_layer(net, l);
    case HC_LAYER_POOL:
        return pool_layer(net, l);
    default:
        return linear_layer(net, l);
    }
}

enum hc_status hc_net_forward(struct hc_net *net, bool training)
{
    enum hc_status status = HC_OK;
    if (net->quant)
        hc_quant_hold(net->quant, !training);
    for (int l = 0; l < net->plan.layers && status == HC_OK; l++)
        status = layer_forward(net, l, training);
    return status;
}
