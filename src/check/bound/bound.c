#include "check/bound/bound.h"

#include <math.h>

#include "check/bound/rules.h"
#include "define/op.h"
#include "num/ulp.h"
#include "op/descriptor.h"
#include "op/later.h"

/* What a definition allows is any order, and so there is one rule for all backends. Who computes in
   the output's format may also compute in a wider one and round once. */
static double defined(const struct hc_element *e, const struct hc_accumulator *accumulator,
                      const struct hc_exact *want)
{
    enum hc_format format = e->call->out[e->out].format;
    double rad = hc_defined_op_radius(e);
    bool held = want->lo == 0 && hc_round(format, want->hi) == want->hi;
    (void)accumulator;
    if (format != hc_bound_work(e->call) || held || !isfinite(want->hi))
        return rad;
    return fmax(rad, hc_half_ulp(format, want->hi));
}

/* NULL: the result is one rounding into the output's format, or two, through fp32. */
static hc_bound_rule *const rules[HC_OP_ROOM] = {
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = defined,
#include "op/defined.def"
#undef HC_OP
    [HC_OP_sum] = hc_bound_sum,
    [HC_OP_dot] = hc_bound_dot,
    [HC_OP_sum_squares] = hc_bound_sum_squares,
    [HC_OP_gemm] = hc_bound_gemm,
    [HC_OP_conv2d] = hc_bound_conv,
    [HC_OP_conv2d_bwd_data] = hc_bound_conv,
    [HC_OP_conv2d_bwd_filter] = hc_bound_conv,
    [HC_OP_avg_pool] = hc_bound_pool,
    [HC_OP_bn_train] = hc_bound_bn_train,
    [HC_OP_bn_infer] = hc_bound_bn_infer,
    [HC_OP_bn_bwd] = hc_bound_bn_bwd,
    [HC_OP_bn_leaky_train] = hc_bound_bn_train,
    [HC_OP_bn_leaky_infer] = hc_bound_bn_infer,
    [HC_OP_bn_leaky_bwd] = hc_bound_bn_bwd,
    [HC_OP_bn_moments] = hc_bound_bn_moments,
    [HC_OP_bn_combine] = hc_bound_bn_combine,
    [HC_OP_bn_bwd_sums] = hc_bound_bn_bwd,
    [HC_OP_bn_bwd_apply] = hc_bound_bn_bwd_apply,
    [HC_OP_xent] = hc_bound_xent,
    [HC_OP_xent_bwd] = hc_bound_xent_bwd,
    [HC_OP_sgd] = hc_bound_sgd,
    [HC_OP_adam] = hc_bound_adam,
    [HC_OP_adamw] = hc_bound_adam,
    [HC_OP_all_reduce] = hc_bound_all_reduce,
    [HC_OP_gemm_q] = hc_bound_gemm_q,
};

/* For a backend of free order; NULL: the rule above. */
static hc_bound_rule *const any_order[HC_OP_ROOM] = {
    [HC_OP_axpy] = hc_bound_any_axpy,
    [HC_OP_clip] = hc_bound_any_clip,
    [HC_OP_conv2d] = hc_bound_any_conv,
    [HC_OP_conv2d_bwd_data] = hc_bound_any_conv,
    [HC_OP_conv2d_bwd_filter] = hc_bound_any_conv,
    [HC_OP_avg_pool] = hc_bound_any_pool,
    [HC_OP_avg_pool_bwd] = hc_bound_any_pool_bwd,
    [HC_OP_bn_train] = hc_bound_any_bn_train,
    [HC_OP_bn_infer] = hc_bound_any_bn_infer,
    [HC_OP_bn_bwd] = hc_bound_any_bn_bwd,
    [HC_OP_bn_leaky_train] = hc_bound_any_bn_train,
    [HC_OP_bn_leaky_infer] = hc_bound_any_bn_infer,
    [HC_OP_bn_leaky_bwd] = hc_bound_any_bn_bwd,
    [HC_OP_bn_moments] = hc_bound_any_bn_moments,
    [HC_OP_bn_combine] = hc_bound_any_bn_combine,
    [HC_OP_bn_bwd_sums] = hc_bound_any_bn_bwd,
    [HC_OP_bn_bwd_apply] = hc_bound_any_bn_bwd_apply,
    [HC_OP_xent] = hc_bound_any_xent,
    [HC_OP_xent_bwd] = hc_bound_any_xent_bwd,
    [HC_OP_sgd] = hc_bound_any_sgd,
    [HC_OP_adam] = hc_bound_any_adam,
    [HC_OP_adamw] = hc_bound_any_adam,
};

