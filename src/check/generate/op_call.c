/* hc_op_call: a call from the rows of op_space.c and the op's descriptor. */
#include "check/generate/op_quant.h"
#include "check/generate/op_space.h"
#include "op/descriptor.h"

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
    call->in[HC_GEMM_A] = rank2(d[0], d[2], p->transpose_a);
    call->in[HC_GEMM_B] = rank2(d[2], d[1], p->transpose_b);
    call->in[HC_GEMM_C] = row ? hc_tensor1(HC_FP32, d[1], NULL) : rank2(d[0], d[1], false);
    call->out[HC_GEMM_OUT] = rank2(d[0], d[1], false);
}

static struct hc_tensor block_scales(const struct hc_tensor *codes, int64_t rows, int64_t columns)
{
    return rank2(hc_quant_blocks(codes->shape[0], rows), hc_quant_blocks(codes->shape[1], columns),
                 false);
}

static void gemm_q(struct hc_call *call, const int64_t *d)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    *a = rank2(d[0], d[2], false);
    *b = rank2(d[1], d[2], false);
    call->in[HC_GEMM_Q_C] = rank2(d[0], d[1], false);
    call->in[HC_GEMM_Q_A_SCALES] = block_scales(a, p->a_rows, p->a_columns);
    call->in[HC_GEMM_Q_B_SCALES] = block_scales(b, p->b_rows, p->b_columns);
    call->out[HC_GEMM_Q_OUT] = rank2(d[0], d[1], false);
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
    call->in[HC_CONV_FIRST] = data ? y : x;
    call->in[HC_CONV_SECOND] = filter ? y : w;
    call->out[HC_CONV_RESULT] = data ? x : filter ? w : y;
}

static void pool(struct hc_call *call, const int64_t *d)
{
    bool backward = call->op == HC_OP_avg_pool_bwd;
    struct hc_tensor x = rank4(d[0], d[1], d[2], d[3]);
    struct hc_tensor y = rank4(d[0], d[1] / d[4], d[2] / d[4], d[3]);
    call->params.pool.window = (int)d[4];
    call->in[HC_FIRST] = backward ? y : x;
    call->out[HC_FIRST] = backward ? x : y;
}

static void columns(struct hc_call *call, const int64_t *d)
{
    int64_t p = (d[1] + 2 * d[7] - d[5]) / d[6] + 1;
    int64_t q = (d[2] + 2 * d[7] - d[5]) / d[6] + 1;
    struct hc_tensor x = rank4(d[0], d[1], d[2], d[3]);
    struct hc_tensor matrix = rank2(d[0] * p * q, d[5] * d[5] * d[3], false);
    bool back = call->op == HC_OP_col2im;
    call->params.columns = (struct hc_columns){(int)d[5], (int)d[6], (int)d[7]};
    call->in[HC_FIRST] = back ? matrix : x;
    call->out[HC_FIRST] = back ? x : matrix;
}

static void average(struct hc_call *call, const int64_t *d)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    call->in[HC_ALL_REDUCE_X] = rank2(d[0], d[1], false);
    call->out[HC_ALL_REDUCE_OUT] = hc_tensor1(HC_FP32, d[1], NULL);
    p->before = p->before == 0 ? (double)d[0] : p->before;
    p->after = p->after == 0 ? (double)d[0] : p->after;
}

/* The shapes that the descriptor leaves open: the first input's, and those of HC_SIZE_RULE. */
static void open_shapes(struct hc_call *call, const int64_t *d, bool row)
{
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_GEMM:
        if (call->op == HC_OP_gemm_q)
            gemm_q(call, d);
        else
            gemm(call, d, row);
        break;
    case HC_CLASS_CONV:
        conv(call, d);
        break;
    case HC_CLASS_POOL:
        pool(call, d);
        break;
    case HC_CLASS_NORM:
        call->in[HC_BN_X] = rank4(d[0], d[1], d[2], d[3]);
        if (call->op == HC_OP_bn_combine)
            call->in[HC_BN_COMBINE_COUNTS] = hc_tensor1(HC_I32, d[0] * d[1] * d[2], NULL);
        break;
    case HC_CLASS_CONTROL:
        call->in[HC_FIRST] =
            rank2(d[0], call->op == HC_OP_step_log ? HC_STEP_LOG_COLUMNS : HC_TABLE_COLUMNS, false);
        break;
    case HC_CLASS_COLLECTIVE:
        average(call, d);
        break;
    case HC_CLASS_LOSS:
        call->in[HC_XENT_LOGITS] = rank2(d[0], d[1], false);
        call->in[HC_XENT_LABELS] = hc_tensor1(HC_I32, d[0], NULL);
        break;
    case HC_CLASS_QUANT:
        if (call->op == HC_OP_im2col || call->op == HC_OP_col2im)
            columns(call, d);
        break;
    default:
        call->in[HC_FIRST] = hc_tensor1(HC_FP32, d[0], NULL);
    }
}

