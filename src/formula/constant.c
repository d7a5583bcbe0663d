/* Constants: exact real numbers, or as exact as the precision of the real numbers allows, with a
   radius. They have no format until they meet one. Then they are rounded once. If the radius
   leaves open to which of two numbers, that is no error, since the radius enters the bound. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formula/evaluation.h"

static double up(double sum)
{
    return sum == 0 ? 0 : nextafter(sum, (double)INFINITY);
}

struct hc_value *hc_integer(struct hc_evaluation *e, int64_t value)
{
    struct hc_value *v = hc_new_value(e, false, 1);
    if (!v)
        return NULL;
    v->constant = true;
    hc_real_set(v->real[0], (double)value);
    v->real_rad[0] = 0;
    return v;
}

static struct hc_value *read_number(struct hc_evaluation *e, const struct hc_node *node)
{
    struct hc_value *v = hc_integer(e, 0);
    char *text = v ? malloc((size_t)node->length + 1) : NULL;
    if (!text)
        return hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for a number"));
    memcpy(text, node->at, (size_t)node->length);
    text[node->length] = '\0';
    bool exact = false;
    if (strcmp(text, "pi") == 0)
        hc_real_pi(v->real[0]);
    else
        (void)hc_real_read(v->real[0], text, &exact);
    v->real_rad[0] = hc_real_rounding(e, v->real[0], exact);
    free(text);
    return v;
}

struct hc_value *hc_literal(struct hc_evaluation *e, const struct hc_node *node)
{
    if (node->kind == HC_NODE_STEP)
        return hc_integer(e, e->step);
    if (e->literal[node->id])
        return e->literal[node->id];
    struct hc_value *v = read_number(e, node);
    return v ? e->literal[node->id] = hc_values_own(&e->values, v) : NULL;
}

bool hc_integer_of(struct hc_evaluation *e, const struct hc_node *node, const struct hc_value *v,
                   int64_t i, int64_t least, int64_t most, int64_t *integer)
{
    if (!v->constant)
        return hc_wrong(e, node, "this has to be a constant, and not a value that was computed");
    struct hc_real *rest = e->scratch.result;
    double nearest = nearbyint(hc_real_double(v->real[i]));
    hc_real_set(rest, nearest);
    (void)hc_real_sub(rest, v->real[i], rest);
    if (!(fabs(hc_real_double(rest)) <= v->real_rad[i]))
        return hc_wrong(e, node, "this has to be an integer, and it is %.6g",
                        hc_real_double(v->real[i]));
    if (!(nearest >= (double)least && nearest <= (double)most))
        return hc_wrong(e, node, "this has to be an integer from %lld to %lld, and it is %.17g",
                        (long long)least, (long long)most, nearest);
    *integer = (int64_t)nearest;
    return true;
}

/* a^n for an integer n. If the real number is a (1 + d), |d| <= r = rad / (|a| - rad), then a^n is
   off by a factor of (1 + d)^n, which differs from 1 by at most (1 + r)^|n| - 1. */
static void integer_power(struct hc_evaluation *e, struct hc_real *y, double *y_rad,
                          const struct hc_real *a, double rad, long n)
{
    bool exact = hc_real_pow(y, a, n) == 0;
    double size = fabs(hc_real_double(y));
    double base = fabs(hc_real_double(a)) * (1 - 0x1p-50);
    double most = (fabs(hc_real_double(a)) + rad) * (1 + 0x1p-50);
    double growth = n < 0 ? (double)INFINITY : 2 * pow(most, (double)n);
    if (rad < base)
        growth = size * expm1(fabs((double)n) * log1p(rad / (base - rad)));
    growth = rad > 0 && n != 0 ? growth * (1 + 0x1p-40) + DBL_MIN : 0;
    growth = isnan(growth) ? (double)INFINITY : growth;
    *y_rad = up(growth + hc_real_rounding(e, y, exact));
}

