/* What all calls on integers share: how the integers are drawn, what the accumulator can hold, and
   which parameters keep integers integers. */
#include "check/generate/integers.h"

#include <assert.h>
#include <math.h>

#include "check/bound/bound.h"

/* It matters little how random the integers are, and much what they cost: this is the finalizer of
   splitmix64
   (Steele, Lea and Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
int32_t hc_integers_draw(const struct hc_integers *z, int stream, int64_t i, int32_t most)
{
    uint64_t x = z->seed + 0x9e3779b97f4a7c15u * ((uint64_t)i * 8 + (uint64_t)stream + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    int32_t magnitude = 1 + (int32_t)(x >> 40 & 0xffff) % most;
    return x >> 63 ? -magnitude : magnitude;
}

enum { LEAST = -256, CODES = 512 };

void hc_integers_set(const struct hc_integers *z, int slot, double unit)
{
    const struct hc_tensor *t = &z->call.in[slot];
    const int32_t *value = z->value[slot];
    int64_t n = hc_tensor_count(t);
    uint64_t code[CODES];
    int32_t low = 0;
    int32_t high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = value[i] < low ? value[i] : low;
        high = value[i] > high ? value[i] : high;
    }
    assert(low >= LEAST && high < LEAST + CODES);
    for (int32_t x = low; x <= high; x++)
        code[x - LEAST] = hc_encode(t->format, x * unit, 0, HC_NEAREST);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set_bits(t, i, code[value[i] - LEAST]);
}

int64_t hc_integers_limit(const struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    enum hc_format f = HC_FP32;
    if (class_ == HC_CLASS_REDUCTION)
        f = call->params.reduce.accumulator;
    else if (call->op == HC_OP_gemm && call->params.gemm.half_accumulator)
        f = HC_FP16;
    int precision = hc_formats[f].precision;
    bool products = class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV;
    if (products && z->sums->precision < precision)
        precision = z->sums->precision;
    return (int64_t)1 << precision;
}

/* A half of the limit is left for alpha and beta C. */
int32_t hc_integers_factor(const struct hc_integers *z, int64_t terms)
{
    int64_t most = 0;
    while (most < 8 && 2 * (most + 1) * (most + 1) * terms + 64 <= hc_integers_limit(z))
        most++;
    return (int32_t)most;
}

bool hc_integers_known(enum hc_op op)
{
    enum hc_op_class class_ = hc_ops[op].class_;
    if (class_ == HC_CLASS_ELEMENTWISE || class_ == HC_CLASS_OPTIMIZER)
        return hc_integers_vector_known(op);
    if (class_ == HC_CLASS_QUANT) /* its amaxes, scales and codes are no sums */
        return false;
    return class_ != HC_CLASS_CONTROL || op == HC_OP_rates || op == HC_OP_step_log;
}

bool hc_integers_settled(enum hc_op op)
{
    return hc_ops[op].class_ != HC_CLASS_NORM && hc_ops[op].class_ != HC_CLASS_LOSS;
}

bool hc_integers_any_order(const struct hc_call *call, int out)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    return class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV ||
           hc_bound_any_order_ordered(call, out);
}

bool hc_integers_fill(struct hc_integers *z)
{
    static bool (*const of_class[])(struct hc_integers *) = {
        [HC_CLASS_ELEMENTWISE] = hc_integers_vector, [HC_CLASS_REDUCTION] = hc_integers_sum,
        [HC_CLASS_GEMM] = hc_integers_gemm,          [HC_CLASS_CONV] = hc_integers_conv,
        [HC_CLASS_NORM] = hc_integers_norm,          [HC_CLASS_POOL] = hc_integers_pool,
        [HC_CLASS_LOSS] = hc_integers_loss,          [HC_CLASS_OPTIMIZER] = hc_integers_vector,
        [HC_CLASS_CONTROL] = hc_integers_table,      [HC_CLASS_COLLECTIVE] = hc_integers_average,
    };
    if (z->call.op == HC_OP_gemm_q)
        return hc_integers_gemm_q(z);
    return of_class[hc_ops[z->call.op].class_](z);
}

/* alpha and beta are integers, the slope is a quarter (of batch norm a half), running statistics
   become the batch's, and an average over ranks is divided by powers of two. */
struct hc_variant hc_integers_variant(enum hc_op op, int number)
{
    static const struct hc_gemm_q blocks[] = {
        {0}, {1, 32, 1, 32, 0}, {1, 128, 128, 128, 128}, {3, 7, 5, 11, 13}};
    struct hc_variant v = {.name = ""};
    switch (op) {
    case HC_OP_axpy:
        v.params.axpy.alpha = HC_INTEGERS_ALPHA;
        break;
    case HC_OP_unscale:
        v.params.unscale.reciprocal = number / 2 % 2;
        break;
    case HC_OP_leaky_relu:
    case HC_OP_leaky_relu_bwd:
        v.params.leaky.slope = 0.25;
        break;
    case HC_OP_gemm:
        v.params.gemm = (struct hc_gemm){.transpose_a = number % 2,
                                         .transpose_b = number / 2 % 2,
                                         .alpha = number % 3 ? 1 : -1,
                                         .beta = number % 3 - 1};
        v.row = number / 4 % 2;
        break;
    case HC_OP_gemm_q:
        v.params.gemm_q = blocks[number % 4];
        v.bare = number / 4 % 2;
        break;
    case HC_OP_sgd:
        v.params.sgd.weight_decay = 1;
        break;
    case HC_OP_adam:
    case HC_OP_adamw:
        v.params.adam =
            (struct hc_adam){.beta2 = 0.75, .weight_decay = op == HC_OP_adamw ? 0.25 : 0};
        break;
    case HC_OP_all_reduce:
        v.params.all_reduce = (struct hc_all_reduce){.algorithm = (enum hc_collective)(number % 3),
                                                     .before = number / 3 % 2 ? 0.5 : 1,
                                                     .after = 2,
                                                     .multiplies = number / 6 % 2};
        break;
    case HC_OP_xent:
    case HC_OP_xent_bwd:
        v.params.xent.sum = number % 2;
        break;
    default:
        if (hc_ops[op].class_ == HC_CLASS_NORM)
            v.params.bn = (struct hc_bn){.eps = 2, .momentum = 1, .slope = 0.5};
    }
    return v;
}
