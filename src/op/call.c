/* The contracts of op/call.h as far as formats, shapes and parameters go. */
#include "op/call.h"

#include <math.h>
#include <stdio.h>

#include "num/format.h"
#include "num/stochastic.h"
#include "op/contract.h"

static const char *slot_name(const struct hc_op_info *op, int slot, char text[16])
{
    bool output = slot >= op->inputs;
    (void)snprintf(text, 16, "%s%d", output ? "out" : "in", output ? slot - op->inputs : slot);
    return text;
}

static bool is_h(enum hc_format f)
{
    return f == HC_FP32 || f == HC_BF16 || f == HC_FP16;
}

/* Of a tensor that is fp64 just where in0 is, and else fp32 (`single`) or H. */
static const char *wrong_beside(const struct hc_call *call, bool single, enum hc_format f)
{
    if (call->in[0].format == HC_FP64)
        return f == HC_FP64 ? NULL : "fp64 as in0 is";
    if (single)
        return f == HC_FP32 ? NULL : "fp32";
    return is_h(f) ? NULL : "fp32, bf16 or fp16";
}

/* What is wrong with the tensor's format, or NULL. */
static const char *wrong_format(const struct hc_call *call, char letter, enum hc_format f)
{
    switch (letter) {
    case 'a':
        return f == HC_U8 ? "a floating-point format or i32" : NULL;
    case 'w':
    case 'd':
        return is_h(f) || f == HC_FP64 ? NULL : "fp32, bf16, fp16 or fp64";
    case 'e':
    case 'b':
    case 'g':
    case 'q':
        return wrong_beside(call, letter == 'g' || letter == 'q', f);
    case 'h':
        return is_h(f) ? NULL : "fp32, bf16 or fp16";
    case 'f':
    case 'o':
        return f == HC_FP32 ? NULL : "fp32";
    case 'u':
        return f == HC_U8 ? NULL : "u8";
    case 'i':
    case 'j':
        return f == HC_I32 ? NULL : "i32";
    case 'c':
        return f == call->in[0].format ? NULL : hc_formats[call->in[0].format].name;
    default:
        return f == call->in[letter - '0'].format ? NULL
                                                  : hc_formats[call->in[letter - '0'].format].name;
    }
}

static enum hc_status check_tensor(const struct hc_call *call, int slot, char format, char count)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_tensor *t = slot < op->inputs ? &call->in[slot] : &call->out[slot - op->inputs];
    const struct hc_tensor *x = &call->in[0];
    char name[16];
    char shape[HC_SHAPE_TEXT];
    slot_name(op, slot, name);
    if (hc_slot_optional(format) && !t->data)
        return HC_OK;
    if (t->rank < 0 || t->rank > HC_MAX_RANK)
        return hc_fail(HC_INVALID, "%s: %s has rank %d", op->name, name, t->rank);
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] < 0)
            return hc_fail(HC_INVALID, "%s: %s has shape %s", op->name, name,
                           hc_shape_text(t, shape));
    if ((unsigned)t->format >= HC_FORMAT_COUNT)
        return hc_fail(HC_INVALID, "%s: %s has no format", op->name, name);
    const char *want = wrong_format(call, format, t->format);
    if (want)
        return hc_fail(HC_INVALID, "%s: %s is %s, not %s", op->name, name,
                       hc_formats[t->format].name, want);
    if (count == '.')
        return HC_OK;
    int64_t elements = count == 'n'   ? hc_tensor_count(x)
                       : count == 'c' ? (x->rank ? x->shape[x->rank - 1] : 1)
                                      : count - '0';
    if (hc_tensor_count(t) != elements)
        return hc_fail(HC_INVALID, "%s: %s has shape %s, not %lld elements", op->name, name,
                       hc_shape_text(t, shape), (long long)elements);
    return HC_OK;
}

static enum hc_status direction(const struct hc_call *call)
{
    if ((unsigned)call->params.cast.direction < HC_DIRECTION_COUNT)
        return HC_OK;
    return hc_fail(HC_INVALID, "cast: no direction %d", (int)call->params.cast.direction);
}

static enum hc_status accumulator(const struct hc_call *call)
{
    enum hc_format f = call->params.reduce.accumulator;
    if (f == HC_FP32 || (f == call->in[0].format && call->op != HC_OP_sum_squares))
        return HC_OK;
    if (call->op == HC_OP_sum_squares)
        return hc_fail(HC_INVALID, "sum_squares: the accumulator is not fp32");
    return hc_fail(HC_INVALID, "%s: the accumulator is neither fp32 nor the inputs' format",
                   hc_ops[call->op].name);
}

/* What w + c can be kept in. */
static enum hc_status compensated(const struct hc_call *call, enum hc_format arithmetic)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    enum hc_format w = call->in[0].format;
    bool in = call->in[op->inputs - 1].data;
    if (in != (bool)call->out[op->outputs - 1].data)
        return hc_fail(HC_INVALID, "%s: its compensation is in%d and out%d, or neither", op->name,
                       op->inputs - 1, op->outputs - 1);
    if (in && w != HC_BF16 && w != HC_FP16)
        return hc_fail(HC_INVALID, "%s: compensates bf16 and fp16, not %s", op->name,
                       hc_formats[w].name);
    if (in && arithmetic != HC_FP32 && arithmetic != w)
        return hc_fail(HC_INVALID, "%s: compensates %s in fp32 or %s, not %s", op->name,
                       hc_formats[w].name, hc_formats[w].name, hc_formats[arithmetic].name);
    return HC_OK;
}