/* exp(b log a), where each operation carries the radius along. */
static bool real_power(struct hc_evaluation *e, const struct hc_node *node, struct hc_value *y,
                       int64_t i, const struct hc_operand *a_and_b)
{
    struct hc_operation operation = {node, HC_FN_log, HC_FP64, HC_NEAREST, false, false};
    struct hc_operand x[2] = {a_and_b[0], a_and_b[1]};
    for (int k = 0; k < 2; k++)
        x[k].at += i * x[k].stride;
    bool done = hc_operate(e, &operation, x, y, i, 1);
    operation.function = HC_FN_mul;
    x[0] = (struct hc_operand){y, i, 0};
    done = done && hc_operate(e, &operation, x, y, i, 1);
    operation.function = HC_FN_exp;
    return done && hc_operate(e, &operation, x, y, i, 1);
}

bool hc_power(struct hc_evaluation *e, const struct hc_node *node, const struct hc_operand *x,
              struct hc_value *y)
{
    for (int k = 0; k < 2; k++)
        if (!x[k].value->constant)
            return hc_wrong(e, node->operand[k], "^ is for two constants; write x * x for values");
    for (int64_t i = 0; i < y->n; i++) {
        int64_t j = i * x[0].stride;
        int64_t k = i * x[1].stride;
        double n = hc_real_double(x[1].value->real[k]);
        if (x[1].value->real_rad[k] == 0 && n == nearbyint(n) && fabs(n) < 0x1p53)
            integer_power(e, y->real[i], &y->real_rad[i], x[0].value->real[j],
                          x[0].value->real_rad[j], (long)n);
        else if (!real_power(e, node, y, i, x))
            return false;
    }
    return true;
}

/* tf32 is the format of no value: its numbers are fp32 numbers. */
static enum hc_format format_of_value(enum hc_format format)
{
    return format == HC_TF32 ? HC_FP32 : format;
}

static struct hc_value *round_constant(struct hc_evaluation *e, const struct hc_operation *cast,
                                       const struct hc_value *v)
{
    struct hc_value *y = hc_new_value(e, v->list, v->n);
    bool directed = cast->direction != HC_NEAREST;
    for (int64_t i = 0; y && i < v->n; i++) {
        bool exact;
        double rounded = hc_round_real(v->real[i], cast, &exact);
        y->want[i] = y->got[i] = rounded;
        y->rad[i] =
            up(v->real_rad[i] + hc_radius_rounding_in(cast->format, hc_real_double(v->real[i]),
                                                      rounded, directed, exact));
        (void)hc_real_copy(y->real[i], v->real[i]);
        y->real_rad[i] = v->real_rad[i];
        hc_note_constant(e, cast, v->real[i], rounded);
    }
    return y;
}

struct hc_value *hc_cast_value(struct hc_evaluation *e, const struct hc_operation *operation,
                               struct hc_value *v)
{
    if (!v->constant && v->format == operation->format && !operation->saturate)
        return v;
    struct hc_value *y =
        v->constant ? round_constant(e, operation, v) : hc_new_value(e, v->list, v->n);
    struct hc_operand x = {v, 0, 1};
    if (!y || (!v->constant && !hc_operate(e, operation, &x, y, 0, v->n)))
        return NULL;
    y->format = format_of_value(operation->format);
    return y;
}

struct hc_value *hc_meet(struct hc_evaluation *e, const struct hc_node *node, struct hc_value *v,
                         enum hc_format format)
{
    struct hc_operation cast = {node, HC_FN_cast, format, HC_NEAREST, true, false};
    if (!v->constant && v->format == format_of_value(format))
        return v;
    if (format != HC_FORMAT_COUNT)
        return hc_cast_value(e, &cast, v);
    cast.format = HC_FP64;
    struct hc_value *y = hc_cast_value(e, &cast, v);
    if (y)
        y->format = HC_FORMAT_COUNT;
    return y;
}