static void set_format(struct hc_call *call, int number, const struct hc_format_set *set)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_slot *slot = hc_slot(call->op, number);
    struct hc_tensor *t = hc_slot_tensor(call, number);
    bool output = number >= op->inputs;
    bool state = slot->size == HC_SIZE_CHANNELS ||
                 (op->class_ == HC_CLASS_OPTIMIZER && number != hc_optimizer_slots(call->op)->g);
    bool addend = op->class_ == HC_CLASS_GEMM && number == HC_GEMM_C;
    switch (slot->format) {
    case HC_ALLOW_LIKE:
        t->format = call->in[slot->like].format;
        break;
    case HC_ALLOW_LIKE_OR_FP8:
        t->format = hc_is_fp8(set->in) ? set->state : set->in;
        break;
    case HC_ALLOW_LIKE_CODES:
        t->format = set->state;
        break;
    case HC_ALLOW_SCALES:
        t->format = set->work;
        break;
    case HC_ALLOW_FP32:
        t->format = HC_FP32;
        break;
    case HC_ALLOW_WIDE:
        t->format = set->in == HC_FP64 ? HC_FP64 : HC_FP32;
        break;
    case HC_ALLOW_I32:
        t->format = HC_I32;
        break;
    default:
        t->format = state ? set->state : output || addend ? set->out : set->in;
    }
}

/* Of the slots that may be absent, those of a compensation hold state, and the others in fp32 a
   scalar, a flag or an override; C of a product is one of them, too. */
static bool is_compensation(const struct hc_slot *slot)
{
    return slot->optional && slot->format == HC_ALLOW_LIKE;
}

static bool is_extra(const struct hc_slot *slot)
{
    return slot->optional &&
           (slot->format == HC_ALLOW_FP32 || slot == hc_slot(HC_OP_gemm_q, HC_GEMM_Q_C) ||
            slot == hc_slot(HC_OP_gemm, HC_GEMM_C));
}

/* What is absent has no elements. A C that has none because the product has no rows is there. */
bool hc_op_absent(const struct hc_call *call, int number)
{
    const struct hc_slot *slot = hc_slot(call->op, number);
    const struct hc_tensor *t = hc_slot_tensor_const(call, number);
    return (is_extra(slot) || is_compensation(slot)) && t->rank == 1 && t->shape[0] == 0;
}

struct hc_call hc_op_call(enum hc_op op, const struct hc_format_set *set,
                          const struct hc_op_shape *shape, const struct hc_variant *variant)
{
    struct hc_call call = {.op = op, .params = variant->params};
    open_shapes(&call, shape->d, variant->row);
    const struct hc_tensor *x = &call.in[HC_FIRST];
    for (int i = 0; i < hc_slot_count(op); i++) {
        const struct hc_slot *slot = hc_slot(op, i);
        struct hc_tensor *t = hc_slot_tensor(&call, i);
        if (slot->size == HC_SIZE_FIRST)
            *t = *x;
        else if (slot->size == HC_SIZE_CHANNELS)
            *t = hc_tensor1(HC_FP32, x->shape[x->rank - 1], NULL);
        else if (slot->size == HC_SIZE_FIXED)
            *t = hc_tensor1(HC_FP32, slot->count, NULL);
        if ((variant->bare && is_extra(slot)) || (!variant->compensated && is_compensation(slot)))
            *t = hc_tensor1(HC_FP32, 0, NULL);
        set_format(&call, i, set);
    }
    if (op == HC_OP_unscale && call.out[HC_UNSCALE_OUT].format != HC_FP32)
        call.in[HC_UNSCALE_OVERRIDE] = hc_tensor1(HC_FP32, 0, NULL);
    if (hc_is_op_quant(op))
        hc_op_call_quant(&call, shape->d, set->work);
    hc_call_compute_in(&call, set->work);
    if ((op == HC_OP_adam || op == HC_OP_adamw) && set->work != HC_FP32)
        call.params.adam.eps = 0x1p-6; /* 1e-8 may be 0 there: see cases/eps */
    return call;
}
