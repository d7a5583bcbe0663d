/* Inputs for sums that show what the accumulator is. On random numbers of both signs the rounding
   errors of a sum cancel, and come to little of what the contract allows.

   whole: integers, times a power of two, whose sums fill the accumulator and never leave it. Then
   no partial sum and no product is rounded, in any order, and the result is settled to the bit. An
   accumulator with fewer bits, products that are rounded first, or a missing term cannot give it.
   stagnation: one term, and after it many equal ones of just below half an ulp of it in the
   accumulator. Added one at a time none of them changes the sum, which ends as far off as the
   contract allows. cut: the same with three quarters of an ulp. Rounded to nearest, each of them
   adds a whole ulp, and the error is half of what the contract allows; cut off, they add nothing,
   and it is one and a half. positive: random numbers of one sign. Their roundings are as random as
   before, but a systematic error of the accumulator adds up. */
#include <math.h>

#include "check/bound/bound.h"
#include "check/generate/draw.h"

static int precision(const struct hc_call *call)
{
    if (hc_call_fp64(call))
        return hc_formats[HC_FP64].precision;
    if (call->op == HC_OP_sum || call->op == HC_OP_dot)
        return hc_formats[call->params.reduce.accumulator].precision;
    bool half = call->op == HC_OP_gemm && call->params.gemm.half_accumulator;
    return hc_formats[half ? HC_FP16 : HC_FP32].precision;
}

static bool is_bn_bwd(enum hc_op op)
{
    return op == HC_OP_bn_bwd || op == HC_OP_bn_leaky_bwd || op == HC_OP_bn_bwd_sums;
}

/* The slot whose elements are the terms; all other factors are 1. */
static int terms_slot(enum hc_op op)
{
    switch (op) {
    case HC_OP_dot:
        return HC_DOT_Y;
    case HC_OP_gemm:
    case HC_OP_gemm_q:
        return HC_GEMM_B;
    case HC_OP_conv2d:
    case HC_OP_conv2d_bwd_data:
    case HC_OP_conv2d_bwd_filter:
        return HC_CONV_SECOND;
    case HC_OP_bn_bwd:
    case HC_OP_bn_leaky_bwd:
    case HC_OP_bn_bwd_sums:
        return hc_bn_bwd_slots(op)->dy;
    default:
        return HC_FIRST;
    }
}

/* Whether it is the first term of its sum. */
static bool is_first(const struct hc_draw_site *p, int slot)
{
    const struct hc_call *call = p->call;
    const int64_t *d = call->in[slot].shape;
    int64_t i = (int64_t)p->index;
    int64_t window = call->params.pool.window;
    switch (call->op) {
    case HC_OP_gemm_q:
        return i % d[1] == 0;
    case HC_OP_gemm:
        return call->params.gemm.transpose_b ? i % d[1] == 0 : i < d[1];
    case HC_OP_conv2d:
        return i % (d[1] * d[2] * d[3]) == 0;
    case HC_OP_conv2d_bwd_data:
        return i < d[3];
    case HC_OP_conv2d_bwd_filter:
    case HC_OP_bn_train:
    case HC_OP_bn_bwd:
    case HC_OP_bn_leaky_train:
    case HC_OP_bn_leaky_bwd:
    case HC_OP_bn_moments:
    case HC_OP_bn_bwd_sums:
        return i < d[3];
    case HC_OP_avg_pool:
        return i / d[3] % d[2] % window == 0 && i / d[3] / d[2] % d[1] % window == 0;
    default:
        return i == 0;
    }
}

enum { HEAD = 10 }; /* the first term is 2^10 */

/* `half_ulps` of the first term in the accumulator. */
static double tail(const struct hc_call *call, double half_ulps)
{
    return half_ulps * ldexp(1, HEAD - precision(call));
}

static double stagnating(const struct hc_draw_site *p, int slot, enum hc_values values,
                         double half_ulps)
{
    double term = is_first(p, slot) ? ldexp(1, HEAD) : tail(p->call, half_ulps);
    if (slot != terms_slot(p->call->op))
        return values == HC_VALUES_OFFSET ? 0 : 1;
    return p->call->op == HC_OP_sum_squares ? sqrt(term) : term;
}

/* All labels are 0. The first row's loss is 2^8, of the others' logits the label's is the largest:
   with e^z / (C - 1) of each of the rest their loss is e^z. A logit is off by up to 3 % in bf16. */
static double stagnating_logit(const struct hc_draw_site *p, double half_ulps)
{
    enum { SMALLER = 2 };
    uint64_t classes = (uint64_t)p->call->in[HC_XENT_LOGITS].shape[1];
    uint64_t class = p->index % classes;
    if (p->index < classes)
        return class == 1 ? 0 : -ldexp(1, HEAD - SMALLER);
    double loss = 0.95 * ldexp(tail(p->call, half_ulps), -SMALLER);
    return class == 0 ? 0 : log(loss / (double)(classes - 1));
}

/* The largest integer of which `terms` products with another one fill the accumulator, or that many
   of itself where nothing is multiplied. A bit is left over in matrix units, which align their
   addends. */
static double largest(const struct hc_call *call, bool multiplied, enum hc_format format)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    int spare = class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV ? 1 : 0;
    double sum = ldexp(1, precision(call) - spare) / (hc_call_length(call) + 1);
    double least = ldexp(1, hc_call_tf32(call) ? 11 : hc_formats[format].precision) - 1;
    return fmin(floor(multiplied ? sqrt(sum) : sum), least);
}

