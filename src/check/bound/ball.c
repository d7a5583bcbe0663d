#include "check/bound/ball.h"

#include <math.h>
#include <stdbool.h>

#include "num/ulp.h"

struct hc_ball hc_ball_exact(double value)
{
    return (struct hc_ball){value, 0};
}

/* What one rounding into f may lose of a result, through fp32 where f is narrower; and what fp64
   loses of `mid`. */
static double unit_of(enum hc_format f)
{
    double u = hc_format_unit(f == HC_FP64 ? HC_FP64 : HC_FP32) + 0x1p-52;
    return f == HC_FP32 || f == HC_FP64 ? u : u + hc_format_unit(f) * (1 + u);
}

/* One rounding into f, through fp32 where f is narrower, of a result with the radius x.rad. */
static struct hc_ball rounded(enum hc_format f, struct hc_ball x, double underflow)
{
    double u = unit_of(f);
    double most = fabs(x.mid) + x.rad;
    if (isinf(x.mid) && isfinite(x.rad))
        return hc_ball_exact(x.mid);
    x.rad += u * most + underflow;
    /* Half an ulp beyond the largest number still rounds to it. */
    if (!(most < hc_format_max(f) * (1 + hc_format_unit(f) / 2)))
        x.rad = (double)INFINITY;
    return x;
}

/* What a result below the normal numbers loses: half the smallest subnormal of fp32 and of f. In
   fp64 both `mid` and the number lose half of it. */
static double underflow(enum hc_format f)
{
    if (f == HC_FP64)
        return hc_format_tiny(f);
    return (f == HC_FP32 ? 0 : hc_half_ulp(f, 0)) + hc_half_ulp(HC_FP32, 0);
}

/* Whether x is 0 for certain: if only `mid` is 0, x may be a number too small for fp64. */
static bool is_nothing(struct hc_ball x)
{
    return x.mid == 0 && x.rad == 0;
}

struct hc_ball hc_ball_into(enum hc_format f, struct hc_ball x)
{
    return f == HC_FP64 ? x : rounded(f, x, is_nothing(x) ? 0 : underflow(f));
}

/* If finite operands have a result that leaves fp64, in which `mid` is computed, nothing is known
   of it. */
static void overflowed(struct hc_ball *result, struct hc_ball x, struct hc_ball y)
{
    if (isinf(result->mid) && isfinite(x.mid) && isfinite(y.mid))
        result->rad = (double)INFINITY;
}

/* Whether x is a number of f for certain. */
static bool is_held(enum hc_format f, struct hc_ball x)
{
    return x.rad == 0 && hc_round(f, x.mid) == x.mid;
}

/* Both addends may come from storage of more bits than f: below f's normal range only fp32's sums
   are exact. A number of f to which nothing is added is not rounded. */
struct hc_ball hc_ball_add(enum hc_format f, struct hc_ball x, struct hc_ball y)
{
    if ((is_nothing(x) && is_held(f, y)) || (is_nothing(y) && is_held(f, x)))
        return hc_ball_exact(x.mid + y.mid);
    struct hc_ball sum = {x.mid + y.mid, x.rad + y.rad};
    overflowed(&sum, x, y);
    bool exact = f == HC_FP32 || f == HC_FP64 || is_nothing(sum);
    return rounded(f, sum, exact ? 0 : underflow(f));
}

struct hc_ball hc_ball_stored(enum hc_format f, double x)
{
    return hc_ball_into(f, hc_ball_exact(x));
}

struct hc_ball hc_ball_product(double x, double y)
{
    return hc_ball_mul(HC_FP64, hc_ball_exact(x), hc_ball_exact(y));
}

struct hc_ball hc_ball_one_minus(struct hc_ball x)
{
    return hc_ball_sub(HC_FP64, hc_ball_exact(1), x);
}

struct hc_ball hc_ball_sub(enum hc_format f, struct hc_ball x, struct hc_ball y)
{
    y.mid = -y.mid;
    return hc_ball_add(f, x, y);
}

/* (x + dx)(y + dy) - x y = x dy + y dx + dx dy */
struct hc_ball hc_ball_mul(enum hc_format f, struct hc_ball x, struct hc_ball y)
{
    struct hc_ball product = {x.mid * y.mid, 0};
    product.rad = fabs(x.mid) * y.rad + fabs(y.mid) * x.rad + x.rad * y.rad;
    if ((isinf(x.mid) && x.rad == 0 && fabs(y.mid) > y.rad) ||
        (isinf(y.mid) && y.rad == 0 && fabs(x.mid) > x.rad))
        product.rad = 0;
    overflowed(&product, x, y);
    return rounded(f, product, is_nothing(x) || is_nothing(y) ? 0 : underflow(f));
}

