#include "train/drift/drift_rounding.h"

enum { NARROW, SPLIT }; /* what the two rooms are for */

/* At least so many bytes, kept for the next call. */
static void *room(struct hc_rounder *r, int which, size_t bytes)
{
    if (r->room[which].bytes < bytes) {
        hc_device_release(r->device, r->room[which].data, r->room[which].bytes);
        r->room[which].data = hc_device_memory_unset(r->device, bytes);
        r->room[which].bytes = r->room[which].data ? bytes : 0;
    }
    return r->room[which].data;
}

enum hc_status hc_rounded(struct hc_rounder *r, enum hc_format format, double *x, int64_t n)
{
    if (format == HC_FP64 || n == 0)
        return HC_OK;
    struct hc_tensor wide = hc_tensor1(HC_FP64, n, x);
    struct hc_tensor narrow = hc_tensor1(format, n, NULL);
    narrow.data = room(r, NARROW, hc_tensor_bytes(&narrow));
    enum hc_status status = narrow.data ? hc_device_cast(r->device, wide, narrow) : HC_NO_MEMORY;
    return status == HC_OK ? hc_device_cast(r->device, narrow, wide) : status;
}

static enum hc_status round_tensor(struct hc_rounder *r, enum hc_source source,
                                   const struct hc_tensor *t)
{
    return hc_rounded(r, r->rounding.format[source][0], t->data, hc_tensor_count(t));
}

static enum hc_status override(struct hc_device *device, const struct hc_call *call, void *context);

/* The call as it is. */
static enum hc_status plain(struct hc_rounder *r, struct hc_call *call)
{
    r->device->override = NULL;
    enum hc_status status = hc_device_run(r->device, call);
    r->device->override = override;
    return status;
}

static size_t padded(const struct hc_tensor *t)
{
    return (hc_tensor_bytes(t) + 63) / 64 * 64;
}

static void compute_in(struct hc_call *call, enum hc_format format)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    if (call->op == HC_OP_sgd)
        call->params.sgd.arithmetic = format;
    else if (class_ == HC_CLASS_OPTIMIZER)
        call->params.adam.arithmetic = format;
    else if (class_ == HC_CLASS_CONV)
        call->params.conv.tf32 = format == HC_TF32;
    else if (class_ == HC_CLASS_GEMM)
        call->params.gemm.tf32 = format == HC_TF32;
}

/* The call with fp32 tensors for those in fp64, its results cast back; `format` is that of its
   arithmetic, HC_FP64: as it is. */
static enum hc_status carry_out(struct hc_rounder *r, enum hc_format format,
                                const struct hc_call *call)
{
    struct hc_call narrow = *call;
    int inputs = hc_ops[call->op].inputs;
    int slots = inputs + hc_ops[call->op].outputs;
    struct hc_tensor *slot[HC_MAX_IN + HC_MAX_OUT];
    struct hc_tensor wide[HC_MAX_IN + HC_MAX_OUT];
    size_t bytes = 0;
    if (format == HC_FP64)
        return plain(r, &narrow);
    compute_in(&narrow, format);
    for (int i = 0; i < slots; i++) {
        slot[i] = i < inputs ? &narrow.in[i] : &narrow.out[i - inputs];
        wide[i] = *slot[i];
        if (wide[i].format == HC_FP64)
            slot[i]->format = HC_FP32;
        bytes += padded(slot[i]);
    }
    unsigned char *at = room(r, NARROW, bytes);
    enum hc_status status = at ? HC_OK : HC_NO_MEMORY;
    for (int i = 0; i < slots && status == HC_OK; i++) {
        if (!wide[i].data || wide[i].format != HC_FP64)
            continue;
        slot[i]->data = at;
        at += padded(slot[i]);
        if (i < inputs)
            status = hc_device_cast(r->device, wide[i], *slot[i]);
    }
    if (status == HC_OK)
        status = plain(r, &narrow);
    for (int i = inputs; i < slots && status == HC_OK; i++)
        if (wide[i].data && wide[i].format == HC_FP64)
            status = hc_device_cast(r->device, *slot[i], wide[i]);
    return status;
}

/* Batch norm and leaky ReLU one after the other: what is between them is a value, too. */
static enum hc_status norm_forward(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_format format = r->rounding.format[HC_SOURCE_NORM][0];
    struct hc_call norm = *call;
    struct hc_call leaky = {.op = HC_OP_leaky_relu,
                            .in = {call->out[0]},
                            .out = {call->out[0]},
                            .params.leaky = {call->params.bn.slope}};
    norm.op = HC_OP_bn_train;
    enum hc_status status = carry_out(r, format, &norm);
    if (status == HC_OK)
        status = round_tensor(r, HC_SOURCE_ACTIVATIONS, &call->out[0]);
    return status == HC_OK ? carry_out(r, format, &leaky) : status;
}