static enum hc_status stochastic(const struct hc_call *call, enum hc_format arithmetic,
                                 const struct hc_stochastic *s)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    if (!s->on)
        return HC_OK;
    if (call->in[0].format != HC_BF16 || arithmetic != HC_FP32)
        return hc_fail(HC_INVALID, "%s: rounds stochastically from fp32 into bf16", op->name);
    if (s->first < 0 || s->first % HC_ROUND_BLOCK != 0)
        return hc_fail(HC_INVALID, "%s: its first element is %lld, not a multiple of %d", op->name,
                       (long long)s->first, (int)HC_ROUND_BLOCK);
    if (call->in[op->inputs - 1].data)
        return hc_fail(HC_INVALID, "%s: rounds stochastically or compensates", op->name);
    return HC_OK;
}

const char *const hc_adam_order_names[HC_ORDER_COUNT + 1] = {"ours", "torch-fused", "torch-loop",
                                                             "apex", NULL};

/* What the orders of others have nothing to say about. */
static enum hc_status order(const struct hc_call *call)
{
    const char *op = hc_ops[call->op].name;
    const struct hc_adam *p = &call->params.adam;
    if ((unsigned)p->order >= HC_ORDER_COUNT)
        return hc_fail(HC_INVALID, "%s: no order %d", op, (int)p->order);
    const char *name = hc_adam_order_names[p->order];
    if (p->order == HC_ORDER_OURS)
        return HC_OK;
    if (p->eps_inside || call->in[hc_ops[call->op].inputs - 1].data)
        return hc_fail(HC_INVALID, "%s: the order %s has no %s", op, name,
                       p->eps_inside ? "eps inside the root" : "compensation");
    if (p->order != HC_ORDER_TORCH_LOOP && hc_formats[p->arithmetic].bytes == 2)
        return hc_fail(HC_INVALID, "%s: the order %s is one of fp32, not %s", op, name,
                       hc_formats[p->arithmetic].name);
    return HC_OK;
}

static enum hc_status optimizer(const struct hc_call *call)
{
    bool sgd = call->op == HC_OP_sgd;
    enum hc_format f = sgd ? call->params.sgd.arithmetic : call->params.adam.arithmetic;
    if (hc_call_fp64(call) ? f != HC_FP64 : !is_h(f))
        return hc_fail(HC_INVALID, "%s: arithmetic is not fp32, bf16 or fp16",
                       hc_ops[call->op].name);
    enum hc_status status = compensated(call, f);
    if (status == HC_OK && !sgd)
        status = order(call);
    return status == HC_OK
               ? stochastic(call, f,
                            sgd ? &call->params.sgd.stochastic : &call->params.adam.stochastic)
               : status;
}

static enum hc_status override(const struct hc_call *call)
{
    if (!call->in[3].data)
        return HC_OK;
    if (call->in[2].data == call->out[1].data)
        return hc_fail(HC_INVALID, "unscale: with in3, in2 and out1 are apart");
    if (call->out[0].format == HC_FP32)
        return HC_OK;
    return hc_fail(HC_INVALID, "unscale: out0 is %s, not fp32 as in3 is",
                   hc_formats[call->out[0].format].name);
}

static enum hc_status rule(const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    if (p->interval < 0 || p->delay < 0 || p->hysteresis < 0)
        return hc_fail(HC_INVALID, "scaler_update: a count of steps is negative");
    if (p->skip_on_overflow && !(p->min_checked_scale < 0))
        return hc_fail(HC_INVALID, "scaler_update: a rule that does not always look cannot skip");
    return HC_OK;
}

static enum hc_status limit(const struct hc_call *call)
{
    double most = call->params.clip.max_norm;
    if (most >= 0 && isfinite(hc_round(HC_FP32, most)))
        return HC_OK;
    return hc_fail(HC_INVALID, "clip: no norm can be at most %g", most);
}

