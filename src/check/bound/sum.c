/* Sums of products: sum, dot, sum_squares, conv2d and its gradients, avg_pool; gemm.c goes on.

   A contract leaves the order of a long sum open, so no single result is right. What can be bounded
   is the distance from the real sum: each rounding errs by at most u of a partial sum, and every
   partial sum is at most S, the sum of the terms' magnitudes, in whatever order. S is the
   reference's `magnitude`. hc_bound_growth(n) below is the factor by which n additions may stray,
   for an ordinary accumulator and for the blocks of a matrix unit. To it come the products' own
   roundings, what tf32 cuts off the factors, scaling by alpha and beta, and underflow and what a
   unit flushes, which are absolute.

   The bounds are relative to S, not to the result: a sum that cancels may lose all its bits and be
   within its contract. Where S may leave the accumulator's range, a partial sum may overflow in one
   order and not in another, and the bound is infinite. */
#include <math.h>

#include "check/bound/products.h"
#include "num/ulp.h"

static const struct hc_accumulator plain = {.precision = 24, .block = 1};
static const struct hc_accumulator plain_fp64 = {.precision = 53, .block = 1};

static const struct hc_accumulator *plain_of(const struct hc_call *call)
{
    return hc_call_fp64(call) ? &plain_fp64 : &plain;
}

/* |computed sum - real sum| <= hc_bound_growth(n) * S for n additions, in any order.

   One at a time, to nearest: n u (Jeannerod and Rump, Improved error bounds for inner products in
   floating-point arithmetic, 2013); a rounded product counts as one more addition.

   In blocks of b, truncating, with e extra bits: the b products and the accumulator are aligned to
   the largest of them, M, and cut below 2^-e of M's last bit, so that each loses less than
   2^-e U M, U = 2^(1 - precision); M itself loses nothing. Then the sum is cut to the accumulator's
   precision and loses less than U of itself. Both M and the sum are at most the magnitudes so far,
   A <= S: a step costs c = U (b 2^-e + 1), k steps at most (1 + c)^k - 1 of S. A library may cut
   the sum into slices; slices of two blocks or more add at most one step each, for a last block
   that is not full or for their own addition: k = 2 ceil(n / b). Half of U where cutting is
   rounding to nearest. */
double hc_bound_growth(const struct hc_accumulator *a, double n)
{
    double u = ldexp(1, -a->precision);
    if (a->block == 1 && !a->truncates)
        return n * u;
    double step = (a->truncates ? 2 * u : u) * (a->block * ldexp(1, -a->extra_bits) + 1);
    return expm1(2 * ceil(n / a->block) * log1p(step));
}

bool hc_bound_in_unit(const struct hc_call *call)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    enum hc_format inputs = call->in[HC_FIRST].format;
    bool products = class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV || call->op == HC_OP_dot;
    return products && inputs != HC_FP64 && (inputs != HC_FP32 || hc_call_tf32(call));
}

/* Products of numbers of 16 bits and of fp8 are exact in fp32 unless they underflow; those of fp16
   and of fp8 never do, since the product of the smallest two, 2^-48 or more, is no smaller than
   fp32's smallest number. A product that the accumulator does not hold is rounded, and counts as
   one more addition. Returns what underflow may lose: half of the smallest number for each product
   that is rounded to nearest, and a whole one where a matrix unit cuts. */
double hc_bound_products(const struct hc_call *call, const struct hc_accumulator *accumulator,
                         double terms, double *additions)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    const struct hc_tensor *y = call->op == HC_OP_sum_squares ? x : &call->in[HC_FIRST + 1];
    enum hc_format work = x->format == HC_FP64 ? HC_FP64 : HC_FP32;
    double least = hc_format_tiny(x->format) * hc_format_tiny(y->format);
    int bits = hc_formats[x->format].precision + hc_formats[y->format].precision;
    int held = hc_formats[work].precision;
    if (hc_bound_in_unit(call) && accumulator->precision < held)
        held = accumulator->precision;
    *additions = bits > held ? terms : fmax(terms - 1, 0);
    bool cuts = hc_bound_in_unit(call) && (accumulator->truncates || accumulator->block > 1);
    double lost = cuts ? hc_format_tiny(work) : hc_half_ulp(work, 0);
    return least >= hc_format_tiny(work) ? 0 : terms * lost;
}

/* What a product loses of its magnitude where its factors may be taken as tf32. Rounded or cut, x
   becomes x + dx, |dx| <= 2^-10 max(|x|, 2^-126), and the reference counts |x| as that maximum: the
   product's error is (1 + 2^-10)^2 - 1 of its share in the magnitude. The product itself has 22
   bits and is exact in fp32 unless it underflows; counting it as rounded costs one addition. */
double hc_bound_cut(const struct hc_call *call)
{
    return hc_call_tf32(call) && hc_call_length(call) > 0 ? 0x1p-9 + 0x1p-20 : 0;
}

/* Matrix units take 16-bit inputs; fp32 goes through the ordinary arithmetic. A device may sum tf32
   numbers either way: in its ordinary arithmetic, or in the matrix unit, of which tf32 fills half a
   block at a time (Fasi et al.: 4 terms on A100 against 8 of fp16). */
