/* The probabilistic line of sums: sum, dot, sum_squares, gemm, conv2d and its gradients.

   The bound of n additions is n u S, where S is the sum of the terms' magnitudes. It is met only if
   every rounding errs by half an ulp to the same side. Suppose instead that each of the k roundings
   that a term meets is an independent random variable of mean zero and magnitude u at most. Then
   the product of the factors 1 + delta stays within
     exp(+-(lambda sqrt(k) u + k u^2 / (1 - u)))
   with a chance of at least 1 - 2 exp(-lambda^2 (1 - u)^2 / 2), for any lambda (Higham and Mary, A
   New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019, theorem
   2.4), and the error of a sum of k terms is within
     (exp(lambda sqrt(k) u + k u^2 / (1 - u)) - 1) S
   except with a chance of k times 2 exp(-lambda^2 (1 - u)^2 / 2) (theorem 3.1). This holds in any
   order, since in no order a term meets more than k roundings; a fused product and addition is one
   rounding less.

   The model needs terms with random bits below the last bit of the partial sums: the distributions
   normal and positive, in formats of 8 bits or more. It is wrong for equal terms, for terms that
   stagnate, for integers, and where addends are cut: those have only the bound.

   Lambda: the chance that any of R results crosses the line is at most
     R k 2 exp(-lambda^2 (1 - u)^2 / 2),
   which must be less than C:
     lambda = sqrt(2 ln(2 k R / C)) / (1 - u).
   With R = 2^30, about a million results a run and a thousand seeds, and C = 2^-10, lambda is 8.0
   for 33 terms, 8.2 for 257 and 8.6 for 4,099: the line lies outside the bound at 33 terms, at half
   of it at 257, and at an eighth of it at 4,099. */
#include "check/bound/line.h"

#include <math.h>

#include "check/bound/rules.h"
#include "num/ulp.h"

/* The roundings that one term meets at most; 0 if the op has no such sum. */
static double roundings(const struct hc_call *call)
{
    const struct hc_gemm *g = &call->params.gemm;
    double n = hc_call_length(call);
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_REDUCTION:
        return n + 1; /* the product's own, and the partial sum's */
    case HC_CLASS_GEMM:
        if (call->op != HC_OP_gemm)
            return 0;
        return n + (g->alpha != 1) + 2 * (g->beta != 0);
    case HC_CLASS_CONV:
        return n;
    default:
        return 0;
    }
}

static bool is_modelled(const struct hc_call *call, const struct hc_accumulator *accumulator)
{
    enum hc_format inputs = call->in[HC_FIRST].format;
    bool wide = inputs == HC_FP32 || inputs == HC_FP64;
    if (hc_is_fp8(inputs)) /* whose products have too few bits to be random below a sum's last */
        return false;
    bool reduction = call->op == HC_OP_sum || call->op == HC_OP_dot;
    if (reduction && call->params.reduce.accumulator != HC_FP32)
        return false;
    if ((call->op == HC_OP_gemm && call->params.gemm.half_accumulator) || hc_call_tf32(call))
        return false;
    return wide || (!accumulator->truncates && accumulator->precision >= 24);
}

double hc_line(const struct hc_call *call, const struct hc_accumulator *accumulator, int out,
               const struct hc_exact *want)
{
    double k = roundings(call);
    if (k == 0 || !is_modelled(call, accumulator))
        return (double)INFINITY;
    enum hc_format work = hc_call_fp64(call) ? HC_FP64 : HC_FP32;
    enum hc_format format = call->out[out].format;
    double u = hc_format_unit(work);
    double lambda = sqrt(2 * log(2 * k * HC_LINE_RESULTS / HC_LINE_CHANCE)) / (1 - u);
    double relative = expm1(lambda * sqrt(k) * u + k * u * u / (1 - u));
    double lost = 2 * k * hc_format_tiny(work) + hc_bound_flushed(call, accumulator, relative);
    double error = relative * want->magnitude + lost;
    double last = format == work ? 0 : hc_half_ulp(format, fabs(want->hi) + error);
    return error + last;
}
