/* The definition of every function, once for all evaluations: hc_apply on real numbers. `real` is
   what it gives at the precision that was asked for. `want` is what it gives on numbers of a
   format, with so many bits that one rounding of it is the rounding of the real result:

   - add, sub, fma: exact. Numbers of fp32 and bf16 are multiples of 2^-149 below 2^128 and their
     products are multiples of 2^-298 below 2^256: with the carry of the sum these are 555 bits.
     fp64: 2^-2148 to 2^2048. A sum of fp32 numbers has up to 278 bits, so that 256 would not do.
   - mul: exact in 106 bits.
   - div, sqrt: 256 bits. Let m be where a rounding of format numbers with p bits changes its
     result: m has at most p + 1 bits. If a / b is not m, the integers behind a and m b differ by
     one at least, so that a / b and m differ by 2^-(2p+1) relatively; for a root a and m^2 do, by
     2^-(2p+2). Both are far above 2^-256, so that the 256 bits lie on the same side of m.
   - exp, log and so on: 256 bits. Values that are no numbers of the format stay 2^-120 or more
     away from where the rounding changes (Lefèvre and Muller 2001, "Worst cases for correct
     rounding of the elementary functions in double precision", for fp64). Where the function is
     flat (exp of a tiny number) the 256 bits may be the number nearby, which is what rounding to
     nearest gives. They never claim to be exact.
   - all others: exact, since the result is 0, 1, an operand, or its negative or integer part. */
#include "formula/evaluation.h"

#include <float.h>
#include <math.h>

static hc_real_unary *const of_one[HC_FUNCTION_COUNT] = {
    [HC_FN_sqrt] = hc_real_sqrt,   [HC_FN_exp] = hc_real_exp,     [HC_FN_log] = hc_real_log,
    [HC_FN_log1p] = hc_real_log1p, [HC_FN_tanh] = hc_real_tanh,   [HC_FN_cos] = hc_real_cos,
    [HC_FN_sin] = hc_real_sin,     [HC_FN_erf] = hc_real_erf,     [HC_FN_negate] = hc_real_neg,
    [HC_FN_abs] = hc_real_abs,     [HC_FN_floor] = hc_real_floor, [HC_FN_cast] = hc_real_copy,
};

static hc_real_binary *const of_two[HC_FUNCTION_COUNT] = {
    [HC_FN_add] = hc_real_add,
    [HC_FN_sub] = hc_real_sub,
    [HC_FN_mul] = hc_real_mul,
    [HC_FN_div] = hc_real_div,
};

/* What is true of x and y that are no NaN: bit 0: x < y, bit 1: x = y, bit 2: x > y. */
static const int holds_if[HC_FUNCTION_COUNT] = {
    [HC_FN_less] = 1,          [HC_FN_less_equal] = 3, [HC_FN_greater] = 4,
    [HC_FN_greater_equal] = 6, [HC_FN_equal] = 2,      [HC_FN_not_equal] = 5,
};

static bool truth(enum hc_function f, struct hc_real *const *x)
{
    bool nan = hc_real_is_nan(x[0]);
    bool inf = hc_real_is_inf(x[0]);
    if (f == HC_FN_isnan)
        return nan;
    if (f == HC_FN_isinf)
        return inf;
    if (f == HC_FN_isfinite)
        return !nan && !inf;
    if (nan || hc_real_is_nan(x[1]))
        return f == HC_FN_not_equal;
    int order = hc_real_compare(x[0], x[1]);
    return (holds_if[f] & (order < 0 ? 1 : order == 0 ? 2 : 4)) != 0;
}

/* As in torch, min and max are NaN if an operand is; a NaN is not 0, and so it is true. 0 is the
   number that equals its negative, which goes to y: fp64 has no number for all others. */
static int choose(enum hc_function f, struct hc_real *y, struct hc_real *const *x)
{
    if (f == HC_FN_select) {
        (void)hc_real_neg(y, x[0]);
        return !hc_real_is_nan(x[0]) && hc_real_compare(y, x[0]) == 0 ? 2 : 1;
    }
    if (hc_real_is_nan(x[0]) || hc_real_is_nan(x[1]))
        return hc_real_is_nan(x[0]) ? 0 : 1;
    int order = hc_real_compare(x[1], x[0]);
    return (f == HC_FN_min ? order < 0 : order > 0) ? 1 : 0;
}

int hc_apply(enum hc_function f, struct hc_real *y, struct hc_real *const *x)
{
    if (of_one[f])
        return of_one[f](y, x[0]);
    if (of_two[f])
        return of_two[f](y, x[0], x[1]);
    if (f == HC_FN_fma)
        return hc_real_fma(y, x[0], x[1], x[2]);
    if (hc_functions[f].kind == HC_FUNCTION_TRUTH) {
        hc_real_set(y, truth(f, x) ? 1 : 0);
        return 0;
    }
    return hc_real_copy(y, x[choose(f, y, x)]);
}

static double encoded(const struct hc_operation *o, double hi, double lo)
{
    uint64_t bits = o->saturate ? hc_encode_saturated(o->format, hi, lo, o->direction)
                                : hc_encode(o->format, hi, lo, o->direction);
    return hc_decode(o->format, bits);
}

double hc_round_real(const struct hc_real *x, const struct hc_operation *operation, bool *exact)
{
    struct hc_exact split = hc_real_exact(x);
    /* A finite number beyond fp64 is not infinite where the rounding leads back. */
    if (isinf(split.hi) && !hc_real_is_inf(x) && operation->direction != HC_NEAREST)
        split = (struct hc_exact){copysign(DBL_MAX, split.hi), copysign(1, split.hi), 0};
    double y = encoded(operation, split.hi, split.lo);
    *exact = (y == split.hi && split.lo == 0 && (isinf(y) != 0) == hc_real_is_inf(x)) ||
             (isnan(split.hi) && isnan(y));
    return y;
}

static struct hc_real *result_of(struct hc_scratch *scratch, const struct hc_operation *operation)
{
    enum hc_function f = operation->function;
    if ((f != HC_FN_add && f != HC_FN_sub && f != HC_FN_fma) || operation->format == HC_FP16)
        return scratch->result;
    return operation->format == HC_FP64 ? scratch->fp64_sum : scratch->narrow_sum;
}

struct hc_defined hc_define(struct hc_scratch *scratch, const struct hc_operation *operation,
                            const double *x)
{
    struct hc_defined y;
    if (operation->function == HC_FN_cast) {
        y.value = encoded(operation, x[0], 0);
        y.before = x[0];
        y.exact = y.value == x[0] || (isnan(x[0]) && isnan(y.value));
        return y;
    }
    bool ends = false; /* an operand is infinite */
    for (int k = 0; k < hc_functions[operation->function].most; k++) {
        hc_real_set(scratch->operand[k], x[k]);
        ends |= isinf(x[k]);
    }
    struct hc_real *real = result_of(scratch, operation);
    (void)hc_apply(operation->function, real, scratch->operand);
    y.value = hc_round_real(real, operation, &y.exact);
    y.before = hc_real_double(real);
    if (hc_functions[operation->function].kind == HC_FUNCTION_LIBRARY)
        y.exact = isnan(y.value) || (isinf(y.value) && ends);
    return y;
}