double hc_bound_growth_of(const struct hc_call *call, const struct hc_accumulator *accumulator,
                          double additions)
{
    double ordinary = hc_bound_growth(plain_of(call), additions);
    struct hc_accumulator half = *accumulator;
    if (!hc_bound_in_unit(call))
        return ordinary;
    if (!hc_call_tf32(call))
        return hc_bound_growth(accumulator, additions);
    half.block = half.block > 1 ? half.block / 2 : 1;
    return fmax(ordinary, hc_bound_growth(&half, additions));
}

/* What a unit that flushes loses beside its roundings. Everything that it takes for 0 was less than
   the smallest normal number: each of n products, each of the n additions in which both addends are
   not 0 (of which a sum in any order has n - 1, and one more for a C that the sum begins with), and
   the result, when it is written. Whatever is lost meets later roundings as any addend does. A
   factor is no part of this: what a flushed factor would have added has no bound, since the other
   one may be large. So who judges such a unit takes its subnormal factors for 0. */
double hc_bound_flushed(const struct hc_call *call, const struct hc_accumulator *accumulator,
                        double relative)
{
    enum hc_format inputs = call->in[HC_FIRST].format;
    bool in_unit = inputs != HC_FP64 && (inputs != HC_FP32 || hc_call_tf32(call));
    double terms = hc_call_length(call);
    if (!accumulator->flushes || !in_unit || terms == 0)
        return 0;
    return (2 * terms + 1) * 0x1p-126 * (1 + relative);
}

/* The error, or infinity where a partial sum may leave the accumulator's range. */
double hc_bound_in_range(double error, double magnitude, double largest)
{
    return magnitude + error <= largest ? error : (double)INFINITY;
}

/* A 16-bit accumulator F, in which the inputs are, too: its sums and products through fp32 are the
   correctly rounded ones (kernels/element/arithmetic.h), so the theorem above holds with F's u. */
static double narrow(const struct hc_call *call, double terms, const struct hc_exact *want)
{
    enum hc_format f = call->params.reduce.accumulator;
    double error = terms * (hc_format_unit(f) * want->magnitude + hc_half_ulp(f, 0));
    return hc_bound_in_range(error, want->magnitude, hc_format_max(f));
}

double hc_bound_sum(const struct hc_element *e, const struct hc_accumulator *accumulator,
                    const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    (void)accumulator;
    double n = hc_call_length(call);
    if (call->params.reduce.accumulator != HC_FP32)
        return narrow(call, n, want);
    return hc_bound_in_range(hc_bound_growth(&plain, fmax(n - 1, 0)) * want->magnitude,
                             want->magnitude, hc_format_max(HC_FP32));
}

double hc_bound_dot(const struct hc_element *e, const struct hc_accumulator *accumulator,
                    const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    double n = hc_call_length(call);
    double additions;
    if (call->params.reduce.accumulator != HC_FP32)
        return narrow(call, n, want);
    double lost = hc_bound_products(call, accumulator, n, &additions);
    double relative = hc_bound_growth_of(call, accumulator, additions);
    lost += hc_bound_flushed(call, accumulator, relative);
    double error = relative * want->magnitude + lost;
    return hc_bound_in_range(error, want->magnitude, hc_format_max(HC_FP32));
}

/* The partial sum is one more product, with 1. The bound is never infinite. Terms are non-negative,
   so a partial sum that overflowed stays infinite. With an unbounded exponent it would be >= 2^128
   and within this bound of the exact sum, and hc_bound_error counts an infinity as max(2^128,
   exact). */
double hc_bound_sum_squares(const struct hc_element *e, const struct hc_accumulator *accumulator,
                            const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    (void)accumulator;
    double n = hc_call_length(call);
    double additions;
    double lost = hc_bound_products(call, &plain, n, &additions);
    if (call->in[HC_SUM_SQUARES_PARTIAL].data && n > 0)
        additions++;
    return hc_bound_growth(&plain, additions) * want->magnitude + lost;
}

double hc_bound_conv(const struct hc_element *e, const struct hc_accumulator *accumulator,
                     const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    double additions;
    double lost = hc_bound_products(call, accumulator, hc_call_length(call), &additions);
    double relative = hc_bound_growth_of(call, accumulator, additions);
    relative += hc_bound_cut(call) * (1 + relative);
    lost += hc_bound_flushed(call, accumulator, relative);
    double error = relative * want->magnitude + lost;
    return hc_bound_in_range(error, want->magnitude, hc_format_max(hc_bound_work(call)));
}

/* n - 1 additions and a division, the sum being n times the mean. */
double hc_bound_pool(const struct hc_element *e, const struct hc_accumulator *accumulator,
                     const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    (void)accumulator;
    double n = hc_call_length(call);
    double error =
        hc_bound_growth(plain_of(call), n) * want->magnitude + hc_half_ulp(hc_bound_work(call), 0);
    return hc_bound_in_range(error, n * want->magnitude, hc_format_max(hc_bound_work(call)));
}

/* In any order the sum may also be multiplied by 1 / n, which is rounded: one rounding more. */
double hc_bound_any_pool(const struct hc_element *e, const struct hc_accumulator *accumulator,
                         const struct hc_exact *want)
{
    double u = hc_format_unit(hc_bound_work(e->call));
    double error = hc_bound_pool(e, accumulator, want);
    return error + u * (want->magnitude + error);
}
