#include "benches/inner/calls.h"

#include <assert.h>
#include <stddef.h>

enum { SIDE = 16, CHANNELS = 64, IMAGE = SIDE * SIDE * CHANNELS };

static struct hc_tensor activations(enum hc_format format, int64_t n)
{
    return hc_tensor4(format, n, SIDE, SIDE, CHANNELS, NULL);
}

static struct hc_tensor filters(enum hc_format format)
{
    return hc_tensor4(format, CHANNELS, 3, 3, CHANNELS, NULL);
}

static struct hc_tensor list(enum hc_format format, int64_t n)
{
    return hc_tensor1(format, n * IMAGE, NULL);
}

static struct hc_tensor scalars(int64_t n)
{
    return hc_tensor1(HC_FP32, n, NULL);
}

struct hc_call hc_cast_call(enum hc_format format, int64_t n)
{
    return (struct hc_call){.op = HC_OP_cast,
                            .params.cast.direction = HC_NEAREST,
                            .in = {list(HC_FP32, n)},
                            .out = {list(format, n)}};
}

struct hc_call hc_copy_call(enum hc_format format, int64_t n)
{
    (void)format;
    return hc_cast_call(HC_FP32, n);
}

struct hc_call hc_unscale_call(enum hc_format format, int64_t n)
{
    return (struct hc_call){.op = HC_OP_unscale,
                            .in = {list(format, n), scalars(1), scalars(1)},
                            .out = {list(HC_FP32, n), scalars(1)}};
}

struct hc_call hc_sum_call(enum hc_format format, int64_t n)
{
    return (struct hc_call){.op = HC_OP_sum,
                            .params.reduce.accumulator = HC_FP32,
                            .in = {list(format, n)},
                            .out = {scalars(1)}};
}

struct hc_call hc_leaky_call(enum hc_format format, int64_t n)
{
    return (struct hc_call){.op = HC_OP_leaky_relu,
                            .params.leaky.slope = 0.1,
                            .in = {list(format, n)},
                            .out = {list(format, n)}};
}

struct hc_call hc_leaky_bwd_call(enum hc_format format, int64_t n)
{
    return (struct hc_call){.op = HC_OP_leaky_relu_bwd,
                            .params.leaky.slope = 0.1,
                            .in = {list(format, n), list(format, n)},
                            .out = {list(format, n)}};
}

/* The first `images` inputs are activations, the others have a number for each channel. */
static struct hc_call norm_call(enum hc_op op, int images, enum hc_format format, int64_t n)
{
    struct hc_call call = {.op = op, .params.bn = {.eps = 1e-5, .momentum = 0.1, .slope = 0.1}};
    for (int i = 0; i < hc_ops[op].inputs; i++)
        call.in[i] = i < images ? activations(format, n) : scalars(CHANNELS);
    for (int i = 0; i < hc_ops[op].outputs; i++)
        call.out[i] = i == HC_FIRST ? activations(format, n) : scalars(CHANNELS);
    return call;
}

struct hc_call hc_bn_train_call(enum hc_format format, int64_t n)
{
    return norm_call(HC_OP_bn_train, 1, format, n);
}

struct hc_call hc_bn_infer_call(enum hc_format format, int64_t n)
{
    return norm_call(HC_OP_bn_infer, 1, format, n);
}

struct hc_call hc_bn_bwd_call(enum hc_format format, int64_t n)
{
    return norm_call(HC_OP_bn_bwd, 2, format, n);
}

struct hc_call hc_bn_leaky_train_call(enum hc_format format, int64_t n)
{
    return norm_call(HC_OP_bn_leaky_train, 1, format, n);
}

struct hc_call hc_bn_leaky_bwd_call(enum hc_format format, int64_t n)
{
    return norm_call(HC_OP_bn_leaky_bwd, 3, format, n);
}

struct hc_call hc_sgd_call(enum hc_format format, int64_t n)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd.arithmetic = format};
    call.in[HC_SGD_W] = call.in[HC_SGD_G] = call.in[HC_SGD_MOMENTUM] = list(format, n);
    call.in[HC_SGD_HYPER] = scalars(HC_HYPER_COUNT);
    call.out[HC_SGD_NEW_W] = call.out[HC_SGD_NEW_MOMENTUM] = list(format, n);
    return call;
}

struct hc_call hc_adamw_call(enum hc_format format, int64_t n)
{
    struct hc_call call = {.op = HC_OP_adamw, .params.adam = {.beta2 = 0.99, .eps = 1e-8}};
    call.params.adam.arithmetic = format;
    call.in[HC_ADAM_W] = call.in[HC_ADAM_G] = list(format, n);
    call.in[HC_ADAM_M] = call.in[HC_ADAM_V] = list(format, n);
    call.in[HC_ADAM_HYPER] = scalars(HC_HYPER_COUNT);
    call.out[HC_ADAM_NEW_W] = call.out[HC_ADAM_NEW_M] = call.out[HC_ADAM_NEW_V] = list(format, n);
    return call;
}

/* tf32 is a way to multiply fp32 numbers, which are stored as they are. */
static enum hc_format stored(enum hc_format format)
{
    return format == HC_TF32 ? HC_FP32 : format;
}

struct hc_call hc_conv_call(enum hc_format format, int64_t n)
{
    bool tf32 = format == HC_TF32;
    format = stored(format);
    return (struct hc_call){.op = HC_OP_conv2d,
                            .params.conv = {.stride = 1, .pad = 1, .tf32 = tf32},
                            .in = {activations(format, n), filters(format)},
                            .out = {activations(format, n)}};
}

struct hc_call hc_conv_data_call(enum hc_format format, int64_t n)
{
    struct hc_call call = hc_conv_call(format, n);
    call.op = HC_OP_conv2d_bwd_data;
    return call;
}

struct hc_call hc_conv_filter_call(enum hc_format format, int64_t n)
{
    bool tf32 = format == HC_TF32;
    format = stored(format);
    return (struct hc_call){.op = HC_OP_conv2d_bwd_filter,
                            .params.conv = {.stride = 1, .pad = 1, .tf32 = tf32},
                            .in = {activations(format, n), activations(format, n)},
                            .out = {filters(format)}};
}

struct hc_call hc_gemm_call(enum hc_format format, int64_t n)
{
    struct hc_tensor square = hc_tensor2(stored(format), 8 * n, 8 * n, NULL);
    return (struct hc_call){.op = HC_OP_gemm,
                            .params.gemm = {.alpha = 1, .tf32 = format == HC_TF32},
                            .in = {square, square},
                            .out = {square}};
}

static double bytes_of(const struct hc_tensor *t)
{
    return t->rank ? (double)hc_tensor_bytes(t) : 0;
}

double hc_call_bytes(const struct hc_call *call)
{
    double bytes = 0;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        bytes += bytes_of(&call->in[i]);
    for (int i = 0; i < hc_ops[call->op].outputs; i++)
        bytes += bytes_of(&call->out[i]);
    return bytes;
}

double hc_call_operations(const struct hc_call *call)
{
    double rows = (double)call->in[HC_FIRST].shape[0];
    if (call->op == HC_OP_gemm)
        return 2 * rows * rows * rows;
    assert(hc_ops[call->op].class_ == HC_CLASS_CONV);
    return 2 * rows * IMAGE * CHANNELS * 9;
}
