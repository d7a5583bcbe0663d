/* A batch through the network: to the loss, and back. */
#include <math.h>

#include "train/net_inner.h"

static enum hc_status cast(struct hc_net *net, struct hc_tensor from, struct hc_tensor to)
{
    struct hc_call call = {
        .op = HC_OP_cast, .in = {from}, .out = {to}, .params.cast = {HC_NEAREST}};
    return hc_device_run(net->device, &call);
}

static enum hc_status give(struct hc_net *net, const float *images, const int32_t *labels)
{
    enum hc_status status = hc_storage_write(net->image, images);
    if (status == HC_OK)
        status = hc_storage_write(net->labels, labels);
    if (status == HC_OK)
        status = cast(net, hc_storage_tensor(net->image), hc_storage_tensor(net->input));
    return status;
}

static struct hc_tensor rows(struct hc_tensor t, int count)
{
    t.shape[0] = count;
    return t;
}

/* The loss of the first `count` images, held in the recipe's format; per image where it is a sum. */
static enum hc_status measure(struct hc_net *net, int count, float *loss)
{
    struct hc_tensor logits = rows(hc_net_value(net, net->plan.layers), count);
    struct hc_tensor labels = rows(hc_storage_tensor(net->labels), count);
    struct hc_tensor held = hc_storage_tensor(net->loss_held);
    struct hc_call call = {.op = HC_OP_xent,
                           .in = {logits, labels},
                           .out = {hc_storage_tensor(net->loss)},
                           .params.xent = {net->sum_loss}};
    uint64_t bits = 0;
    enum hc_status status = hc_device_run(net->device, &call);
    if (status == HC_OK)
        status = cast(net, hc_storage_tensor(net->loss), held);
    if (status == HC_OK)
        status = hc_storage_read(net->loss_held, &bits);
    held.data = &bits;
    double value = status == HC_OK ? hc_tensor_get(&held, 0) : 0;
    *loss = (float)(net->sum_loss ? value / count : value);
    return status;
}

static int best(const struct hc_tensor *logits, int64_t row)
{
    int64_t classes = logits->shape[1];
    int best = -1;
    double most = -(double)INFINITY;
    for (int64_t c = 0; c < classes; c++) {
        double value = hc_tensor_get(logits, row * classes + c);
        if (value > most) {
            most = value;
            best = (int)c;
        }
    }
    return best;
}

/* How many of the first `count` images have their largest logit at the label. */
static enum hc_status judge(struct hc_net *net, const int32_t *labels, int count, int *right)
{
    struct hc_tensor logits = hc_net_value(net, net->plan.layers);
    enum hc_status status = hc_storage_read(net->kept[net->plan.layers - 1].value, net->logits);
    *right = 0;
    logits.data = net->logits;
    for (int i = 0; i < count && status == HC_OK; i++)
        *right += best(&logits, i) == labels[i];
    return status;
}

enum hc_status hc_net_train(struct hc_net *net, const float *images, const int32_t *labels,
                            const struct hc_tensor *scale, float *loss, int *right)
{
    int last = net->plan.layers;
    struct hc_tensor logits =
        hc_net_shaped(net, last, net->format, net->kept[last - 1].value->data);
    struct hc_tensor dlogits = logits;
    dlogits.data = net->slots[net->slot[last]]->data;
    struct hc_call back = {.op = HC_OP_xent_bwd,
                           .in = {logits, hc_storage_tensor(net->labels), *scale},
                           .out = {dlogits},
                           .params.xent = {net->sum_loss}};
    enum hc_status status = give(net, images, labels);
    if (status == HC_OK)
        status = hc_net_forward(net, true);
    if (status == HC_OK)
        status = measure(net, net->batch, loss);
    if (status == HC_OK)
        status = judge(net, labels, net->batch, right);
    if (status == HC_OK)
        status = hc_device_run(net->device, &back);
    return status == HC_OK ? hc_net_backward(net) : status;
}

enum hc_status hc_net_infer(struct hc_net *net, const float *images, const int32_t *labels,
                            int count, float *loss, int *right)
{
    enum hc_status status = give(net, images, labels);
    if (status == HC_OK)
        status = hc_net_forward(net, false);
    if (status == HC_OK)
        status = measure(net, count, loss);
    return status == HC_OK ? judge(net, labels, count, right) : status;
}
