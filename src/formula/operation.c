/* One operation in all ways: what it is by definition, how it is carried out, and the memory of its
   values. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "formula/evaluation.h"

/* The definition of every function, once for all evaluations: apply on real numbers. `real` is
   what it gives at the precision that was asked for. `want` is what it gives on numbers of a
   format, with so many bits that one rounding of it is the rounding of the real result:

   - add, sub, fma: exact. Numbers of fp32 and bf16 are multiples of 2^-149 below 2^128 and their
     products are multiples of 2^-298 below 2^256: with the carry of the sum these are 555 bits.
     fp64: 2^-2148 to 2^2048. A sum of fp32 numbers has up to 278 bits, so that 256 would not do.
   - mul: exact in 106 bits.
   - rsqrt: 256 bits. 1 / sqrt(a) is m only if a m^2 is 1. The integers behind a m^2 and 1 differ by
     one at least otherwise, so that these differ by 2^-(3p+2) relatively, and 1 / sqrt(a) and m by
     2^-(3p+4), which is far above 2^-256.
   - power: 256 bits, in MPFR's correct rounding, whose result is exact or on the same side of every
     m as the power itself (hc_real_power).
   - div, sqrt: 256 bits. Let m be where a rounding of format numbers with p bits changes its
     result: m has at most p + 1 bits. If a / b is not m, the integers behind a and m b differ by
     one at least, so that a / b and m differ by 2^-(2p+1) relatively; for a root a and m^2 do, by
     2^-(2p+2). Both are far above 2^-256, so that the 256 bits lie on the same side of m.
   - exp, log and so on: 256 bits. Values that are no numbers of the format stay 2^-120 or more
     away from where the rounding changes (Lefèvre and Muller 2001, "Worst cases for correct
     rounding of the elementary functions in double precision", for fp64). Where the function is
     flat (exp of a tiny number) the 256 bits may be the number nearby, which is what rounding to
     nearest gives. They never claim to be exact. Of erf, tanh and sigmoid nobody has listed the
     worst cases. As if their bits were drawn, one of 2^64 arguments is 2^-(53+64+k) away with
     probability 2^-k; 256 bits leave k = 139.
   - all others: exact, since the result is 0, 1, an operand, or its negative or integer part. */

static hc_real_unary *const of_one[HC_FUNCTION_COUNT] = {
    [HC_FN_sqrt] = hc_real_sqrt,   [HC_FN_exp] = hc_real_exp,     [HC_FN_log] = hc_real_log,
    [HC_FN_log1p] = hc_real_log1p, [HC_FN_tanh] = hc_real_tanh,   [HC_FN_cos] = hc_real_cos,
    [HC_FN_sin] = hc_real_sin,     [HC_FN_erf] = hc_real_erf,     [HC_FN_negate] = hc_real_neg,
    [HC_FN_abs] = hc_real_abs,     [HC_FN_floor] = hc_real_floor, [HC_FN_cast] = hc_real_copy,
    [HC_FN_round] = hc_real_round, [HC_FN_rsqrt] = hc_real_rsqrt, [HC_FN_sigmoid] = hc_real_sigmoid,
};

static hc_real_binary *const of_two[HC_FUNCTION_COUNT] = {
    [HC_FN_add] = hc_real_add, [HC_FN_sub] = hc_real_sub,     [HC_FN_mul] = hc_real_mul,
    [HC_FN_div] = hc_real_div, [HC_FN_power] = hc_real_power,
};

/* Library functions whose result may be a number of the format, and is known to be one. */
static const bool is_algebraic[HC_FUNCTION_COUNT] = {[HC_FN_rsqrt] = true, [HC_FN_power] = true};

/* What is true of x and y that are no NaN: bit 0: x < y, bit 1: x = y, bit 2: x > y. */
static const int holds_if[HC_FUNCTION_COUNT] = {
    [HC_FN_less] = 1,          [HC_FN_less_equal] = 3, [HC_FN_greater] = 4,
    [HC_FN_greater_equal] = 6, [HC_FN_equal] = 2,      [HC_FN_not_equal] = 5,
};

