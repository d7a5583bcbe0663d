/* gemm: a sum of products (sum.c), and what stands around it, alpha and beta C. */
#include <math.h>

#include "check/bound/products.h"

/* The magnitudes of an element's products, which alpha = 0 hides in the result's. */
static double products_of(const struct hc_element *e)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    const int64_t *shape = call->out[HC_GEMM_OUT].shape;
    int64_t k = a->shape[call->params.gemm.transpose_a ? 0 : 1];
    int64_t i = e->index / shape[1];
    int64_t j = e->index % shape[1];
    double sum = 0;
    for (int64_t t = 0; t < k; t++)
        sum += fabs(hc_tensor_get(a, call->params.gemm.transpose_a ? t * shape[0] + i : i * k + t) *
                    hc_tensor_get(b, call->params.gemm.transpose_b ? j * k + t : t * shape[1] + j));
    return sum;
}

/* Whether alpha is 0 and the products' sum, with its relative error, is at most `most`: then what
   alpha = 0 multiplies is no infinity. */
static bool leaves_out(const struct hc_element *e, double alpha, double relative, double most)
{
    const struct hc_call *call = e->call;
    return alpha == 0 && call->in[HC_GEMM_A].data && call->in[HC_GEMM_B].data &&
           products_of(e) * (1 + relative) * (1 + 0x1p-20) <= most;
}

/* Sums in fp16. Each product and each partial sum is rounded to fp16, or cut, and errs by U: U = u
   to nearest, 2 u where the device cuts. Where it cuts, no term meets more than n errors, which
   come to (1 + U)^n - 1 of S; to nearest, one after the other, they come to n u (Jeannerod and
   Rump). The rest is as in fp32, and C is rounded, too. A product below fp16's normal numbers loses
   less than the smallest of them; sums there are exact. Of products that alpha = 0 leaves out
   nothing errs, nor does the addition of their 0: what is left is to round C and beta C. The bound
   is infinite where a partial sum, alpha's multiple or C may leave fp16. */
static double half_gemm(const struct hc_element *e, const struct hc_accumulator *accumulator,
                        const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm *p = &call->params.gemm;
    double n = hc_call_length(call);
    double u = hc_format_unit(HC_FP16);
    double alpha = fabs(hc_round(HC_FP16, p->alpha));
    double beta = p->beta != 0 ? fabs(hc_round(HC_FP16, p->beta)) : 1;
    double tail = (n > 0 && alpha != 1) + (p->beta != 0 ? 3 : 0);
    double each = log1p(accumulator->truncates ? 2 * u : u);
    double sum = accumulator->truncates ? expm1(n * each) : n * u;
    double relative = sum + (1 + sum) * expm1(tail * each);
    double lost = (n * fmax(alpha, 1) + tail) * hc_format_tiny(HC_FP16);
    double of_c = expm1((p->beta != 0 ? 2 : 0) * each);
    double error = (alpha == 0 ? of_c : relative) * want->magnitude + (1 + relative) * lost;
    double most = hc_format_max(HC_FP16);
    double scale = leaves_out(e, alpha, sum, most) ? 1 : alpha;
    double largest = most * fmin(fmin(scale, beta), 1);
    return hc_bound_in_range(error, want->magnitude, largest);
}

static double alpha_of(const struct hc_gemm *p)
{
    return fabs(hc_single(p->alpha, p->as_given));
}

/* What a C that the sum begins with loses of itself: it has fp32's 24 bits, and where an
   accumulator has fewer it is cut once, by less than 2^(1 - precision - extra_bits). Below fp32's
   normal numbers it loses less than the accumulator's smallest number, which is
   2^-(125 + precision), and what the exponent of a zero cuts off is less than another of these. */
static double begun(const struct hc_accumulator *a, double *lost)
{
    int bits = a->precision + a->extra_bits;
    if (bits >= hc_formats[HC_FP32].precision)
        return 0;
    *lost += 2 * ldexp(1, -125 - a->precision);
    return ldexp(1, 1 - bits);
}

/* The relative error of alpha times the sum, plus beta C, for a sum of so many additions. After it
   come alpha, beta C and the last addition. Each is one rounding, unless it multiplies by 1 or adds
   nothing. beta C may also be what the sum begins with: then the last addition is one of the
   accumulator's, and one more of them. */
static double with_c(const struct hc_call *call, const struct hc_accumulator *accumulator,
                     double additions, double *lost)
{
    const struct hc_gemm *p = &call->params.gemm;
    bool adds = p->beta != 0;
    double tail = (alpha_of(p) != 1) + (adds && p->beta != 1);
    double each = log1p(hc_format_unit(hc_bound_work(call)));
    double last = hc_bound_growth_of(call, accumulator, additions);
    last += hc_bound_cut(call) * (1 + last);
    last += (1 + last) * expm1((tail + adds) * each);
    if (!adds || hc_call_length(call) == 0)
        return last;
    double first = hc_bound_growth_of(call, accumulator, additions + 1);
    first += hc_bound_cut(call) * (1 + first);
    if (hc_bound_in_unit(call))
        first += begun(accumulator, lost) * (1 + first);
    first += (1 + first) * expm1(tail * each);
    return fmax(first, last);
}

/* The relative error of beta C where alpha is 0: to add zeros loses nothing, in whatever order. */
static double of_c_alone(const struct hc_call *call, const struct hc_accumulator *accumulator)
{
    double beta = call->params.gemm.beta;
    double each = log1p(hc_format_unit(hc_bound_work(call)));
    double rounded = expm1((beta != 0 && beta != 1) * each);
    double lost = 0; /* with_c has counted it */
    double first = hc_bound_in_unit(call) ? begun(accumulator, &lost) : 0;
    return rounded + first * (1 + rounded);
}

/* The magnitude is that of the whole result, alpha included. What the products lose by underflow is
   multiplied by alpha. The products' sum must not overflow; with alpha = 0 that is asked of the
   products themselves. */
double hc_bound_gemm(const struct hc_element *e, const struct hc_accumulator *accumulator,
                     const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm *p = &call->params.gemm;
    if (p->half_accumulator)
        return half_gemm(e, accumulator, want);
    double alpha = alpha_of(p);
    double additions;
    double lost =
        hc_bound_products(call, accumulator, hc_call_length(call), &additions) * fmax(alpha, 1);
    double tail = (alpha != 1) + (p->beta != 0) + (p->beta != 0 && p->beta != 1);
    double relative = with_c(call, accumulator, additions, &lost);
    lost += hc_bound_flushed(call, accumulator, relative) * fmax(alpha, 1);
    double error = (alpha == 0 ? of_c_alone(call, accumulator) : relative) * want->magnitude +
                   lost + tail * hc_format_tiny(hc_bound_work(call));
    double most = hc_format_max(hc_bound_work(call));
    if (leaves_out(e, alpha, relative, most))
        alpha = 1;
    return hc_bound_in_range(error, want->magnitude, most * fmin(alpha, 1));
}
