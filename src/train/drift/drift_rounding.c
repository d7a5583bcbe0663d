#include "train/drift/drift_rounding.h"

#include "op/descriptor.h"

void *hc_rounder_buffer(struct hc_rounder *r, int which, size_t bytes)
{
    if (r->buffer[which].bytes < bytes) {
        hc_device_release(r->device, r->buffer[which].data, r->buffer[which].bytes);
        r->buffer[which].data = hc_device_memory_unset(r->device, bytes);
        r->buffer[which].bytes = r->buffer[which].data ? bytes : 0;
    }
    return r->buffer[which].data;
}

enum hc_status hc_rounded(struct hc_rounder *r, enum hc_format format, double *x, int64_t n)
{
    if (format == HC_FP64 || n == 0)
        return HC_OK;
    struct hc_tensor wide = hc_tensor1(HC_FP64, n, x);
    struct hc_tensor narrow = hc_tensor1(format, n, NULL);
    narrow.data = hc_rounder_buffer(r, HC_ROUNDER_NARROW, hc_tensor_bytes(&narrow));
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

/* Carries the call out with narrow tensors in place of those in fp64, and casts its results back:
   inputs in the format `factors`, outputs in fp32. `format` is that of its arithmetic; HC_FP64: the
   call runs as it is. */
static enum hc_status carry_out_with(struct hc_rounder *r, enum hc_format factors,
                                     enum hc_format format, const struct hc_call *call)
{
    struct hc_call narrow = *call;
    int inputs = hc_ops[call->op].inputs;
    int slots = inputs + hc_ops[call->op].outputs;
    struct hc_tensor *slot[HC_MAX_IN + HC_MAX_OUT];
    struct hc_tensor wide[HC_MAX_IN + HC_MAX_OUT];
    size_t bytes = 0;
    if (format == HC_FP64)
        return plain(r, &narrow);
    hc_call_compute_in(&narrow, format);
    for (int i = 0; i < slots; i++) {
        slot[i] = i < inputs ? &narrow.in[i] : &narrow.out[i - inputs];
        wide[i] = *slot[i];
        if (wide[i].format == HC_FP64)
            slot[i]->format = i < inputs ? factors : HC_FP32;
        bytes += padded(slot[i]);
    }
    unsigned char *at = hc_rounder_buffer(r, HC_ROUNDER_NARROW, bytes);
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

enum hc_status hc_carried_out(struct hc_rounder *r, enum hc_format format,
                              const struct hc_call *call)
{
    return carry_out_with(r, HC_FP32, format, call);
}

/* Batch norm and leaky ReLU one after the other, because what passes between them is a value that
   is rounded, too. */
static enum hc_status norm_forward(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_format format = r->rounding.format[HC_SOURCE_NORM][0];
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    struct hc_call norm = *call;
    struct hc_call leaky = {.op = HC_OP_leaky_relu,
                            .in = {[HC_LEAKY_X] = *y},
                            .out = {[HC_LEAKY_Y] = *y},
                            .params.leaky = {call->params.bn.slope}};
    norm.op = HC_OP_bn_train;
    enum hc_status status = hc_carried_out(r, format, &norm);
    if (status == HC_OK)
        status = round_tensor(r, HC_SOURCE_ACTIVATIONS, y);
    return status == HC_OK ? hc_carried_out(r, format, &leaky) : status;
}

/* dz gets memory of its own: dy must stay as it is, since the gradient of a sum is also that of the
   sum's other side. */
static enum hc_status norm_backward(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_format format = r->rounding.format[HC_SOURCE_NORM][0];
    struct hc_tensor dy = call->in[HC_BN_LEAKY_BWD_DY];
    struct hc_tensor dz = dy;
    dz.data = hc_rounder_buffer(r, HC_ROUNDER_SPLIT, hc_tensor_bytes(&dz));
    struct hc_call leaky = {
        .op = HC_OP_leaky_relu_bwd,
        .in = {[HC_LEAKY_BWD_Y] = call->in[HC_BN_LEAKY_BWD_Y], [HC_LEAKY_BWD_DY] = dy},
        .out = {[HC_LEAKY_BWD_DX] = dz},
        .params.leaky = {call->params.bn.slope}};
    struct hc_call norm = {.op = HC_OP_bn_bwd,
                           .in = {[HC_BN_BWD_X] = call->in[HC_BN_LEAKY_BWD_X],
                                  [HC_BN_BWD_DY] = dz,
                                  [HC_BN_BWD_GAMMA] = call->in[HC_BN_LEAKY_BWD_GAMMA],
                                  [HC_BN_BWD_MEAN] = call->in[HC_BN_LEAKY_BWD_MEAN],
                                  [HC_BN_BWD_INVSTD] = call->in[HC_BN_LEAKY_BWD_INVSTD]},
                           .out = {[HC_BN_BWD_DX] = call->out[HC_BN_BWD_DX],
                                   [HC_BN_BWD_DGAMMA] = call->out[HC_BN_BWD_DGAMMA],
                                   [HC_BN_BWD_DBETA] = call->out[HC_BN_BWD_DBETA]},
                           .params = call->params};
    enum hc_status status = dz.data ? hc_carried_out(r, format, &leaky) : HC_NO_MEMORY;
    if (status == HC_OK)
        status = round_tensor(r, HC_SOURCE_GRADIENTS, &dz);
    return status == HC_OK ? hc_carried_out(r, format, &norm) : status;
}

/* One parameter's update. */
static enum hc_status optimize(struct hc_rounder *r, const struct hc_call *call)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call->op);
    const struct hc_tensor *g = &call->in[s->g];
    int p = 0;
    while (hc_update_tensor(r->update, HC_STATE_MASTER, p).data != call->in[s->w].data)
        p++;
    int norm = r->parameters[p]->role == HC_ROLE_NORM;
    enum hc_status status = hc_rounded(r, r->rounding.unscaled[norm], g->data, hc_tensor_count(g));
    return status == HC_OK ? hc_carried_out(r, r->rounding.format[HC_SOURCE_OPTIMIZER][norm], call)
                           : status;
}