/* A NaN is not 0, and so it is true. */
static bool truth(enum hc_function f, struct hc_real *const *x)
{
    bool first = !hc_real_is_zero(x[0]);
    if (f == HC_FN_not)
        return !first;
    if (f == HC_FN_and || f == HC_FN_or)
        return f == HC_FN_and ? first && !hc_real_is_zero(x[1]) : first || !hc_real_is_zero(x[1]);
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

/* As in torch, min and max are NaN if an operand is. */
static int choose_operand(enum hc_function f, struct hc_real *const *x)
{
    if (f == HC_FN_select)
        return hc_real_is_zero(x[0]) ? 2 : 1;
    if (hc_real_is_nan(x[0]) || hc_real_is_nan(x[1]))
        return hc_real_is_nan(x[0]) ? 0 : 1;
    int order = hc_real_compare(x[1], x[0]);
    return (f == HC_FN_min ? order < 0 : order > 0) ? 1 : 0;
}

/* A function of real numbers. 0 if the result is exact. */
static int apply(enum hc_function f, struct hc_real *y, struct hc_real *const *x)
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
    return hc_real_copy(y, x[choose_operand(f, x)]);
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
    (void)apply(operation->function, real, scratch->operand);
    y.value = hc_round_real(real, operation, &y.exact);
    y.before = hc_real_double(real);
    if (hc_functions[operation->function].kind == HC_FUNCTION_LIBRARY &&
        !is_algebraic[operation->function])
        y.exact = isnan(y.value) || (isinf(y.value) && ends);
    return y;
}

/* One operation in all four ways, for n elements. */

static const enum hc_op op_of[HC_FUNCTION_COUNT] = {
    [HC_FN_add] = HC_OP_add,   [HC_FN_sub] = HC_OP_sub,   [HC_FN_mul] = HC_OP_mul,
    [HC_FN_div] = HC_OP_div,   [HC_FN_sqrt] = HC_OP_sqrt, [HC_FN_fma] = HC_OP_fma,
    [HC_FN_cast] = HC_OP_cast,
};

static bool make_room(struct hc_scratch *scratch, int64_t n)
{
    for (int k = 0; n > scratch->room && k <= HC_MAX_OPERANDS; k++) {
        void *more = realloc(scratch->memory[k], (size_t)n * sizeof(double));
        if (!more)
            return false;
        scratch->memory[k] = more;
    }
    scratch->room = n > scratch->room ? n : scratch->room;
    return true;
}

/* Runs the op on the operands' `got`. */
static bool call_op(struct hc_evaluation *e, const struct hc_operation *operation,
                    const struct hc_operand *x, int64_t n, struct hc_tensor *out)
{
    enum hc_function f = operation->function;
    if (!make_room(&e->scratch, n))
        return hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for %lld numbers", (long long)n));
    struct hc_call call = {.op = op_of[f]};
    if (f == HC_FN_cast) {
        call.params.cast.direction = operation->direction;
        call.params.cast.saturate = operation->saturate;
    }
    for (int k = 0; k < hc_functions[f].most; k++) {
        call.in[k] = hc_tensor1(x[k].value->format, n, e->scratch.memory[k]);
        for (int64_t i = 0; i < n; i++)
            hc_tensor_set(&call.in[k], i, x[k].value->got[x[k].at + i * x[k].stride]);
    }
    *out = call.out[HC_OUT] = hc_tensor1(operation->format, n, e->scratch.memory[HC_MAX_OPERANDS]);
    enum hc_status status = e->options.call(&call, e->options.context);
    return status == HC_OK || hc_lack(e, status);
}

/* NaN equals NaN; +0 differs from -0. */
static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void compare_results(struct hc_evaluation *e, const struct hc_operation *operation,
                            double want, double got)
{
    struct hc_evaluation_difference *d = &e->difference;
    d->compared++;
    if (same_number(want, got))
        return;
    if (d->differed++ > 0)
        return;
    d->node = operation->node;
    d->step = e->step;
    d->format = operation->format;
    d->want = want;
    d->got = got;
}

struct hc_disc hc_real_disc(const struct hc_real *x, double rad)
{
    return (struct hc_disc){hc_real_double(x), rad};
}

double hc_real_rounding(const struct hc_evaluation *e, const struct hc_real *x, bool exact)
{
    double size = fabs(hc_real_double(x));
    if (hc_real_is_inf(x) || hc_real_is_nan(x))
        return 0;
    if (!exact)
        return fmax(nextafter(size * e->real_unit, (double)INFINITY), DBL_MIN);
    /* Where fp64 cannot hold x near enough, a radius says so. */
    bool outside = isinf(size) || (size < DBL_MIN && hc_real_compare(x, e->scratch.zero) != 0);
    return outside ? DBL_MIN : 0;
}

static double sum_up(double a, double b)
{
    return a == 0 || b == 0 ? a + b : nextafter(a + b, (double)INFINITY);
}