enum hc_format hc_bound_work(const struct hc_call *call)
{
    return hc_call_fp64(call) ? HC_FP64 : HC_FP32;
}

/* The real result rounded into the output's format. A cast says how. */
static uint64_t rounded(const struct hc_call *call, enum hc_format format, double hi, double lo)
{
    bool cast = call->op == HC_OP_cast;
    enum hc_direction direction = cast ? call->params.cast.direction : HC_NEAREST;
    bool saturate = (cast && call->params.cast.saturate) ||
                    (call->op == HC_OP_stochastic_cast && call->params.stochastic_cast.saturate);
    return saturate ? hc_encode_saturated(format, hi, lo, direction)
                    : hc_encode(format, hi, lo, direction);
}

/* Whether a definition leaves one result: all that a right implementation may round rounds to it.
   Rounding is monotone. The sign of a zero is free. */
static bool settled(const struct hc_element *e, const struct hc_exact *want, uint64_t *bits)
{
    enum hc_format format = e->call->out[e->out].format;
    double error = hc_defined_op_radius(e);
    *bits = hc_encode(format, want->hi, want->lo, HC_NEAREST);
    if (!isfinite(want->hi) || !isfinite(error) || want->hi == 0)
        return false;
    if (error == 0)
        return true;
    double least = nextafter(want->hi - error, -(double)INFINITY);
    double most = nextafter(want->hi + error, (double)INFINITY);
    return format != hc_bound_work(e->call) &&
           hc_encode(format, least, 0, HC_NEAREST) == hc_encode(format, most, 0, HC_NEAREST);
}

bool hc_bound_bits(const struct hc_element *e, const struct hc_exact *want, uint64_t *bits)
{
    const struct hc_call *call = e->call;
    enum hc_format format = call->out[e->out].format;
    if (rules[call->op] && hc_call_length(call) == 0 && want->hi == 0) {
        *bits = 0; /* the sum over nothing is +0 */
        return true;
    }
    if (hc_bound_in_order(call, bits) || hc_bound_over_ranks(e, bits))
        return true;
    if (hc_ops[call->op].class_ == HC_CLASS_DEFINED)
        return settled(e, want, bits);
    if (rules[call->op])
        return false;
    if (hc_descriptor(call->op)->through_fp32 && !hc_call_fp64(call))
        *bits = hc_encode(format,
                          hc_decode(HC_FP32, hc_encode(HC_FP32, want->hi, want->lo, HC_NEAREST)), 0,
                          HC_NEAREST);
    else
        *bits = rounded(call, format, want->hi, want->lo);
    return true;
}

/* Whether the sum is the last thing that is computed. */
static bool ends_with_its_sum(const struct hc_call *call, int out)
{
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_REDUCTION:
    case HC_CLASS_GEMM:
    case HC_CLASS_CONV:
    case HC_CLASS_POOL:
        return true;
    case HC_CLASS_BATCH_NORM:
        return call->op == HC_OP_bn_bwd_sums ||
               ((call->op == HC_OP_bn_bwd || call->op == HC_OP_bn_leaky_bwd) &&
                out != HC_BN_BWD_DX);
    default:
        return call->op == HC_OP_xent && out == HC_XENT_LOSS && call->params.xent.sum;
    }
}