/* dy stays what it is: a sum's gradient is that of its other side as well. */
static enum hc_status norm_backward(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_format format = r->rounding.format[HC_SOURCE_NORM][0];
    struct hc_tensor dz = call->in[2];
    dz.data = room(r, SPLIT, hc_tensor_bytes(&dz));
    struct hc_call leaky = {.op = HC_OP_leaky_relu_bwd,
                            .in = {call->in[1], call->in[2]},
                            .out = {dz},
                            .params.leaky = {call->params.bn.slope}};
    struct hc_call norm = {
        .op = HC_OP_bn_bwd,
        .in = {call->in[0], dz, call->in[3], call->in[4], call->in[5]},
        .out = {call->out[0], call->out[1], call->out[2]},
        .params = call->params,
    };
    enum hc_status status = dz.data ? carry_out(r, format, &leaky) : HC_NO_MEMORY;
    if (status == HC_OK)
        status = round_tensor(r, HC_SOURCE_GRADIENTS, &dz);
    return status == HC_OK ? carry_out(r, format, &norm) : status;
}

/* One parameter's update. */
static enum hc_status optimize(struct hc_rounder *r, const struct hc_call *call)
{
    int p = 0;
    while (hc_update_tensor(r->update, HC_STATE_MASTER, p).data != call->in[0].data)
        p++;
    int norm = r->parameters[p]->role == HC_ROLE_NORM;
    const struct hc_tensor *g = &call->in[1];
    enum hc_status status = hc_rounded(r, r->rounding.unscaled[norm], g->data, hc_tensor_count(g));
    return status == HC_OK ? carry_out(r, r->rounding.format[HC_SOURCE_OPTIMIZER][norm], call)
                           : status;
}

/* The inputs of each op that are values of the pass, as bits; gemm's differ on the way back. */
static const unsigned values_of[HC_OP_COUNT] = {
    [HC_OP_conv2d] = 1,
    [HC_OP_bn_leaky_train] = 1,
    [HC_OP_add] = 3,
    [HC_OP_avg_pool] = 1,
    [HC_OP_xent] = 1,
    [HC_OP_gemm] = 1,
    [HC_OP_bn_leaky_bwd] = 4,
    [HC_OP_conv2d_bwd_filter] = 2,
    [HC_OP_conv2d_bwd_data] = 1,
    [HC_OP_avg_pool_bwd] = 1,
};

static enum hc_status round_inputs(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_source source = r->backward ? HC_SOURCE_GRADIENTS : HC_SOURCE_ACTIVATIONS;
    unsigned bits = values_of[call->op];
    bool bias = call->op == HC_OP_gemm && r->backward && call->out[0].shape[0] == 1;
    enum hc_status status = HC_OK;
    if (bias) /* ones x dy */
        bits = 2;
    for (int i = 0; i < HC_MAX_IN && status == HC_OK; i++)
        if (bits >> i & 1)
            status = round_tensor(r, source, &call->in[i]);
    r->backward |= call->op == HC_OP_xent_bwd;
    return status;
}

static enum hc_format arithmetic_of(const struct hc_rounder *r, enum hc_op_class class_)
{
    switch (class_) {
    case HC_CLASS_GEMM:
    case HC_CLASS_CONV:
    case HC_CLASS_POOL:
        return r->rounding.format[HC_SOURCE_ACCUMULATION][0];
    case HC_CLASS_LOSS:
        return r->rounding.format[HC_SOURCE_LOSS][0];
    default:
        return HC_FP64;
    }
}

static enum hc_status override(struct hc_device *device, const struct hc_call *call, void *context)
{
    struct hc_rounder *r = context;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    if (call->op == HC_OP_cast || call->in[0].format != HC_FP64)
        return device->backend->kernel[call->op](device->queue, call);
    enum hc_status status = round_inputs(r, call);
    if (status != HC_OK)
        return status;
    if (call->op == HC_OP_bn_leaky_train)
        return norm_forward(r, call);
    if (call->op == HC_OP_bn_leaky_bwd)
        return norm_backward(r, call);
    if (class_ == HC_CLASS_OPTIMIZER)
        return optimize(r, call);
    return carry_out(r, arithmetic_of(r, class_), call);
}

void hc_rounder_attach(struct hc_rounder *r)
{
    r->device->override = override;
    r->device->override_context = r;
}

void hc_rounder_end(struct hc_rounder *r)
{
    for (int i = 0; i < 2; i++)
        hc_device_release(r->device, r->room[i].data, r->room[i].bytes);
}