static void operate_real(struct hc_evaluation *e, const struct hc_operation *operation,
                         const struct hc_operand *x, struct hc_value *y, int64_t at, int64_t i)
{
    enum hc_function f = operation->function;
    struct hc_real *real[HC_MAX_OPERANDS] = {NULL};
    struct hc_disc disc[HC_MAX_OPERANDS];
    bool certain = true;
    for (int k = 0; k < hc_functions[f].most; k++) {
        int64_t j = x[k].at + i * x[k].stride;
        real[k] = x[k].value->real[j];
        disc[k] = hc_real_disc(real[k], x[k].value->real_rad[j]);
        certain &= disc[k].rad == 0;
    }
    bool exact = apply(f, y->real[at], real) == 0;
    double rad = certain ? 0 : hc_radius_apply(f, disc, hc_real_double(y->real[at]));
    double rounding = hc_real_rounding(e, y->real[at], exact);
    /* A power may be an ulp away, and not half of one (hc_real_power). */
    y->real_rad[at] = sum_up(rad, f == HC_FN_power ? 2 * rounding : rounding);
}

/* The rules of radii take the real result to be a number where the computed one is, and the same
   infinity where that is. A 0 without error may have the other sign, and so its reciprocal. */
static bool is_of_another_kind(const struct hc_real *real, double want)
{
    if (hc_real_is_inf(real) && isinf(want))
        return hc_real_double(real) != want;
    return hc_real_is_nan(real) != (isnan(want) != 0) || hc_real_is_inf(real) != (isinf(want) != 0);
}

/* Element at + i of y, but for `real`; `returned` is what the op returned, if it was called. */
static void operate_format(struct hc_evaluation *e, const struct hc_operation *operation,
                           const struct hc_operand *x, struct hc_value *y, int64_t at, int64_t i,
                           const struct hc_tensor *returned)
{
    enum hc_function f = operation->function;
    double want[HC_MAX_OPERANDS] = {0};
    double got[HC_MAX_OPERANDS] = {0};
    struct hc_disc disc[HC_MAX_OPERANDS];
    bool equal = true;
    for (int k = 0; k < hc_functions[f].most; k++) {
        int64_t j = x[k].at + i * x[k].stride;
        want[k] = x[k].value->want[j];
        got[k] = x[k].value->got[j];
        equal &= same_number(want[k], got[k]);
        disc[k] = (struct hc_disc){want[k], x[k].value->rad[j]};
    }
    struct hc_defined result = hc_define(&e->scratch, operation, want);
    bool directed = operation->direction != HC_NEAREST;
    double rounding = hc_radius_rounding_in(operation->format, result.before, result.value,
                                            directed, result.exact);
    y->rad[at] = sum_up(hc_radius_apply(f, disc, result.before), rounding);
    y->want[at] = result.value;
    hc_note(e, operation, x, i, want, &result);
    if (!e->options.call)
        return;
    if (returned)
        y->got[at] = hc_tensor_get(returned, i);
    else
        y->got[at] = equal ? result.value : hc_define(&e->scratch, operation, got).value;
    if (returned && equal)
        compare_results(e, operation, result.value, y->got[at]);
}

/* Notes a division by 0, or NaN, between constants: they are not rounded, and nothing else happens
   to them. Their numbers are known here to fp64 only. */
static void note_constants(struct hc_evaluation *e, const struct hc_operation *operation,
                           const struct hc_operand *x, const struct hc_real *y, int64_t i)
{
    double operand[HC_MAX_OPERANDS] = {0};
    if (!hc_real_is_inf(y) && !hc_real_is_nan(y))
        return;
    for (int k = 0; k < hc_functions[operation->function].most; k++) {
        const struct hc_real *real = x[k].value->real[x[k].at + i * x[k].stride];
        operand[k] = hc_real_double(real);
        if (hc_real_is_inf(real) || hc_real_is_nan(real))
            return;
    }
    double value = hc_real_double(y);
    hc_note(e, operation, x, i, operand, &(struct hc_defined){value, value, true});
}

bool hc_operate(struct hc_evaluation *e, const struct hc_operation *operation,
                const struct hc_operand *x, struct hc_value *y, int64_t at, int64_t n)
{
    enum hc_function f = operation->function;
    struct hc_tensor out;
    bool calls = e->options.call && hc_functions[f].kind == HC_FUNCTION_OP && !y->constant &&
                 x[0].value->format != HC_FORMAT_COUNT;
    if (calls && !call_op(e, operation, x, n, &out))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (!y->constant)
            operate_format(e, operation, x, y, at + i, i, calls ? &out : NULL);
        operate_real(e, operation, x, y, at + i, i);
        if (y->constant)
            note_constants(e, operation, x, y->real[at + i], i);
        if (!y->constant && is_of_another_kind(y->real[at + i], y->want[at + i]))
            y->rad[at + i] = (double)INFINITY;
    }
    return true;
}

