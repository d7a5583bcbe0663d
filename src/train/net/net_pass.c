/* The passes of a net: each layer forward, each layer backward, and what a batch and its loss make
   of them. */
#include <assert.h>

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

static enum hc_status conv_forward(struct hc_net *net, int l, bool training)
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

static enum hc_status add_forward(struct hc_net *net, int l, bool training)
{
    (void)training;
    const struct hc_layer *layer = &net->plan.layer[l];
    struct hc_call call = {
        .op = HC_OP_add,
        .in = {[HC_X] = hc_net_value(net, layer->in), [HC_Y] = hc_net_value(net, layer->skip)},
        .out = {[HC_OUT] = hc_net_value(net, l + 1)}};
    return hc_device_run(net->device, &call);
}

static enum hc_status pool_forward(struct hc_net *net, int l, bool training)
{
    (void)training;
    const struct hc_layer *layer = &net->plan.layer[l];
    struct hc_call call = {.op = HC_OP_avg_pool,
                           .in = {[HC_POOL_X] = hc_net_value(net, layer->in)},
                           .out = {[HC_POOL_Y] = hc_net_value(net, l + 1)},
                           .params.pool = {layer->kernel}};
    return hc_device_run(net->device, &call);
}

static enum hc_status linear_forward(struct hc_net *net, int l, bool training)
{
    (void)training;
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

struct hc_tensor hc_net_value_gradient(const struct hc_net *net, int v)
{
    return hc_net_shaped(net, v, net->numerics.format, net->buffers[net->buffer_of[v]]->data);
}

/* The gradient of its convolution's output, while layer l runs. */
static struct hc_tensor conv_gradient(const struct hc_net *net, int l)
{
    return hc_net_shaped(net, l + 1, net->numerics.format, net->before_conv->data);
}

struct hc_tensor hc_net_share_of(const struct hc_net *net, int l)
{
    struct hc_tensor share = hc_net_value_gradient(net, net->plan.layer[l].in);
    if (net->adds[l])
        share.data = net->added->data;
    return share;
}

enum hc_status hc_net_add_share(struct hc_net *net, int l)
{
    struct hc_tensor dx = hc_net_value_gradient(net, net->plan.layer[l].in);
    struct hc_call add = {.op = HC_OP_add,
                          .in = {[HC_X] = dx, [HC_Y] = hc_net_share_of(net, l)},
                          .out = {[HC_OUT] = dx}};
    return net->adds[l] ? hc_device_run(net->device, &add) : HC_OK;
}

static enum hc_status conv_to_input(struct hc_net *net, int l, struct hc_tensor dy)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    if (layer->in == 0)
        return HC_OK;
    struct hc_tensor share = hc_net_share_of(net, l);
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
    return status == HC_OK ? hc_net_add_share(net, l) : status;
}