bool hc_bound_whole(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
                    const struct hc_exact *want, uint64_t *bits)
{
    enum hc_format work = hc_bound_work(call);
    bool coarse = accumulator->precision < hc_formats[work].precision;
    if (!ends_with_its_sum(call, out) || !isfinite(want->hi))
        return false;
    if (coarse && hc_bound_in_unit(call))
        return false;
    double value = hc_decode(work, hc_encode(work, want->hi, want->lo, HC_NEAREST));
    *bits = hc_encode(call->out[out].format, value, 0, HC_NEAREST);
    return true;
}

bool hc_bound_ordered(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    if (op->class_ == HC_CLASS_REDUCTION)
        return call->params.reduce.accumulator != HC_FP32;
    return op->class_ == HC_CLASS_ELEMENTWISE || op->class_ == HC_CLASS_OPTIMIZER ||
           op->class_ == HC_CLASS_CONTROL || op->class_ == HC_CLASS_COLLECTIVE ||
           op->class_ == HC_CLASS_QUANT;
}

/* Whether the output is rounded to a neighbour that need not be the nearest. */
static bool to_either(const struct hc_call *call, int out)
{
    const struct hc_stochastic *s = hc_optimizer_stochastic(call->op, &call->params);
    if (s)
        return s->on && out == hc_optimizer_slots(call->op)->new_w;
    return call->op == HC_OP_cast && call->params.cast.direction != HC_NEAREST;
}

/* Bound on the final rounding into out's format of a result that is at most `most` in magnitude:
   half an ulp there, or one ulp if the rounding is directed or stochastic. Rounding into the
   working format is in the rules. */
static double last_rounding(const struct hc_call *call, int out, bool ruled, double most)
{
    enum hc_format format = call->out[out].format;
    if (ruled && format == hc_bound_work(call))
        return 0;
    return to_either(call, out) ? hc_ulp(format, most) : hc_half_ulp(format, most);
}

/* Rounding a number that fp32 holds changes nothing. */
static double rounding_to_fp32(const struct hc_call *call, const struct hc_exact *want)
{
    bool exact = want->lo == 0 && hc_round(HC_FP32, want->hi) == want->hi;
    bool rounds = hc_descriptor(call->op)->through_fp32 && !hc_call_fp64(call);
    return rounds && !exact ? hc_half_ulp(HC_FP32, want->hi) : 0;
}

double hc_bound_rounding_to_fp32(const struct hc_element *e, const struct hc_exact *want)
{
    return e->call->out[e->out].format == HC_FP32 ? 0 : rounding_to_fp32(e->call, want);
}

/* `error` comes before the last rounding, by a rule or without one. */
static double with_last_rounding(const struct hc_element *e, bool rule, double error,
                                 const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    enum hc_format format = call->out[e->out].format;
    if (isnan(want->hi))
        return 0;
    if (isinf(want->hi))
        return isfinite(error) ? 0 : (double)INFINITY;
    if (!isfinite(error))
        return (double)INFINITY;
    if (rule && error == 0 && want->lo == 0 && hc_round(format, want->hi) == want->hi)
        return 0; /* nothing was computed */
    return error + last_rounding(call, e->out, rule, fabs(want->hi) + error);
}

double hc_bound(const struct hc_element *e, const struct hc_accumulator *accumulator,
                const struct hc_exact *want)
{
    hc_bound_rule *rule = rules[e->call->op];
    double error = rule ? rule(e, accumulator, want) : rounding_to_fp32(e->call, want);
    return with_last_rounding(e, rule != NULL, error, want);
}

/* In any order at the statistics that were used, which are almost the given ones; and what becomes
   of the real result if those stray, which is within the first term of the sum. */
double hc_bound_strayed(const struct hc_element *e, const struct hc_strayed *strayed,
                        const struct hc_exact *want)
{
    double error = hc_bound_bn_bwd_strayed(e, strayed) + hc_bound_any_bn_bwd(e, NULL, want);
    return with_last_rounding(e, true, error, want);
}

