/* The passes of a GPT's attention, which needs a matrix for each head: qkv x gives rows of 3 x
   heads x d numbers, [text, byte, part and head, d], which two exchanges of axes (the op swap_axes)
   turn into [part, text, head, byte, d], so that queries, keys and values lie one behind the other,
   each as attention takes them. Positions turn the first two parts at once. The way back is the
   same with the angles negated, and so is the gradient's. */
#include "op/defined.h"
#include "op/params.h"
#include "train/net/net_inner.h"

enum { PARTS = 3 }; /* queries, keys, values */
static const char *const part_names[PARTS] = {".q", ".k", ".v"};

static const char activations[] = "activations.";
static const char saved[] = "saved.";
static const char activation_gradients[] = "activation_gradients.";

static const struct hc_gpt *gpt_of(const struct hc_net *net)
{
    return net->plan.network->gpt;
}

/* Exchanges the two axes in the middle of a tensor [a, b, c, d]. */
static enum hc_status swap(struct hc_net *net, int64_t a, int64_t b, int64_t c, int64_t d,
                           void *from, void *to)
{
    enum hc_format format = net->numerics.format;
    struct hc_call call = {.op = HC_OP_swap_axes,
                           .in = {[HC_SWAP_X] = hc_tensor4(format, a, b, c, d, from)},
                           .out = {[HC_SWAP_Y] = hc_tensor4(format, a, c, b, d, to)}};
    return hc_device_run(net->device, &call);
}

/* A cosine or sine for each position and number of a head. */
static struct hc_tensor table_of(const struct hc_net *net, const struct hc_storage *table)
{
    const struct hc_gpt *gpt = gpt_of(net);
    return hc_tensor2(hc_gpt_wide(net), gpt->length, gpt->width / gpt->heads, table->data);
}

/* Turns queries and keys by their positions, or back, and copies the values behind them. Without
   rotary positions all are copied. */
static enum hc_status turn(struct hc_net *net, const struct hc_storage *sines, void *from, void *to)
{
    const struct hc_gpt *gpt = gpt_of(net);
    enum hc_format format = net->numerics.format;
    int64_t d = gpt->width / gpt->heads;
    int64_t turned = 2 * (int64_t)net->batch * gpt->heads;
    int64_t values = hc_gpt_rows(net) * gpt->width;
    size_t bytes = (size_t)(2 * values) * (size_t)hc_formats[format].bytes;
    if (gpt->like_gpt2)
        return hc_device_cast(net->device, hc_tensor1(format, PARTS * values, from),
                              hc_tensor1(format, PARTS * values, to));
    struct hc_call call = {.op = HC_OP_rotary_halves,
                           .in = {[HC_ROTARY_X] = hc_tensor3(format, turned, gpt->length, d, from),
                                  [HC_ROTARY_CO] = table_of(net, net->gpt->cosines),
                                  [HC_ROTARY_SI] = table_of(net, sines)},
                           .out = {[HC_ROTARY_Y] = hc_tensor3(format, turned, gpt->length, d, to)}};
    enum hc_status status = hc_device_run(net->device, &call);
    return status == HC_OK
               ? hc_device_cast(net->device,
                                hc_tensor1(format, values, (unsigned char *)from + bytes),
                                hc_tensor1(format, values, (unsigned char *)to + bytes))
               : status;
}

/* One of the parts in `data`, as attention takes it. */
static struct hc_tensor part(const struct hc_net *net, void *data, int which)
{
    const struct hc_gpt *gpt = gpt_of(net);
    enum hc_format format = net->numerics.format;
    size_t bytes = (size_t)(hc_gpt_rows(net) * gpt->width) * (size_t)hc_formats[format].bytes;
    return hc_tensor3(format, (int64_t)net->batch * gpt->heads, gpt->length,
                      gpt->width / gpt->heads, (unsigned char *)data + (size_t)which * bytes);
}

/* A number for each row of each head. */
static struct hc_tensor lse_of(const struct hc_net *net, int l)
{
    const struct hc_gpt *gpt = gpt_of(net);
    return hc_tensor2(hc_gpt_wide(net), (int64_t)net->batch * gpt->heads, gpt->length,
                      net->gpt->kept[l].lse->data);
}

