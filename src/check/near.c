#include "check/near.h"

#include <math.h>
#include <stdbool.h>

struct hc_near hc_near_exact(double value)
{
    return (struct hc_near){value, 0};
}

/* One rounding into f (through fp32 where it is narrower) of a result that has strayed by x.error already. */
static struct hc_near rounded(enum hc_format f, struct hc_near x, double underflow)
{
    double u = hc_format_unit(f == HC_FP64 ? HC_FP64 : HC_FP32) + 0x1p-52;
    if (f != HC_FP32 && f != HC_FP64)
        u += hc_format_unit(f) * (1 + u);
    double most = fabs(x.value) + x.error;
    if (isinf(x.value) && isfinite(x.error))
        return hc_near_exact(x.value);
    x.error += u * most + underflow;
    /* Half an ulp beyond the largest number still rounds to it. */
    if (!(most < hc_format_max(f) * (1 + hc_format_unit(f) / 2)))
        x.error = (double)INFINITY;
    return x;
}

/* Half the smallest subnormal, of fp32 and of f; in fp64 that of `value` and of the number. */
static double underflow(enum hc_format f)
{
    if (f == HC_FP64)
        return hc_format_tiny(f);
    return (f == HC_FP32 ? 0 : hc_format_tiny(f) / 2) + hc_format_tiny(HC_FP32) / 2;
}

/* Nothing at all: a 0 of `value` alone may be a number that fp64 has not. */
static bool is_nothing(struct hc_near x)
{
    return x.value == 0 && x.error == 0;
}

struct hc_near hc_near_into(enum hc_format f, struct hc_near x)
{
    return f == HC_FP64 ? x : rounded(f, x, is_nothing(x) ? 0 : underflow(f));
}

/* Finite operands whose result leaves fp64, where `value` is computed: nothing is known of it. */
static void overflowed(struct hc_near *result, struct hc_near x, struct hc_near y)
{
    if (isinf(result->value) && isfinite(x.value) && isfinite(y.value))
        result->error = (double)INFINITY;
}

/* Both addends may come from storage of more bits than f: below f's normal range only fp32's sums
   are exact. */
struct hc_near hc_near_add(enum hc_format f, struct hc_near x, struct hc_near y)
{
    struct hc_near sum = {x.value + y.value, x.error + y.error};
    overflowed(&sum, x, y);
    bool exact = f == HC_FP32 || f == HC_FP64 || is_nothing(sum);
    return rounded(f, sum, exact ? 0 : underflow(f));
}

struct hc_near hc_near_sub(enum hc_format f, struct hc_near x, struct hc_near y)
{
    y.value = -y.value;
    return hc_near_add(f, x, y);
}

/* (x + dx)(y + dy) - x y = x dy + y dx + dx dy */
struct hc_near hc_near_mul(enum hc_format f, struct hc_near x, struct hc_near y)
{
    struct hc_near product = {x.value * y.value, 0};
    product.error = fabs(x.value) * y.error + fabs(y.value) * x.error + x.error * y.error;
    if ((isinf(x.value) && x.error == 0 && fabs(y.value) > y.error) ||
        (isinf(y.value) && y.error == 0 && fabs(x.value) > x.error))
        product.error = 0;
    overflowed(&product, x, y);
    return rounded(f, product, is_nothing(x) || is_nothing(y) ? 0 : underflow(f));
}

/* (x + dx) / (y + dy) - x / y = (dx - (x / y) dy) / (y + dy) */
struct hc_near hc_near_div(enum hc_format f, struct hc_near x, struct hc_near y)
{
    struct hc_near quotient = {x.value / y.value, (double)INFINITY};
    double least = fabs(y.value) - y.error;
    if (isinf(x.value) && x.error == 0 && least > 0)
        quotient.error = 0;
    else if (least > 0)
        quotient.error = (x.error + fabs(quotient.value) * y.error) / least;
    overflowed(&quotient, x, y);
    bool exact = is_nothing(x) || (isinf(y.value) && y.error == 0);
    return rounded(f, quotient, exact ? 0 : underflow(f));
}

/* The root is monotone: sqrt(x) - sqrt(x - dx) = dx / (sqrt(x) + sqrt(x - dx)) is the larger side.
   A root is never subnormal. */
struct hc_near hc_near_sqrt(enum hc_format f, struct hc_near x)
{
    struct hc_near root = {sqrt(x.value), 0};
    if (x.error > 0)
        root.error = x.error < x.value ? x.error / (root.value + sqrt(x.value - x.error))
                                       : sqrt(x.value + x.error);
    bool exact = f == HC_FP32 || f == HC_FP64 || is_nothing(root);
    return rounded(f, root, exact ? 0 : underflow(f));
}

/* Two ulp are at most 4 u |result|, one of the four being counted by rounded(), as is the ulp that the C
   library's `value` may be off. */
static struct hc_near elementary(enum hc_format f, struct hc_near x)
{
    double least = x.error;
    x = rounded(f, x, (f == HC_FP64 ? 4 : 2) * hc_format_tiny(f));
    x.error += 3 * hc_format_unit(f) * (fabs(x.value) + least);
    return x;
}

struct hc_near hc_near_exp(enum hc_format f, struct hc_near x)
{
    double value = exp(x.value);
    return elementary(f, (struct hc_near){value, value * expm1(x.error)});
}

struct hc_near hc_near_log(enum hc_format f, struct hc_near x)
{
    double error = x.error < x.value ? -log1p(-x.error / x.value) : (double)INFINITY;
    return elementary(f, (struct hc_near){log(x.value), error});
}

void hc_near_term(struct hc_near_sum *sum, struct hc_near term)
{
    sum->value += term.value;
    sum->count++;
    if (isinf(term.value) && term.error == 0)
        return;
    sum->error += term.error;
    sum->magnitude += fabs(term.value) + term.error;
}

/* n terms rounded to nearest, in any order: (n - 1) u times the sum of their magnitudes (Jeannerod
   and Rump, Improved error bounds for inner products in floating-point arithmetic, 2013). fp64 adds
   n 2^-53 of it. */
struct hc_near hc_near_total(enum hc_format f, const struct hc_near_sum *sum)
{
    struct hc_near total = {sum->value, sum->error};
    double n = sum->count;
    total.error += (n > 1 ? (n - 1) * hc_format_unit(f) + n * 0x1p-52 : 0) * sum->magnitude;
    if (!(sum->magnitude + total.error <= hc_format_max(f)))
        total.error = (double)INFINITY;
    else if (isinf(total.value))
        total.error = 0;
    return total;
}