/* A value and its memory. `value` is the first member, so that its address is that of the whole. */
struct hc_held {
    struct hc_value value;
    int64_t room; /* elements */
    double *own_got;
    struct hc_held *next;
};

static void free_held(struct hc_held *held)
{
    for (int64_t i = 0; held->value.real && i < held->room; i++)
        if (held->value.real[i])
            hc_real_free(held->value.real[i]);
    free(held->value.real);
    free(held->value.real_rad);
    free(held->value.want);
    free(held->value.rad);
    free(held->own_got);
    free(held);
}

static struct hc_held *new_held(const struct hc_values *values, int64_t n)
{
    struct hc_held *held = calloc(1, sizeof *held);
    if (!held)
        return NULL;
    size_t count = (size_t)n;
    struct hc_value *v = &held->value;
    held->room = n;
    v->want = malloc(count * sizeof *v->want);
    v->rad = malloc(count * sizeof *v->rad);
    v->real = calloc(count, sizeof(struct hc_real *));
    v->real_rad = malloc(count * sizeof *v->real_rad);
    held->own_got = values->got ? malloc(count * sizeof *held->own_got) : NULL;
    v->got = values->got ? held->own_got : v->want;
    if (!v->want || !v->rad || !v->real || !v->real_rad || !v->got) {
        free_held(held);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        v->real[i] = hc_real_new_bits(0, values->precision);
    return held;
}

/* An idle value with enough room, but not with far too much, or a new one. */
static struct hc_held *find_held(struct hc_values *values, int64_t n)
{
    for (struct hc_held **at = &values->idle; *at; at = &(*at)->next)
        if ((*at)->room >= n && (*at)->room / 4 <= n) {
            struct hc_held *found = *at;
            *at = found->next;
            return found;
        }
    return new_held(values, n);
}

static bool push(struct hc_values *values, struct hc_held *held)
{
    if (values->count == values->room) {
        int room = values->room ? 2 * values->room : 32;
        struct hc_held **more = realloc(values->temporary, (size_t)room * sizeof(struct hc_held *));
        if (!more)
            return false;
        values->temporary = more;
        values->room = room;
    }
    values->temporary[values->count++] = held;
    return true;
}

static void rest(struct hc_values *values, struct hc_held *held)
{
    held->next = values->idle;
    values->idle = held;
}

struct hc_value *hc_values_new(struct hc_values *values, bool list, int64_t n)
{
    struct hc_held *held = find_held(values, n);
    if (!held)
        return NULL;
    if (!push(values, held)) {
        free_held(held);
        return NULL;
    }
    held->value.constant = false;
    held->value.format = HC_FORMAT_COUNT;
    held->value.list = list;
    held->value.n = n;
    return &held->value;
}

void hc_values_release(struct hc_values *values, int mark, const struct hc_value *kept)
{
    struct hc_held *keep = NULL;
    while (values->count > mark) {
        struct hc_held *held = values->temporary[--values->count];
        if (&held->value == kept)
            keep = held;
        else
            rest(values, held);
    }
    if (keep)
        values->temporary[values->count++] = keep;
}

struct hc_value *hc_values_own(struct hc_values *values, struct hc_value *v)
{
    for (int i = values->count - 1; i >= 0; i--)
        if (&values->temporary[i]->value == v) {
            values->temporary[i] = values->temporary[--values->count];
            return v;
        }
    struct hc_value *copy = hc_values_new(values, v->list, v->n);
    if (!copy)
        return NULL;
    values->count--;
    hc_value_like(copy, v);
    for (int64_t i = 0; i < v->n; i++)
        hc_value_copy(copy, i, v, i);
    return copy;
}

void hc_values_drop(struct hc_values *values, struct hc_value *v)
{
    if (v)
        rest(values, (struct hc_held *)v);
}

void hc_values_close(struct hc_values *values)
{
    hc_values_release(values, 0, NULL);
    while (values->idle) {
        struct hc_held *held = values->idle;
        values->idle = held->next;
        free_held(held);
    }
    free(values->temporary);
}

void hc_value_copy(struct hc_value *y, int64_t i, const struct hc_value *x, int64_t j)
{
    hc_real_copy(y->real[i], x->real[j]);
    y->real_rad[i] = x->real_rad[j];
    if (x->constant)
        return;
    y->want[i] = x->want[j];
    y->got[i] = x->got[j];
    y->rad[i] = x->rad[j];
}

void hc_value_like(struct hc_value *y, const struct hc_value *x)
{
    y->constant = x->constant;
    y->format = x->format;
}