const struct hc_contract hc_contracts[HC_OP_COUNT] = {
    [HC_OP_cast] = {"aa", "nn", direction},
    [HC_OP_add] = {"w00", "nnn", NULL},
    [HC_OP_sub] = {"w00", "nnn", NULL},
    [HC_OP_mul] = {"w00", "nnn", NULL},
    [HC_OP_div] = {"w00", "nnn", NULL},
    [HC_OP_sqrt] = {"w0", "nn", NULL},
    [HC_OP_fma] = {"w000", "nnnn", NULL},
    [HC_OP_axpy] = {"hhh", "nnn", NULL},
    [HC_OP_scale] = {"hfh", "n1n", NULL},
    [HC_OP_unscale] = {"hfoohf", "n11nn1", override},
    [HC_OP_sum] = {"hh", "n1", accumulator},
    [HC_OP_dot] = {"h0h", "nn1", accumulator},
    [HC_OP_sum_squares] = {"hof", "n11", accumulator},
    [HC_OP_gemm] = {"d0be", "....", hc_shapes_gemm},
    [HC_OP_conv2d] = {"d0e", "...", hc_shapes_conv},
    [HC_OP_conv2d_bwd_data] = {"d0e", "...", hc_shapes_conv},
    [HC_OP_conv2d_bwd_filter] = {"d0e", "...", hc_shapes_conv},
    [HC_OP_bn_train] = {"deeeeeggee", "nccccncccc", hc_shapes_batch},
    [HC_OP_bn_infer] = {"deeeee", "nccccn", NULL},
    [HC_OP_bn_bwd] = {"deeeeeee", "nncccncc", hc_shapes_batch},
    [HC_OP_bn_leaky_train] = {"deeeeeggee", "nccccncccc", hc_shapes_batch},
    [HC_OP_bn_leaky_infer] = {"deeeee", "nccccn", NULL},
    [HC_OP_bn_leaky_bwd] = {"de1eeeeee", "nnncccncc", hc_shapes_batch},
    [HC_OP_leaky_relu] = {"de", "nn", NULL},
    [HC_OP_leaky_relu_bwd] = {"d00", "nnn", NULL},
    [HC_OP_avg_pool] = {"de", "..", hc_shapes_pool},
    [HC_OP_avg_pool_bwd] = {"de", "..", hc_shapes_pool},
    [HC_OP_xent] = {"digq", "..11", hc_shapes_loss},
    [HC_OP_xent_bwd] = {"dige", "..1n", hc_shapes_loss},
    [HC_OP_sgd] = {"deefoc02c", "nnn31nnnn", optimizer},
    [HC_OP_adam] = {"deeefoc023c", "nnnn31nnnnn", optimizer},
    [HC_OP_adamw] = {"deeefoc023c", "nnnn31nnnnn", optimizer},
    [HC_OP_master_to_model] = {"fh", "nn", NULL},
    [HC_OP_augment] = {"uiijhij", ".......", hc_shapes_augment},
    [HC_OP_scaler_update] = {"fiofi", "18118", rule},
    [HC_OP_overflow_verdict] = {"fiof", "1812", rule},
    [HC_OP_rates] = {"fif", ".83", hc_shapes_table},
    [HC_OP_clip] = {"fof", "111", limit},
    [HC_OP_step_log] = {"fioooof", ".81111n", hc_shapes_table},
};

static bool overlap(const struct hc_tensor *a, const struct hc_tensor *b)
{
    uintptr_t x = (uintptr_t)a->data;
    uintptr_t y = (uintptr_t)b->data;
    return x && y && x < y + hc_tensor_bytes(b) && y < x + hc_tensor_bytes(a);
}

/* Whether output `o` may be input `i` itself. */
static bool may_be(const struct hc_call *call, int o, int i)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    const struct hc_tensor *in = &call->in[i];
    const struct hc_tensor *out = &call->out[o];
    bool same = in->data == out->data && in->format == out->format &&
                hc_tensor_count(in) == hc_tensor_count(out);
    bool running =
        (call->op == HC_OP_bn_train || call->op == HC_OP_bn_leaky_train) && o == i && o >= 3;
    bool chained = call->op == HC_OP_sum_squares && i == 1;
    return same && (chained || class_ == HC_CLASS_ELEMENTWISE || class_ == HC_CLASS_OPTIMIZER ||
                    class_ == HC_CLASS_CONTROL || running);
}

static enum hc_status check_overlaps(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int o = 0; o < op->outputs; o++) {
        for (int i = 0; i < op->inputs; i++)
            if (overlap(&call->out[o], &call->in[i]) && !may_be(call, o, i))
                return hc_fail(HC_INVALID, "%s: out%d overlaps in%d", op->name, o, i);
        for (int other = 0; other < o; other++)
            if (overlap(&call->out[o], &call->out[other]))
                return hc_fail(HC_INVALID, "%s: out%d overlaps out%d", op->name, o, other);
    }
    return HC_OK;
}

enum hc_status hc_call_check(const struct hc_call *call)
{
    if ((unsigned)call->op >= HC_OP_COUNT)
        return hc_fail(HC_INVALID, "no op %d", (int)call->op);
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_contract *contract = &hc_contracts[call->op];
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        enum hc_status status = check_tensor(call, i, contract->formats[i], contract->counts[i]);
        if (status != HC_OK)
            return status;
    }
    enum hc_status status = contract->shapes ? contract->shapes(call) : HC_OK;
    return status == HC_OK ? check_overlaps(call) : status;
}

bool hc_call_fp64(const struct hc_call *call)
{
    return call->in[0].format == HC_FP64 && hc_contracts[call->op].formats[0] == 'd';
}

bool hc_call_tf32(const struct hc_call *call)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool tf32 = (class_ == HC_CLASS_GEMM && call->params.gemm.tf32) ||
                (class_ == HC_CLASS_CONV && call->params.conv.tf32);
    return tf32 && call->in[0].format == HC_FP32;
}
