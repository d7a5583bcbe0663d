/* hc_op_call: a call from the rows of op_space.c and the letters of op/contract.h. */
#include "check/generate/op_space.h"
#include "op/contract.h"

static struct hc_tensor rank4(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return hc_tensor4(HC_FP32, n, h, w, c, NULL);
}

static struct hc_tensor rank2(int64_t rows, int64_t columns, bool transposed)
{
    return transposed ? hc_tensor2(HC_FP32, columns, rows, NULL)
                      : hc_tensor2(HC_FP32, rows, columns, NULL);
}

static void gemm(struct hc_call *call, const int64_t *d, bool row)
{
    const struct hc_gemm *p = &call->params.gemm;
    call->in[0] = rank2(d[0], d[2], p->transpose_a);
    call->in[1] = rank2(d[2], d[1], p->transpose_b);
    call->in[2] = row ? hc_tensor1(HC_FP32, d[1], NULL) : rank2(d[0], d[1], false);
    call->out[0] = rank2(d[0], d[1], false);
}

static void conv(struct hc_call *call, const int64_t *d)
{
    int64_t p = (d[1] + 2 * d[7] - d[5]) / d[6] + 1;
    int64_t q = (d[2] + 2 * d[7] - d[5]) / d[6] + 1;
    struct hc_tensor x = rank4(d[0], d[1], d[2], d[3]);
    struct hc_tensor w = rank4(d[4], d[5], d[5], d[3]);
    struct hc_tensor y = rank4(d[0], p, q, d[4]);
    bool data = call->op == HC_OP_conv2d_bwd_data;
    bool filter = call->op == HC_OP_conv2d_bwd_filter;
    call->params.conv = (struct hc_conv){.stride = (int)d[6], .pad = (int)d[7]};
    call->in[0] = data ? y : x;
    call->in[1] = filter ? y : w;
    call->out[0] = data ? x : filter ? w : y;
}

static void pool(struct hc_call *call, const int64_t *d)
{
    bool backward = call->op == HC_OP_avg_pool_bwd;
    struct hc_tensor x = rank4(d[0], d[1], d[2], d[3]);
    struct hc_tensor y = rank4(d[0], d[1] / d[4], d[2] / d[4], d[3]);
    call->params.pool.window = (int)d[4];
    call->in[0] = backward ? y : x;
    call->out[0] = backward ? x : y;
}

/* The shapes that the contract's counts leave open: in0's, and all of those with a '.'. */
static void open_shapes(struct hc_call *call, const int64_t *d, bool row)
{
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_GEMM:
        gemm(call, d, row);
        break;
    case HC_CLASS_CONV:
        conv(call, d);
        break;
    case HC_CLASS_POOL:
        pool(call, d);
        break;
    case HC_CLASS_NORM:
        call->in[0] = rank4(d[0], d[1], d[2], d[3]);
        break;
    case HC_CLASS_CONTROL:
        call->in[0] = rank2(d[0], call->op == HC_OP_step_log ? 4 : 2, false);
        break;
    case HC_CLASS_LOSS:
        call->in[0] = rank2(d[0], d[1], false);
        call->in[1] = hc_tensor1(HC_I32, d[0], NULL);
        break;
    default:
        call->in[0] = hc_tensor1(HC_FP32, d[0], NULL);
    }
}

static void set_format(struct hc_call *call, int slot, const struct hc_format_set *set)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    bool output = slot >= op->inputs;
    struct hc_tensor *t = output ? &call->out[slot - op->inputs] : &call->in[slot];
    char letter = hc_contracts[call->op].formats[slot];
    bool state = hc_contracts[call->op].counts[slot] == 'c' ||
                 (op->class_ == HC_CLASS_OPTIMIZER && slot != 1);
    if (letter >= '0' && letter <= '9')
        t->format = call->in[letter - '0'].format;
    else if (letter == 'c')
        t->format = call->in[0].format;
    else if (letter == 'f' || letter == 'o')
        t->format = HC_FP32;
    else if (letter == 'g' || letter == 'q')
        t->format = set->in == HC_FP64 ? HC_FP64 : HC_FP32;
    else if (letter == 'i')
        t->format = HC_I32;
    else
        t->format = state ? set->state : output || letter == 'b' ? set->out : set->in;
}

/* The contract's letter of a slot. */
static char letter_of(enum hc_op op, int slot)
{
    return hc_contracts[op].formats[slot];
}

bool hc_op_absent(const struct hc_call *call, int slot)
{
    int inputs = hc_ops[call->op].inputs;
    const struct hc_tensor *t = slot < inputs ? &call->in[slot] : &call->out[slot - inputs];
    char letter = letter_of(call->op, slot);
    return (letter == 'o' || letter == 'c') && t->shape[0] == 0;
}

struct hc_call hc_op_call(enum hc_op op, const struct hc_format_set *set,
                          const struct hc_op_shape *shape, const struct hc_variant *variant)
{
    struct hc_call call = {.op = op, .params = variant->params};
    const char *counts = hc_contracts[op].counts;
    int inputs = hc_ops[op].inputs;
    open_shapes(&call, shape->d, variant->row);
    const struct hc_tensor *x = &call.in[0];
    for (int i = 0; i < inputs + hc_ops[op].outputs; i++) {
        struct hc_tensor *t = i < inputs ? &call.in[i] : &call.out[i - inputs];
        if (counts[i] == 'n')
            *t = *x;
        else if (counts[i] == 'c')
            *t = hc_tensor1(HC_FP32, x->shape[x->rank - 1], NULL);
        else if (counts[i] != '.')
            *t = hc_tensor1(HC_FP32, counts[i] - '0', NULL);
        if ((variant->bare && letter_of(op, i) == 'o') ||
            (!variant->compensated && letter_of(op, i) == 'c'))
            *t = hc_tensor1(HC_FP32, 0, NULL);
        set_format(&call, i, set);
    }
    if (op == HC_OP_unscale && call.out[0].format != HC_FP32)
        call.in[3] = hc_tensor1(HC_FP32, 0, NULL);
    if (hc_ops[op].class_ == HC_CLASS_REDUCTION)
        call.params.reduce.accumulator = set->work;
    if (op == HC_OP_gemm) {
        call.params.gemm.tf32 = set->work == HC_TF32;
        call.params.gemm.half_accumulator = set->work == HC_FP16;
    }
    if (hc_ops[op].class_ == HC_CLASS_CONV)
        call.params.conv.tf32 = set->work == HC_TF32;
    if (op == HC_OP_sgd)
        call.params.sgd.arithmetic = set->work;
    if (op == HC_OP_adam || op == HC_OP_adamw) {
        call.params.adam.arithmetic = set->work;
        if (set->work != HC_FP32) /* 1e-8 is 0 there: see cases/eps */
            call.params.adam.eps = 0x1p-6;
    }
    return call;
}