/* (x + dx) / (y + dy) - x / y = (dx - (x / y) dy) / (y + dy) */
struct hc_ball hc_ball_div(enum hc_format f, struct hc_ball x, struct hc_ball y)
{
    struct hc_ball quotient = {x.mid / y.mid, (double)INFINITY};
    double least = fabs(y.mid) - y.rad;
    if (isinf(x.mid) && x.rad == 0 && least > 0)
        quotient.rad = 0;
    else if (least > 0)
        quotient.rad = (x.rad + fabs(quotient.mid) * y.rad) / least;
    overflowed(&quotient, x, y);
    bool exact = is_nothing(x) || (isinf(y.mid) && y.rad == 0);
    return rounded(f, quotient, exact ? 0 : underflow(f));
}

/* The root is monotone: sqrt(x) - sqrt(x - dx) = dx / (sqrt(x) + sqrt(x - dx)) is the larger side.
   A root is never subnormal. */
struct hc_ball hc_ball_sqrt(enum hc_format f, struct hc_ball x)
{
    struct hc_ball root = {sqrt(x.mid), 0};
    if (x.rad > 0)
        root.rad = x.rad < x.mid ? x.rad / (root.mid + sqrt(x.mid - x.rad)) : sqrt(x.mid + x.rad);
    bool exact = f == HC_FP32 || f == HC_FP64 || is_nothing(root);
    return rounded(f, root, exact ? 0 : underflow(f));
}

/* Two ulp are at most 4 u |result|, one of the four being counted by rounded(), as is the ulp that
   the C library's `mid` may be off. */
static struct hc_ball elementary(enum hc_format f, struct hc_ball x)
{
    double least = x.rad;
    x = rounded(f, x, (f == HC_FP64 ? 4 : 2) * hc_format_tiny(f));
    x.rad += 3 * hc_format_unit(f) * (fabs(x.mid) + least);
    return x;
}

struct hc_ball hc_ball_exp(enum hc_format f, struct hc_ball x)
{
    double value = exp(x.mid);
    return elementary(f, (struct hc_ball){value, value * expm1(x.rad)});
}

struct hc_ball hc_ball_log(enum hc_format f, struct hc_ball x)
{
    double error = x.rad < x.mid ? -log1p(-x.rad / x.mid) : (double)INFINITY;
    return elementary(f, (struct hc_ball){log(x.mid), error});
}

/* The computed sum is that of the monomials times (1 + d1) ... (1 + dk), k <= roundings and each
   |d| <= u (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1), so that it errs by
   ((1 + u)^k - 1) magnitude. A product below the normal numbers loses at most half the least
   number instead; there are no more products than twice the roundings. */
struct hc_ball hc_ball_any_order(enum hc_format f, struct hc_ball x, double magnitude,
                                 int roundings, double after)
{
    double relative = expm1(roundings * log1p(unit_of(f)));
    if (isinf(x.mid) && isfinite(x.rad))
        return hc_ball_exact(x.mid);
    x.rad += relative * magnitude;
    if (!(magnitude + x.rad <= hc_format_max(f)))
        x.rad = (double)INFINITY;
    if (magnitude > 0)
        x.rad += 2 * roundings * underflow(f) * fmax(1, after);
    return x;
}

void hc_ball_term(struct hc_ball_sum *sum, struct hc_ball term)
{
    sum->mid += term.mid;
    sum->count++;
    if (isinf(term.mid) && term.rad == 0)
        return;
    sum->rad += term.rad;
    sum->magnitude += fabs(term.mid) + term.rad;
}

/* n terms rounded to nearest, in any order: (n - 1) u times the sum of their magnitudes (Jeannerod
   and Rump, Improved error bounds for inner products in floating-point arithmetic, 2013). fp64 adds
   n 2^-53 of it. */
struct hc_ball hc_ball_total(enum hc_format f, const struct hc_ball_sum *sum)
{
    struct hc_ball total = {sum->mid, sum->rad};
    double n = sum->count;
    total.rad += (n > 1 ? (n - 1) * hc_format_unit(f) + n * 0x1p-52 : 0) * sum->magnitude;
    if (!(sum->magnitude + total.rad <= hc_format_max(f)))
        total.rad = (double)INFINITY;
    else if (isinf(total.mid))
        total.rad = 0;
    return total;
}
