/* One operation in all four ways, for n elements. */
#include "formula/evaluation.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

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
static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void compare(struct hc_evaluation *e, const struct hc_operation *operation, double want,
                    double got)
{
    struct hc_evaluation_difference *d = &e->difference;
    d->compared++;
    if (same(want, got))
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
    struct hc_real *real[HC_MAX_OPERANDS];
    struct hc_disc disc[HC_MAX_OPERANDS];
    bool certain = true;
    for (int k = 0; k < hc_functions[f].most; k++) {
        int64_t j = x[k].at + i * x[k].stride;
        real[k] = x[k].value->real[j];
        disc[k] = hc_real_disc(real[k], x[k].value->real_rad[j]);
        certain &= disc[k].rad == 0;
    }
    bool exact = hc_apply(f, y->real[at], real) == 0;
    double rad = certain ? 0 : hc_radius_apply(f, disc, hc_real_double(y->real[at]));
    y->real_rad[at] = sum_up(rad, hc_real_rounding(e, y->real[at], exact));
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
    double want[HC_MAX_OPERANDS];
    double got[HC_MAX_OPERANDS];
    struct hc_disc disc[HC_MAX_OPERANDS];
    bool equal = true;
    for (int k = 0; k < hc_functions[f].most; k++) {
        int64_t j = x[k].at + i * x[k].stride;
        want[k] = x[k].value->want[j];
        got[k] = x[k].value->got[j];
        equal &= same(want[k], got[k]);
        disc[k] = (struct hc_disc){want[k], x[k].value->rad[j]};
    }
    struct hc_defined result = hc_define(&e->scratch, operation, want);
    bool directed = operation->direction != HC_NEAREST;
    double rounding = hc_radius_rounding_in(operation->format, result.before, result.value,
                                            directed, result.exact);
    y->rad[at] = sum_up(hc_radius_apply(f, disc, result.before), rounding);
    y->want[at] = result.value;
    hc_note(e, operation, want, &result);
    if (!e->options.call)
        return;
    if (returned)
        y->got[at] = hc_tensor_get(returned, i);
    else
        y->got[at] = equal ? result.value : hc_define(&e->scratch, operation, got).value;
    if (returned && equal)
        compare(e, operation, result.value, y->got[at]);
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
        if (!y->constant && is_of_another_kind(y->real[at + i], y->want[at + i]))
            y->rad[at + i] = (double)INFINITY;
    }
    return true;
}