double hc_bound_shared(const struct hc_element *e, const int64_t *rows, int ranks, bool any,
                       const struct hc_exact *want)
{
    return with_last_rounding(e, true, hc_bound_bn_shared(e, rows, ranks, any), want);
}

/* Whether the definition says every rounding on the way: an implementation of scaled codes that
   takes others decodes to other numbers. (Products of them have a rule of their own.) */
static bool states_roundings(const struct hc_call *call)
{
    return hc_ops[call->op].class_ == HC_CLASS_QUANT;
}

static double error_in_any_order(const struct hc_element *e,
                                 const struct hc_accumulator *accumulator,
                                 const struct hc_exact *want)
{
    enum hc_op op = e->call->op;
    hc_bound_rule *rule = any_order[op] ? any_order[op] : rules[op];
    double error = rule ? rule(e, accumulator, want) : hc_bound_rounding_to_fp32(e, want);
    double more = isfinite(want->hi) ? hc_bound_taken_as_given(e, want) : 0;
    return error + (more > 0 ? more : 0);
}

bool hc_bound_any_order_ordered(const struct hc_call *call, int out)
{
    bool twice = hc_descriptor(call->op)->through_fp32 && !hc_call_fp64(call) &&
                 call->out[out].format != HC_FP32 && !states_roundings(call);
    return hc_bound_ordered(call) && !rules[call->op] && !any_order[call->op] && !twice;
}

bool hc_bound_any_order_differs(enum hc_op op)
{
    return rules[op] || any_order[op] || hc_descriptor(op)->through_fp32;
}

double hc_bound_any_order(const struct hc_element *e, const struct hc_accumulator *accumulator,
                          const struct hc_exact *want)
{
    enum hc_op op = e->call->op;
    bool rule = any_order[op] || rules[op];
    return with_last_rounding(e, rule, error_in_any_order(e, accumulator, want), want);
}

/* Rounding is monotone: what lies between two numbers that round to the same one rounds to it,
   too. */
bool hc_bound_any_order_bits(const struct hc_element *e, const struct hc_exact *want,
                             uint64_t *bits)
{
    const struct hc_call *call = e->call;
    enum hc_format format = call->out[e->out].format;
    if (states_roundings(call) || hc_ops[call->op].class_ == HC_CLASS_DEFINED)
        return hc_bound_bits(e, want, bits);
    if (rules[call->op]) {
        *bits = 0; /* the sum over nothing is +0 */
        return hc_call_length(call) == 0 && want->hi == 0;
    }
    double error = error_in_any_order(e, NULL, want);
    *bits = rounded(call, format, want->hi, want->lo);
    if (isinf(error))
        return false;
    if (error == 0 || !isfinite(want->hi))
        return true;
    double least = nextafter(want->hi - error, -(double)INFINITY);
    double most = nextafter(want->hi + error, (double)INFINITY);
    return rounded(call, format, least, 0) == rounded(call, format, most, 0);
}

double hc_bound_error(enum hc_format format, const struct hc_exact *want, double got)
{
    double value = want->hi;
    if (isnan(value) || isnan(got))
        return isnan(value) && isnan(got) ? 0 : (double)INFINITY;
    if (isinf(value))
        return got == value ? 0 : (double)INFINITY;
    if (isinf(got)) {
        double next = hc_format_max(format) + hc_ulp(format, got);
        got = copysign(fmax(next, fabs(value)), got);
    }
    return fabs(got - value - want->lo);
}

double hc_bound_error_any_order(const struct hc_element *e, const struct hc_exact *want, double got)
{
    bool other =
        e->call->op == HC_OP_bn_combine && !isfinite(want->hi) && hc_bound_any_combined(e, got);
    return other ? 0 : hc_bound_error(e->call->out[e->out].format, want, got);
}
