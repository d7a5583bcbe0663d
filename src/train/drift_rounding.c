#include "train/drift_rounding.h"

#include <stdlib.h>

const char *const hc_source_names[HC_SOURCE_COUNT] = {
    [HC_SOURCE_WEIGHTS] = "weights",     [HC_SOURCE_ACTIVATIONS] = "activations",
    [HC_SOURCE_GRADIENTS] = "gradients", [HC_SOURCE_WEIGHT_GRADIENTS] = "weight gradients",
    [HC_SOURCE_NORM] = "batch norm",     [HC_SOURCE_ACCUMULATION] = "accumulation",
    [HC_SOURCE_STATE] = "momenta",       [HC_SOURCE_MASTER] = "master copy",
};

struct hc_rounding hc_rounding_of(const struct hc_recipe *r)
{
    bool wide = r->model == HC_FP64;
    return (struct hc_rounding){
        {[HC_SOURCE_WEIGHTS] = r->model,
         [HC_SOURCE_ACTIVATIONS] = r->model,
         [HC_SOURCE_GRADIENTS] = r->model,
         [HC_SOURCE_WEIGHT_GRADIENTS] = r->model,
         [HC_SOURCE_NORM] = r->norm,
         [HC_SOURCE_ACCUMULATION] = wide ? HC_FP64 : HC_FP32,
         [HC_SOURCE_STATE] = r->state,
         [HC_SOURCE_MASTER] = r->masters == HC_MASTERS_NONE ? r->model : HC_FP32}};
}

void hc_rounded(enum hc_format format, double *x, int64_t n)
{
    for (int64_t i = 0; i < n && format != HC_FP64; i++)
        x[i] = hc_round(format, x[i]);
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

static void round_inputs(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_source source = r->backward ? HC_SOURCE_GRADIENTS : HC_SOURCE_ACTIVATIONS;
    unsigned bits = values_of[call->op];
    bool bias = call->op == HC_OP_gemm && r->backward && call->out[0].shape[0] == 1;
    if (bias) /* ones x dy */
        bits = 2;
    for (int i = 0; i < HC_MAX_IN; i++)
        if (bits >> i & 1)
            hc_rounded(r->rounding->format[source], call->in[i].data,
                       hc_tensor_count(&call->in[i]));
    r->backward |= call->op == HC_OP_xent_bwd;
}

static enum hc_status cast(struct hc_device *device, struct hc_tensor from, struct hc_tensor to)
{
    struct hc_call call = {.op = HC_OP_cast, .in = {from}, .out = {to}};
    return hc_device_run(device, &call);
}

/* The call with fp32 tensors, its results cast back. */
static enum hc_status narrowed(struct hc_device *device, const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    struct hc_call narrow = *call;
    void *memory[HC_MAX_IN + HC_MAX_OUT] = {NULL};
    enum hc_status status = HC_OK;
    for (int i = 0; i < op->inputs + op->outputs && status == HC_OK; i++) {
        bool output = i >= op->inputs;
        struct hc_tensor *t = output ? &narrow.out[i - op->inputs] : &narrow.in[i];
        struct hc_tensor wide = *t;
        if (!t->data)
            continue;
        t->format = HC_FP32;
        t->data = memory[i] = device->backend->allocate(device->queue, hc_tensor_bytes(t));
        status = !t->data ? HC_NO_MEMORY : output ? HC_OK : cast(device, wide, *t);
    }
    if (status == HC_OK)
        status = hc_device_run(device, &narrow);
    for (int o = 0; o < op->outputs && status == HC_OK; o++)
        if (call->out[o].data)
            status = cast(device, narrow.out[o], call->out[o]);
    for (int i = 0; i < op->inputs + op->outputs; i++)
        if (memory[i])
            device->backend->release(device->queue, memory[i]);
    return status;
}

static enum hc_status run(struct hc_device *device, const struct hc_call *call, void *context)
{
    struct hc_rounder *r = context;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    if (call->op != HC_OP_cast && call->in[0].format == HC_FP64) {
        round_inputs(r, call);
        const enum hc_format *format = r->rounding->format;
        bool product = class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV;
        if ((product && format[HC_SOURCE_ACCUMULATION] != HC_FP64) ||
            (class_ == HC_CLASS_NORM && format[HC_SOURCE_NORM] != HC_FP64))
            return narrowed(device, call);
    }
    return device->backend->kernel[call->op](device->queue, call);
}

void hc_rounder_attach(struct hc_rounder *rounder, struct hc_device *device)
{
    device->instead = run;
    device->instead_context = rounder;
}
