/* A batch through the network, to the loss and back. */
#include <assert.h>

#include "train/net/net_inner.h"

static struct hc_tensor rows(struct hc_tensor t, int count)
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
static enum hc_status measure(struct hc_net *net, int count, struct hc_tensor loss,
                              struct hc_tensor right)
{
    struct hc_call call = {
        .op = HC_OP_xent,
        .in = {[HC_XENT_LOGITS] = rows(hc_net_value(net, net->plan.layers), count),
               [HC_XENT_LABELS] = rows(net->labels, count)},
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
    assert(images.format == net->numerics.format &&
           hc_tensor_count(&images) == hc_tensor_count(&own));
    assert(labels.format == HC_I32 && hc_tensor_count(&labels) == net->batch);
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
    return (float)(net->numerics.sum_loss ? (double)loss / count : (double)loss);
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
    enum hc_status status = hc_net_forward(net, true);
    if (net->wide_report) {
        back.in[HC_XENT_UPSTREAM] = wide(net, HC_WIDE_SCALE);
        status = status == HC_OK ? hc_device_cast(net->device, *scale, back.in[HC_XENT_UPSTREAM])
                                 : status;
    }
    if (status == HC_OK)
        status = measure(net, net->batch, hc_net_loss(net), hc_net_right(net));
    if (status == HC_OK)
        status = hc_device_run(net->device, &back);
    if (status == HC_OK)
        status = hc_net_backward(net);
    return status == HC_OK && net->quant ? hc_quant_update(net->quant) : status;
}

enum hc_status hc_net_queue_infer(struct hc_net *net, int count, struct hc_tensor loss,
                                  struct hc_tensor right)
{
    enum hc_status status = hc_net_forward(net, false);
    return status == HC_OK ? measure(net, count, loss, right) : status;
}

/* Uploads a batch from host memory and feeds it to the next passes. */
static enum hc_status upload(struct hc_net *net, const float *images, const int32_t *labels)
{
    struct hc_tensor own = hc_storage_tensor(net->own_labels);
    struct hc_tensor input = hc_storage_tensor(net->input);
    enum hc_status status = hc_storage_write(net->image, images);
    if (status == HC_OK)
        status = hc_storage_write(net->own_labels, labels);
    if (status == HC_OK)
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

enum hc_status hc_net_train(struct hc_net *net, const float *images, const int32_t *labels,
                            const struct hc_tensor *scale, float *loss, int *right)
{
    enum hc_status status = upload(net, images, labels);
    if (status == HC_OK)
        status = hc_net_queue_train(net, scale);
    return status == HC_OK ? read_report(net, net->batch, loss, right) : status;
}

enum hc_status hc_net_infer(struct hc_net *net, const float *images, const int32_t *labels,
                            int count, float *loss, int *right)
{
    enum hc_status status = upload(net, images, labels);
    if (status == HC_OK)
        status = hc_net_queue_infer(net, count, hc_net_loss(net), hc_net_right(net));
    return status == HC_OK ? read_report(net, count, loss, right) : status;
}
