#include "train/net/net_inner.h"

static struct hc_tensor gradient(const struct hc_net *net, int v)
{
    return hc_net_shaped(net, v, net->numerics.format, net->buffers[net->buffer_of[v]]->data);
}

/* The gradient of its convolution's output, while layer l runs. */
static struct hc_tensor conv_gradient(const struct hc_net *net, int l)
{
    return hc_net_shaped(net, l + 1, net->numerics.format, net->before_conv->data);
}

static enum hc_status conv_to_input(struct hc_net *net, int l, struct hc_tensor dy)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    if (layer->in == 0)
        return HC_OK;
    struct hc_tensor dx = gradient(net, layer->in);
    struct hc_tensor share = dx;
    if (net->adds[l])
        share.data = net->added->data;
    struct hc_call data = {.op = HC_OP_conv2d_bwd_data,
                           .in = {[HC_CONV_BWD_DATA_DY] = dy,
                                  [HC_CONV_BWD_DATA_W] = hc_parameter_tensor(
                                      &net->parameter[layer->parameter + HC_CONV_FILTER])},
                           .out = {[HC_CONV_BWD_DATA_DX] = share},
                           .params.conv = {layer->stride, layer->pad, net->numerics.tf32}};
    int quant = hc_net_quant_of(net, l);
    enum hc_status status =
        quant >= 0 ? hc_quant_to_input(net->quant, quant, dy,
                                       hc_net_filter(net, layer->parameter + HC_CONV_FILTER), share)
                   : hc_device_run(net->device, &data);
    if (status != HC_OK || !net->adds[l])
        return status;
    struct hc_call add = {
        .op = HC_OP_add, .in = {[HC_X] = dx, [HC_Y] = share}, .out = {[HC_OUT] = dx}};
    return hc_device_run(net->device, &add);
}

static enum hc_status conv_layer(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    int p = layer->parameter;
    struct hc_tensor dconv = conv_gradient(net, l);
    struct hc_tensor x = hc_net_conv_output(net, l);
    struct hc_call norm = {
        .op = HC_OP_bn_leaky_bwd,
        .in = {[HC_BN_LEAKY_BWD_X] = x,
               [HC_BN_LEAKY_BWD_Y] = hc_net_value(net, l + 1),
               [HC_BN_LEAKY_BWD_DY] = gradient(net, l + 1),
               [HC_BN_LEAKY_BWD_GAMMA] = hc_parameter_tensor(&net->parameter[p + HC_CONV_GAMMA]),
               [HC_BN_LEAKY_BWD_MEAN] = hc_net_batch_mean(net, l),
               [HC_BN_LEAKY_BWD_INVSTD] = hc_net_batch_invstd(net, l)},
        .out = {[HC_BN_BWD_DX] = dconv,
                [HC_BN_BWD_DGAMMA] = net->gradient[p + HC_CONV_GAMMA],
                [HC_BN_BWD_DBETA] = net->gradient[p + HC_CONV_BETA]},
        .params.bn = {HC_NORM_EPS, HC_NORM_MOMENTUM, HC_LEAKY_SLOPE}};
    struct hc_call filter = {.op = HC_OP_conv2d_bwd_filter,
                             .in = {[HC_CONV_BWD_FILTER_X] = hc_net_value(net, layer->in),
                                    [HC_CONV_BWD_FILTER_DY] = dconv},
                             .out = {[HC_CONV_BWD_FILTER_DW] = net->gradient[p + HC_CONV_FILTER]},
                             .params.conv = {layer->stride, layer->pad, net->numerics.tf32}};
    enum hc_status status = net->norm_sync
                                ? hc_norm_sync_bwd(net->norm_sync, &norm, net->kept[l].elements)
                                : hc_device_run(net->device, &norm);
    int quant = hc_net_quant_of(net, l);
    if (status == HC_OK)
        status = quant >= 0 ? hc_quant_to_filter(net->quant, quant, filter.in[HC_CONV_BWD_FILTER_X],
                                                 dconv, net->gradient[p + HC_CONV_FILTER])
                            : hc_device_run(net->device, &filter);
    return status == HC_OK ? conv_to_input(net, l, dconv) : status;
}

static enum hc_status pool_layer(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    struct hc_call call = {.op = HC_OP_avg_pool_bwd,
                           .in = {[HC_POOL_BWD_DY] = gradient(net, l + 1)},
                           .out = {[HC_POOL_BWD_DX] = gradient(net, layer->in)},
                           .params.pool = {layer->kernel}};
    return hc_device_run(net->device, &call);
}

/* out = op(a) b */
static enum hc_status multiply(struct hc_net *net, bool transpose_a, struct hc_tensor a,
                               struct hc_tensor b, struct hc_tensor out)
{
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = a, [HC_GEMM_B] = b},
        .out = {[HC_GEMM_OUT] = out},
        .params.gemm = {.transpose_a = transpose_a, .alpha = 1, .tf32 = net->numerics.tf32}};
    return hc_device_run(net->device, &call);
}

/* dw = dy' x, db = ones dy, dx = dy w */
static enum hc_status linear_layer(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    int p = layer->parameter;
    struct hc_tensor x = hc_net_value(net, layer->in);
    struct hc_tensor w = hc_parameter_tensor(&net->parameter[p + HC_LINEAR_WEIGHT]);
    struct hc_tensor dx = gradient(net, layer->in);
    struct hc_tensor dy = gradient(net, l + 1);
    struct hc_tensor dw = net->gradient[p + HC_LINEAR_WEIGHT];
    struct hc_tensor db = net->gradient[p + HC_LINEAR_BIAS];
    struct hc_tensor ones = hc_tensor2(net->numerics.format, 1, net->batch, net->ones->data);
    x = hc_tensor2(x.format, x.shape[0], x.shape[3], x.data);
    dx = hc_tensor2(dx.format, dx.shape[0], dx.shape[3], dx.data);
    db = hc_tensor2(db.format, 1, db.shape[0], db.data);
    enum hc_status status = multiply(net, true, dy, x, dw);
    if (status == HC_OK)
        status = multiply(net, false, ones, dy, db);
    return status == HC_OK ? multiply(net, false, dy, w, dx) : status;
}

static enum hc_status layer_backward(struct hc_net *net, int l)
{
    if (net->watch && net->plan.layer[l].parameter >= 0) {
        struct hc_tensor dy = gradient(net, l + 1);
        net->watch(net->watch_context, l, &dy);
    }
    switch (net->plan.layer[l].kind) {
    case HC_LAYER_CONV:
        return conv_layer(net, l);
    case HC_LAYER_ADD:
        return HC_OK; /* the gradients of its inputs are that of its output */
    case HC_LAYER_POOL:
        return pool_layer(net, l);
    default:
        return linear_layer(net, l);
    }
}

static enum hc_status trace_layer(struct hc_net *net, int l)
{
    bool conv = net->plan.layer[l].kind == HC_LAYER_CONV;
    struct hc_tensor dy = gradient(net, l + 1);
    struct hc_tensor dconv = conv_gradient(net, l);
    return net->trace(net->trace_context, l, &dy, conv ? &dconv : NULL);
}

enum hc_status hc_net_backward(struct hc_net *net)
{
    enum hc_status status = HC_OK;
    for (int l = net->plan.layers - 1; l >= 0 && status == HC_OK; l--) {
        status = layer_backward(net, l);
        if (status == HC_OK && net->trace)
            status = trace_layer(net, l);
    }
    return status;
}