/* Sums stay below 2^15, so that they are finite in fp16. Codes of few exponents have no smaller
   unit than their least number. */
static double unit(const struct hc_call *call)
{
    int beyond = precision(call) - 15;
    double least = call->op == HC_OP_gemm_q ? hc_format_tiny(call->in[HC_FIRST].format) : 0;
    return fmax(ldexp(1, beyond > 0 ? -beyond : 0), least);
}

static double odd(const struct hc_draw_site *p, double most)
{
    double x = floor(most * (1 + hc_draw_uniform(p, 2)) / 2);
    return fmax(fmod(x, 2) == 0 ? x - 1 : x, 1);
}

/* Three of four are positive, so that sums grow. */
static double either_sign(const struct hc_draw_site *p, double x)
{
    return hc_draw_uniform(p, 3) < 0.25 ? -x : x;
}

/* Batch norm backward: x - mean has both signs, dy is small enough for the products. */
static double whole_of_batch(const struct hc_draw_site *p, int slot)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(p->call->op);
    double most = fmin(largest(p->call, true, p->format), 127);
    if (slot == s->x)
        return either_sign(p, odd(p, most) - 1) + 1;
    if (slot == s->dy)
        return either_sign(p, odd(p, most)) * unit(p->call);
    return slot == s->invstd ? 0.5 : 1;
}

/* One class of a row has all of the probability, down to e^-128: the loss is the label's logit. */
static double whole_logit(const struct hc_draw_site *p)
{
    uint64_t classes = (uint64_t)p->call->in[HC_XENT_LOGITS].shape[1];
    bool is_largest = p->index % classes == p->index / classes % classes;
    return is_largest ? 0 : -128 - floor(127 * hc_draw_uniform(p, 2));
}

static double whole(const struct hc_draw_site *p, int slot)
{
    const struct hc_call *call = p->call;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    if (class_ == HC_CLASS_NORM)
        return whole_of_batch(p, slot);
    if (class_ == HC_CLASS_LOSS)
        return whole_logit(p);
    if (call->op == HC_OP_sum_squares)
        return either_sign(p, odd(p, largest(call, true, p->format))) * 0x1p-4;
    if (call->op == HC_OP_sum || call->op == HC_OP_avg_pool)
        return either_sign(p, odd(p, largest(call, false, p->format))) * unit(call);
    if (class_ == HC_CLASS_GEMM && slot == HC_GEMM_C)
        return unit(call);
    double x = odd(p, largest(call, true, p->format));
    return slot == HC_FIRST ? x * unit(call) : either_sign(p, x);
}

/* Below this many terms nothing stagnates. */
enum { FEW = 4 };

static bool sums_whole(const struct hc_call *call)
{
    const struct hc_gemm *g = &call->params.gemm;
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_NORM:
        return is_bn_bwd(call->op);
    case HC_CLASS_LOSS:
        return call->op == HC_OP_xent && call->params.xent.sum;
    case HC_CLASS_GEMM:
        if (call->op == HC_OP_gemm && (g->alpha != 1 || (g->beta != 0 && g->beta != 1)))
            return false;
        break;
    default:
        break;
    }
    bool multiplied = call->op != HC_OP_sum && call->op != HC_OP_avg_pool;
    return largest(call, multiplied, call->in[HC_FIRST].format) >= 1;
}

bool hc_op_sums(const struct hc_call *call, enum hc_distribution distribution)
{
    enum hc_op op = call->op;
    enum hc_op_class class_ = hc_ops[op].class_;
    bool of_products =
        class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV;
    bool of_batch = is_bn_bwd(op) || op == HC_OP_bn_train || op == HC_OP_bn_leaky_train ||
                    op == HC_OP_bn_moments;
    bool of_losses = op == HC_OP_xent && call->in[HC_XENT_LOGITS].shape[1] > 1;
    if (!of_products && !of_batch && !of_losses && op != HC_OP_avg_pool)
        return false;
    double n = hc_call_length(call);
    if (n < FEW || hc_tensor_count(&call->out[HC_FIRST]) == 0)
        return false;
    if (distribution == HC_DRAW_WHOLE)
        return sums_whole(call);
    if (distribution == HC_DRAW_POSITIVE)
        return of_products;
    if (hc_formats[call->in[terms_slot(op)].format].emax < HEAD)
        return false;
    return n * tail(call, 2) < 0x1p14;
}

/* Numbers of fp8 have so few bits that their exponents, too, must differ, or nothing is rounded. */
static double positive(const struct hc_draw_site *p)
{
    int smaller = HC_CODE_FORMATS >> p->format & 1 ? (int)(6 * hc_draw_uniform(p, 4)) : 0;
    return ldexp((1 + hc_draw_uniform(p, 2)) / 2, -smaller);
}

double hc_draw_sum(const struct hc_draw_site *p, int slot, enum hc_values values,
                   enum hc_distribution distribution)
{
    double half_ulps = distribution == HC_DRAW_STAGNATION ? 0.98 : 1.5;
    switch (distribution) {
    case HC_DRAW_WHOLE:
        return whole(p, slot);
    case HC_DRAW_POSITIVE:
        return positive(p);
    default:
        return hc_ops[p->call->op].class_ == HC_CLASS_LOSS ? stagnating_logit(p, half_ulps)
                                                           : stagnating(p, slot, values, half_ulps);
    }
}