static enum hc_status attention_forward(struct hc_net *net, int l, bool training)
{
    const struct hc_gpt *gpt = gpt_of(net);
    const struct hc_gpt_kept *kept = &net->gpt->kept[l];
    int64_t d = gpt->width / gpt->heads;
    void *a = net->gpt->work[0]->data;
    void *b = net->gpt->work[1]->data;
    struct hc_tensor qkv =
        hc_tensor2(net->numerics.format, hc_gpt_rows(net), PARTS * (int64_t)gpt->width, a);
    struct hc_call call = {
        .op = HC_OP_attention,
        .in = {[HC_ATTENTION_Q] = part(net, kept->parts->data, 0),
               [HC_ATTENTION_K] = part(net, kept->parts->data, 1),
               [HC_ATTENTION_V] = part(net, kept->parts->data, 2)},
        .out = {
            [HC_ATTENTION_Y] = part(net, kept->o->data, 0), [HC_ATTENTION_LSE] = lse_of(net, l)}};
    (void)training;
    hc_params_usual(call.op, &call.params);
    enum hc_status status = hc_gpt_multiply(net, l, 0, qkv);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activations, ".qkv", qkv);
    if (status == HC_OK)
        status = swap(net, net->batch, gpt->length, PARTS * (int64_t)gpt->heads, d, a, b);
    if (status == HC_OK)
        status = swap(net, 1, net->batch, PARTS, (int64_t)gpt->width * gpt->length, b, a);
    if (status == HC_OK && !gpt->like_gpt2)
        status = hc_gpt_show(net, l, saved, ".cos", table_of(net, net->gpt->cosines));
    if (status == HC_OK && !gpt->like_gpt2)
        status = hc_gpt_show(net, l, saved, ".sin", table_of(net, net->gpt->sines));
    if (status == HC_OK)
        status = turn(net, net->gpt->sines, a, kept->parts->data);
    for (int p = 0; p < PARTS && status == HC_OK; p++)
        status = hc_gpt_show(net, l, activations, part_names[p], part(net, kept->parts->data, p));
    if (status == HC_OK)
        status = hc_device_run(net->device, &call);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activations, ".o", call.out[HC_ATTENTION_Y]);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, saved, ".lse", call.out[HC_ATTENTION_LSE]);
    return status == HC_OK ? swap(net, net->batch, gpt->heads, gpt->length, d, kept->o->data,
                                  hc_net_value(net, l + 1).data)
                           : status;
}

static enum hc_status attention_backward(struct hc_net *net, int l)
{
    const struct hc_gpt *gpt = gpt_of(net);
    const struct hc_gpt_kept *kept = &net->gpt->kept[l];
    int64_t d = gpt->width / gpt->heads;
    void *a = net->gpt->work[0]->data;
    void *b = net->gpt->work[1]->data;
    struct hc_call call = {.op = HC_OP_attention_backward,
                           .in = {[HC_ATTENTION_BWD_Q] = part(net, kept->parts->data, 0),
                                  [HC_ATTENTION_BWD_K] = part(net, kept->parts->data, 1),
                                  [HC_ATTENTION_BWD_V] = part(net, kept->parts->data, 2),
                                  [HC_ATTENTION_BWD_O] = part(net, kept->o->data, 0),
                                  [HC_ATTENTION_BWD_LSE] = lse_of(net, l),
                                  [HC_ATTENTION_BWD_DY] = part(net, b, 0)},
                           .out = {[HC_ATTENTION_BWD_DQ] = part(net, a, 0),
                                   [HC_ATTENTION_BWD_DK] = part(net, a, 1),
                                   [HC_ATTENTION_BWD_DV] = part(net, a, 2)}};
    hc_params_usual(call.op, &call.params);
    enum hc_status status = swap(net, net->batch, gpt->length, gpt->heads, d,
                                 hc_net_value_gradient(net, l + 1).data, b);
    if (status == HC_OK)
        status = hc_device_run(net->device, &call);
    for (int p = 0; p < PARTS && status == HC_OK; p++)
        status = hc_gpt_show(net, l, activation_gradients, part_names[p], part(net, a, p));
    if (status == HC_OK)
        status = turn(net, net->gpt->negated, a, b);
    if (status == HC_OK)
        status = swap(net, 1, PARTS, net->batch, (int64_t)gpt->width * gpt->length, b, a);
    if (status == HC_OK)
        status = swap(net, net->batch, PARTS * (int64_t)gpt->heads, gpt->length, d, a, b);
    struct hc_tensor dqkv =
        hc_tensor2(net->numerics.format, hc_gpt_rows(net), PARTS * (int64_t)gpt->width, b);
    if (status == HC_OK)
        status = hc_gpt_show(net, l, activation_gradients, ".qkv", dqkv);
    if (status == HC_OK)
        status = hc_gpt_multiply_back(net, l, 0, dqkv, hc_net_share_of(net, l));
    return status == HC_OK ? hc_net_add_share(net, l) : status;
}

const struct hc_layer_pass hc_attention_pass = {attention_forward, attention_backward};