/* Whether this call is the first to read the input since it was computed: activations are read by
   the forward pass, gradients by the backward pass. The loss's gradient reads the logits again; a
   gemm reads activations or gradients from A, save that of a bias, which is ones x dy. */
static bool is_new(const struct hc_rounder *r, const struct hc_call *call, int slot)
{
    enum hc_pass_data pass = hc_slot(call->op, slot)->pass;
    if (call->op == HC_OP_xent_bwd || call->op == HC_OP_cast)
        return false;
    if (call->op == HC_OP_gemm) {
        bool bias = r->backward && call->out[HC_GEMM_OUT].shape[0] == 1;
        return slot == (bias ? HC_GEMM_B : HC_GEMM_A);
    }
    return pass == HC_PASS_EITHER || pass == (r->backward ? HC_PASS_GRADIENT : HC_PASS_ACTIVATION);
}

static enum hc_status round_inputs(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_source source = r->backward ? HC_SOURCE_GRADIENTS : HC_SOURCE_ACTIVATIONS;
    enum hc_status status = HC_OK;
    for (int i = 0; i < hc_ops[call->op].inputs && status == HC_OK; i++)
        if (is_new(r, call, i))
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
    if (call->op == HC_OP_cast || call->in[HC_FIRST].format != HC_FP64)
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
    enum hc_format unit = r->rounding.format[HC_SOURCE_UNIT][0];
    if (unit != HC_FP64 && (class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV))
        return carry_out_with(r, unit, HC_FP32, call);
    return hc_carried_out(r, arithmetic_of(r, class_), call);
}

void hc_rounder_attach(struct hc_rounder *r)
{
    r->device->override = override;
    r->device->override_context = r;
}

void hc_rounder_end(struct hc_rounder *r)
{
    for (int i = 0; i < HC_ROUNDER_BUFFERS; i++)
        hc_device_release(r->device, r->buffer[i].data, r->buffer[i].bytes);
}