static enum hc_status conv_backward(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    int p = layer->parameter;
    struct hc_tensor dconv = conv_gradient(net, l);
    struct hc_tensor x = hc_net_conv_output(net, l);
    struct hc_call norm = {
        .op = HC_OP_bn_leaky_bwd,
        .in = {[HC_BN_LEAKY_BWD_X] = x,
               [HC_BN_LEAKY_BWD_Y] = hc_net_value(net, l + 1),
               [HC_BN_LEAKY_BWD_DY] = hc_net_value_gradient(net, l + 1),
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

static enum hc_status pool_backward(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    struct hc_call call = {.op = HC_OP_avg_pool_bwd,
                           .in = {[HC_POOL_BWD_DY] = hc_net_value_gradient(net, l + 1)},
                           .out = {[HC_POOL_BWD_DX] = hc_net_value_gradient(net, layer->in)},
                           .params.pool = {layer->kernel}};
    return hc_device_run(net->device, &call);
}

enum hc_status hc_net_multiply(struct hc_net *net, bool transpose_a, struct hc_tensor a,
                               bool transpose_b, struct hc_tensor b, struct hc_tensor out)
{
    struct hc_call call = {.op = HC_OP_gemm,
                           .in = {[HC_GEMM_A] = a, [HC_GEMM_B] = b},
                           .out = {[HC_GEMM_OUT] = out},
                           .params.gemm = {.transpose_a = transpose_a,
                                           .transpose_b = transpose_b,
                                           .alpha = 1,
                                           .tf32 = net->numerics.tf32}};
    return hc_device_run(net->device, &call);
}

/* dw = dy' x, db = ones dy, dx = dy w */
static enum hc_status linear_backward(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    int p = layer->parameter;
    struct hc_tensor x = hc_net_value(net, layer->in);
    struct hc_tensor w = hc_parameter_tensor(&net->parameter[p + HC_LINEAR_WEIGHT]);
    struct hc_tensor dx = hc_net_value_gradient(net, layer->in);
    struct hc_tensor dy = hc_net_value_gradient(net, l + 1);
    struct hc_tensor dw = net->gradient[p + HC_LINEAR_WEIGHT];
    struct hc_tensor db = net->gradient[p + HC_LINEAR_BIAS];
    struct hc_tensor ones = hc_tensor2(net->numerics.format, 1, net->batch, net->ones->data);
    x = hc_tensor2(x.format, x.shape[0], x.shape[3], x.data);
    dx = hc_tensor2(dx.format, dx.shape[0], dx.shape[3], dx.data);
    db = hc_tensor2(db.format, 1, db.shape[0], db.data);
    enum hc_status status = hc_net_multiply(net, true, dy, false, x, dw);
    if (status == HC_OK)
        status = hc_net_multiply(net, false, ones, false, dy, db);
    return status == HC_OK ? hc_net_multiply(net, false, dy, false, w, dx) : status;
}

/* The gradients of a sum's inputs are that of its output. */
static enum hc_status add_backward(struct hc_net *net, int l)
{
    (void)net;
    (void)l;
    return HC_OK;
}

static const struct hc_layer_pass conv_pass = {conv_forward, conv_backward};
static const struct hc_layer_pass add_pass = {add_forward, add_backward};
static const struct hc_layer_pass pool_pass = {pool_forward, pool_backward};
static const struct hc_layer_pass linear_pass = {linear_forward, linear_backward};

static const struct hc_layer_pass *const passes[HC_LAYER_KINDS] = {
    [HC_LAYER_CONV] = &conv_pass,
    [HC_LAYER_ADD] = &add_pass,
    [HC_LAYER_POOL] = &pool_pass,
    [HC_LAYER_LINEAR] = &linear_pass,
    [HC_LAYER_EMBED] = &hc_embed_pass,
    [HC_LAYER_PLACE] = &hc_place_pass,
    [HC_LAYER_NORM] = &hc_norm_pass,
    [HC_LAYER_CENTRED] = &hc_centred_pass,
    [HC_LAYER_ATTENTION] = &hc_attention_pass,
    [HC_LAYER_MATRIX] = &hc_matrix_pass,
    [HC_LAYER_GATED] = &hc_gated_pass,
    [HC_LAYER_GELU] = &hc_gelu_pass,
    [HC_LAYER_HEAD] = &hc_matrix_pass,
    [HC_LAYER_TIED_HEAD] = &hc_tied_head_pass};

/* From value 0 to the logits, with batch statistics or running ones. */
static enum hc_status net_forward(struct hc_net *net, bool training)
{
    enum hc_status status = HC_OK;
    if (net->quant)
        hc_quant_hold(net->quant, !training);
    for (int l = 0; l < net->plan.layers && status == HC_OK; l++)
        status = passes[net->plan.layer[l].kind]->forward(net, l, training);
    return status;
}

static enum hc_status layer_backward(struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    if (net->watch && layer->parameter >= 0) {
        struct hc_tensor dy = hc_net_value_gradient(net, l + 1);
        net->watch(net->watch_context, l, &dy);
    }
    return passes[layer->kind]->backward(net, l);
}

static enum hc_status trace_layer(struct hc_net *net, int l)
{
    bool conv = net->plan.layer[l].kind == HC_LAYER_CONV;
    struct hc_tensor dy = hc_net_value_gradient(net, l + 1);
    struct hc_tensor dconv = conv_gradient(net, l);
    return net->trace(net->trace_context, l, &dy, conv ? &dconv : NULL);
}

/* From the logits' gradient to the parameters' gradients. */
static enum hc_status net_backward(struct hc_net *net)
{
    enum hc_status status = HC_OK;
    for (int l = net->plan.layers - 1; l >= 0 && status == HC_OK; l--) {
        status = layer_backward(net, l);
        if (status == HC_OK && net->trace)
            status = trace_layer(net, l);
    }
    return status;
}

/* A batch through the network, to the loss and back. */

static struct hc_tensor rows(struct hc_tensor t, int64_t count)
{
    t.shape[0] = count;
    return t;
}

/* A number that a net in fp64 reports in fp64. */
static struct hc_tensor wide(const struct hc_net *net, int which)
{
    return hc_tensor1(HC_FP64, 1, (double *)net->wide_report->data + which);
}

/* The loss of the first `count` images, rounded to the recipe's format, and how many are right. */
static enum hc_status measure_loss(struct hc_net *net, int count, struct hc_tensor loss,
                                   struct hc_tensor right)
{
    int64_t labels = (int64_t)count * net->plan.places;
    struct hc_call call = {
        .op = HC_OP_xent,
        .in = {[HC_XENT_LOGITS] = rows(hc_net_value(net, net->plan.layers), labels),
               [HC_XENT_LABELS] = rows(net->labels, labels)},
        .out = {[HC_XENT_LOSS] = loss, [HC_XENT_CORRECT] = right},
        .params.xent = {net->numerics.sum_loss}};
    if (net->wide_report) {
        call.out[HC_XENT_LOSS] = wide(net, HC_WIDE_LOSS);
        call.out[HC_XENT_CORRECT] = wide(net, HC_WIDE_RIGHT);
    }
    enum hc_status status = hc_device_run(net->device, &call);
    if (status == HC_OK && net->wide_report)
        status = hc_device_cast(net->device, call.out[HC_XENT_LOSS], loss);
    if (status == HC_OK && net->wide_report)
        status = hc_device_cast(net->device, call.out[HC_XENT_CORRECT], right);
    if (status != HC_OK || net->numerics.loss == HC_FP32 || net->wide_report)
        return status;
    struct hc_tensor held = hc_storage_tensor(net->loss_held);
    status = hc_device_cast(net->device, loss, held);
    return status == HC_OK ? hc_device_cast(net->device, held, loss) : status;
}

void hc_net_feed(struct hc_net *net, struct hc_tensor images, struct hc_tensor labels)
{
    struct hc_tensor own = hc_net_shaped(net, 0, net->numerics.format, NULL);
    assert(images.format == own.format && hc_tensor_count(&images) == hc_tensor_count(&own));
    assert(labels.format == HC_I32 &&
           hc_tensor_count(&labels) == (int64_t)net->batch * net->plan.places);
    net->images = images.data;
    net->labels = labels;
}

struct hc_tensor hc_net_loss(const struct hc_net *net)
{
    return hc_storage_element(net->report, 0);
}

struct hc_tensor hc_net_right(const struct hc_net *net)
{
    return hc_storage_element(net->report, 1);
}

float hc_net_mean_loss(const struct hc_net *net, float loss, int count)
{
    double labels = (double)count * net->plan.places;
    return (float)(net->numerics.sum_loss ? (double)loss / labels : (double)loss);
}

enum hc_status hc_net_queue_train(struct hc_net *net, const struct hc_tensor *scale)
{
    int last = net->plan.layers;
    struct hc_tensor logits = hc_net_value(net, last);
    struct hc_tensor dlogits = logits;
    dlogits.data = net->buffers[net->buffer_of[last]]->data;
    struct hc_call back = {.op = HC_OP_xent_bwd,
                           .in = {[HC_XENT_LOGITS] = logits,
                                  [HC_XENT_LABELS] = net->labels,
                                  [HC_XENT_UPSTREAM] = *scale},
                           .out = {[HC_XENT_DLOGITS] = dlogits},
                           .params.xent = {net->numerics.sum_loss}};
    enum hc_status status = net_forward(net, true);
    if (net->wide_report) {
        back.in[HC_XENT_UPSTREAM] = wide(net, HC_WIDE_SCALE);
        status = status == HC_OK ? hc_device_cast(net->device, *scale, back.in[HC_XENT_UPSTREAM])
                                 : status;
    }
    if (status == HC_OK)
        status = measure_loss(net, net->batch, hc_net_loss(net), hc_net_right(net));
    if (status == HC_OK)
        status = hc_device_run(net->device, &back);
    if (status == HC_OK)
        status = net_backward(net);
    return status == HC_OK && net->quant ? hc_quant_update(net->quant) : status;
}

enum hc_status hc_net_queue_infer(struct hc_net *net, int count, struct hc_tensor loss,
                                  struct hc_tensor right)
{
    enum hc_status status = net_forward(net, false);
    return status == HC_OK ? measure_loss(net, count, loss, right) : status;
}

/* Uploads a batch from host memory and feeds it to the next passes. */
static enum hc_status upload(struct hc_net *net, const void *images, const int32_t *labels)
{
    struct hc_tensor own = hc_storage_tensor(net->own_labels);
    struct hc_tensor input = hc_storage_tensor(net->input);
    bool text = net->plan.network->gpt != NULL;
    enum hc_status status = hc_storage_write(text ? net->input : net->image, images);
    if (status == HC_OK)
        status = hc_storage_write(net->own_labels, labels);
    if (status == HC_OK && !text)
        status = hc_device_cast(net->device, hc_storage_tensor(net->image), input);
    hc_net_feed(net, input, own);
    return status;
}

static enum hc_status read_report(const struct hc_net *net, int count, float *loss, int *right)
{
    float report[2] = {0};
    enum hc_status status = hc_storage_read(net->report, report);
    *loss = hc_net_mean_loss(net, report[0], count);
    *right = (int)report[1];
    return status;
}

enum hc_status hc_net_train(struct hc_net *net, const void *images, const int32_t *labels,
                            const struct hc_tensor *scale, float *loss, int *right)
{
    enum hc_status status = upload(net, images, labels);
    if (status == HC_OK)
        status = hc_net_queue_train(net, scale);
    return status == HC_OK ? read_report(net, net->batch, loss, right) : status;
}

enum hc_status hc_net_infer(struct hc_net *net, const void *images, const int32_t *labels,
                            int count, float *loss, int *right)
{
    enum hc_status status = upload(net, images, labels);
    if (status == HC_OK)
        status = hc_net_queue_infer(net, count, hc_net_loss(net), hc_net_right(net));
    return status == HC_OK ? read_report(net, count, loss, right) : status;
}
