#include "check/bound/ball.h"

#include <math.h>
#include <stdbool.h>

#include "num/ulp.h"

struct hc_ball hc_ball_exact(double value)
{
    return (struct hc_ball){.mid = value};
}

struct hc_ball hc_ball_of(double mid, double rad)
{
    return (struct hc_ball){.mid = mid, .rad = rad};
}

/* What one rounding into f may lose of a result, through fp32 where f is narrower; and, beside
   fp64's numbers, what fp64 loses of `mid`. */
static double unit_of(enum hc_format f)
{
    if (f == HC_REAL)
        return 0;
    if (f == HC_FP64)
        return hc_format_unit(HC_FP64);
    double u = hc_format_unit(HC_FP32) + 0x1p-52;
    return f == HC_FP32 ? u : u + hc_format_unit(f) * (1 + u);
}

/* Whether `mid` has a `lo`. */
static bool is_fine(enum hc_format f)
{
    return f == HC_FP64 || f == HC_REAL;
}

/* What a pair of numbers of fp64 loses in an operation, of the magnitude of what goes in: some
   units of 2^-106. */
#define LOST_OF_A_PAIR 0x1p-100

/* What the computation of a radius in fp64 may lose of it. */
#define LOST_OF_A_RADIUS 0x1p-48

/* Without `lo`, which the radius takes over. */
static struct hc_ball coarse(struct hc_ball x)
{
    return (struct hc_ball){.mid = x.mid, .rad = x.lo != 0 ? x.rad + fabs(x.lo) : x.rad};
}

/* hi + lo, as `mid` and `lo` (Knuth's sum of two). */
static struct hc_ball pair(double hi, double lo)
{
    double mid = hi + lo;
    double share = mid - hi;
    if (!isfinite(mid))
        return hc_ball_exact(hi);
    return (struct hc_ball){.mid = mid, .lo = (hi - (mid - share)) + (lo - share)};
}

/* One rounding into f, through fp32 where f is narrower, of a result with the radius x.rad. */
static struct hc_ball rounded(enum hc_format f, struct hc_ball x, double underflow)
{
    double u = unit_of(f);
    double most = fabs(x.mid) + x.rad;
    enum hc_format held = f == HC_REAL ? HC_FP64 : f;
    if (isinf(x.mid) && isfinite(x.rad))
        return hc_ball_exact(x.mid);
    x.rad += u * most + underflow;
    if (is_fine(f))
        x.rad *= 1 + LOST_OF_A_RADIUS;
    /* Half an ulp beyond the largest number still rounds to it. */
    if (!(most < hc_format_max(held) * (1 + hc_format_unit(held) / 2)))
        x.rad = (double)INFINITY;
    return x;
}

/* What a result below the normal numbers loses: half the smallest subnormal of fp32 and of f. In
   fp64 both `lo` and the number lose half of it. */
static double underflow(enum hc_format f)
{
    if (is_fine(f))
        return hc_format_tiny(HC_FP64);
    return (f == HC_FP32 ? 0 : hc_half_ulp(f, 0)) + hc_half_ulp(HC_FP32, 0);
}

/* Whether x is 0 for certain: if only `mid` is 0, x may be a number too small for fp64. */
static bool is_nothing(struct hc_ball x)
{
    return x.mid == 0 && x.rad == 0;
}

struct hc_ball hc_ball_into(enum hc_format f, struct hc_ball x)
{
    return is_fine(f) ? x : rounded(f, coarse(x), is_nothing(x) ? 0 : underflow(f));
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
    return x.rad == 0 && x.lo == 0 && (f == HC_REAL || hc_round(f, x.mid) == x.mid);
}

/* x + y. */
static struct hc_ball sum_of(struct hc_ball x, struct hc_ball y)
{
    if (!isfinite(x.mid + y.mid))
        return hc_ball_exact(x.mid + y.mid);
    struct hc_ball sum = pair(x.mid, y.mid);
    double lo = x.lo + y.lo;
    if (lo == 0)
        return sum;
    sum = pair(sum.mid, sum.lo + lo);
    sum.rad = LOST_OF_A_PAIR * (fabs(x.mid) + fabs(y.mid));
    return sum;
}

/* Both addends may come from storage of more bits than f: below f's normal range only fp32's sums
   are exact. A number of f to which nothing is added is not rounded. */
struct hc_ball hc_ball_add(enum hc_format f, struct hc_ball x, struct hc_ball y)
{
    if (!is_fine(f)) {
        x = coarse(x);
        y = coarse(y);
    }
    if ((is_nothing(x) && is_held(f, y)) || (is_nothing(y) && is_held(f, x)))
        return hc_ball_exact(x.mid + y.mid);
    struct hc_ball sum = is_fine(f) ? sum_of(x, y) : hc_ball_exact(x.mid + y.mid);
    sum.rad += x.rad + y.rad;
    overflowed(&sum, x, y);
    bool exact = f == HC_FP32 || is_fine(f) || is_nothing(sum);
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
    y.lo = -y.lo;
    return hc_ball_add(f, x, y);
}

/* Below this a number of fp64 may have a remainder that fp64 does not hold. */
#define LEAST_WITH_A_REMAINDER 0x1p-900

static bool has_a_remainder(double x)
{
    return fabs(x) >= LEAST_WITH_A_REMAINDER && fabs(x) <= 1 / LEAST_WITH_A_REMAINDER;
}

/* The pair times 2^-e, so that it is about 1. */
static struct hc_ball about_one(struct hc_ball x, int e)
{
    return (struct hc_ball){.mid = ldexp(x.mid, -e), .lo = ldexp(x.lo, -e)};
}

/* The pair times 2^e, rounded once: off by half the least number. */
static struct hc_ball scaled(struct hc_ball x, int e)
{
    double mid = ldexp(x.mid, e);
    if (!isfinite(mid))
        return hc_ball_exact(mid);
    struct hc_ball result = pair(mid, ldexp((x.mid - ldexp(mid, -e)) + x.lo, e));
    result.rad = ldexp(x.rad, e);
    return result;
}

/* x y. */
static struct hc_ball product_of(struct hc_ball x, struct hc_ball y)
{
    double hi = x.mid * y.mid;
    if (!isfinite(hi) || x.mid == 0 || y.mid == 0)
        return hc_ball_exact(hi);
    if (x.lo == 0 && y.lo == 0)
        return pair(hi, fma(x.mid, y.mid, -hi));
    if (!has_a_remainder(hi) || !has_a_remainder(x.mid) || !has_a_remainder(y.mid)) {
        int of_x = ilogb(x.mid);
        int of_y = ilogb(y.mid);
        return scaled(product_of(about_one(x, of_x), about_one(y, of_y)), of_x + of_y);
    }
    struct hc_ball product = pair(hi, fma(x.mid, y.mid, -hi) + (x.mid * y.lo + x.lo * y.mid));
    product.rad = LOST_OF_A_PAIR * fabs(hi);
    return product;
}

/* (x + dx)(y + dy) - x y = x dy + y dx + dx dy */
struct hc_ball hc_ball_mul(enum hc_format f, struct hc_ball x, struct hc_ball y)
{
    if (!is_fine(f)) {
        x = coarse(x);
        y = coarse(y);
    }
    struct hc_ball product = is_fine(f) ? product_of(x, y) : hc_ball_exact(x.mid * y.mid);
    product.rad += fabs(x.mid) * y.rad + fabs(y.mid) * x.rad + x.rad * y.rad;
    if ((isinf(x.mid) && x.rad == 0 && fabs(y.mid) > y.rad) ||
        (isinf(y.mid) && y.rad == 0 && fabs(x.mid) > x.rad))
        product.rad = 0;
    overflowed(&product, x, y);
    return rounded(f, product, is_nothing(x) || is_nothing(y) ? 0 : underflow(f));
}

/* x / y; what is below is the remainder over y. */
static struct hc_ball quotient_of(struct hc_ball x, struct hc_ball y)
{
    double hi = x.mid / y.mid;
    if (!isfinite(hi) || x.mid == 0 || !isfinite(y.mid))
        return hc_ball_exact(hi);
    if (!has_a_remainder(hi) || !has_a_remainder(x.mid) || !has_a_remainder(y.mid)) {
        int of_x = ilogb(x.mid);
        int of_y = ilogb(y.mid);
        return scaled(quotient_of(about_one(x, of_x), about_one(y, of_y)), of_x - of_y);
    }
    struct hc_ball quotient = pair(hi, (fma(-hi, y.mid, x.mid) + (x.lo - hi * y.lo)) / y.mid);
    quotient.rad = LOST_OF_A_PAIR * fabs(hi);
    return quotient;
}

/* (x + dx) / (y + dy) - x / y = (dx - (x / y) dy) / (y + dy) */
struct hc_ball hc_ball_div(enum hc_format f, struct hc_ball x, struct hc_ball y)
{
    if (!is_fine(f)) {
        x = coarse(x);
        y = coarse(y);
    }
    struct hc_ball quotient = is_fine(f) ? quotient_of(x, y) : hc_ball_exact(x.mid / y.mid);
    double least = fabs(y.mid) - (y.rad + fabs(y.lo));
    if (isinf(x.mid) && x.rad == 0 && least > 0)
        quotient.rad = 0;
    else if (least > 0)
        quotient.rad += (x.rad + fabs(quotient.mid) * y.rad) / least;
    else
        quotient.rad = (double)INFINITY;
    overflowed(&quotient, x, y);
    bool exact = is_nothing(x) || (isinf(y.mid) && y.rad == 0);
    return rounded(f, quotient, exact ? 0 : underflow(f));
}

/* The root of x; what is below is the remainder over two roots. */
static struct hc_ball root_of(struct hc_ball x)
{
    double hi = sqrt(x.mid);
    if (!isfinite(hi) || hi == 0)
        return hc_ball_exact(hi);
    if (x.mid < LEAST_WITH_A_REMAINDER)
        return (struct hc_ball){.mid = hi, .rad = 2 * 0x1p-53 * hi};
    struct hc_ball root = pair(hi, (fma(-hi, hi, x.mid) + x.lo) / (2 * hi));
    root.rad = LOST_OF_A_PAIR * hi;
    return root;
}

/* The root is monotone: sqrt(x) - sqrt(x - dx) = dx / (sqrt(x) + sqrt(x - dx)) is the larger side.
   A root is never subnormal. */
struct hc_ball hc_ball_sqrt(enum hc_format f, struct hc_ball x)
{
    if (!is_fine(f))
        x = coarse(x);
    struct hc_ball root = is_fine(f) ? root_of(x) : hc_ball_exact(sqrt(x.mid));
    double least = x.mid - x.rad - fabs(x.lo);
    if (x.rad > 0)
        root.rad += least > 0 ? x.rad / (root.mid + sqrt(least)) : sqrt(x.mid + x.rad);
    bool exact = f == HC_FP32 || is_fine(f) || is_nothing(root);
    return rounded(f, root, exact ? 0 : underflow(f));
}

/* Two ulp are at most 4 u |result|, one of the four being counted by rounded(). The C library's
   `mid` may be off by an ulp, which in fp64 is counted here, as is what `lo` leaves. */
static struct hc_ball elementary(enum hc_format f, struct hc_ball x)
{
    double least = x.rad;
    if (f == HC_FP64)
        x.rad += 0x1p-52 * (1 + 0x1p-20) * fabs(x.mid);
    x = rounded(f, x, (f == HC_FP64 ? 4 : 2) * hc_format_tiny(f));
    x.rad += 3 * hc_format_unit(f) * (fabs(x.mid) + least);
    return x;
}

/* The operand's `lo` counts to its first power; its square is below the errors that are counted for
   an exponential, and stands here for a logarithm, which may be near 0. */
struct hc_ball hc_ball_exp(enum hc_format f, struct hc_ball x)
{
    double value = exp(x.mid);
    struct hc_ball power = pair(value, x.lo != 0 && isfinite(value) ? value * x.lo : 0);
    power.rad = value * expm1(x.rad);
    return elementary(f, power);
}

struct hc_ball hc_ball_log(enum hc_format f, struct hc_ball x)
{
    double error = x.rad < x.mid ? -log1p(-x.rad / x.mid) : (double)INFINITY;
    double lo = x.lo != 0 ? x.lo / x.mid : 0;
    struct hc_ball result = pair(log(x.mid), lo);
    result.rad = error + lo * lo;
    return elementary(f, result);
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
    if (is_fine(f))
        x.rad *= 1 + LOST_OF_A_RADIUS;
    return x;
}

/* `mid` is a sum of fp64, and `lo` what it has lost, itself summed up in fp64. */
void hc_ball_term(struct hc_ball_sum *sum, struct hc_ball term)
{
    struct hc_ball next = pair(sum->mid, term.mid);
    sum->mid += term.mid;
    sum->lo += next.lo + term.lo;
    sum->count++;
    if (isinf(term.mid) && term.rad == 0)
        return;
    sum->rad += term.rad;
    sum->magnitude += fabs(term.mid) + term.rad;
}

/* n terms rounded to nearest, in any order: (n - 1) u times the sum of their magnitudes (Jeannerod
   and Rump, Improved error bounds for inner products in floating-point arithmetic, 2013). `mid`
   alone, beside fp64's numbers, loses n 2^-53 of it; with `lo`, n 2^-53 of 2^-53 n. */
struct hc_ball hc_ball_total(enum hc_format f, const struct hc_ball_sum *sum)
{
    double n = sum->count;
    bool pairs = is_fine(f) && isfinite(sum->mid);
    struct hc_ball total = pairs ? pair(sum->mid, sum->lo) : hc_ball_exact(sum->mid);
    double of_mid = is_fine(f) ? n * n * 0x1p-104 : n * 0x1p-52;
    double u = f == HC_REAL ? 0 : hc_format_unit(f);
    total.rad = sum->rad + (n > 1 ? (n - 1) * u + of_mid : 0) * sum->magnitude;
    if (is_fine(f))
        total.rad *= 1 + LOST_OF_A_RADIUS;
    if (!(sum->magnitude + total.rad <= hc_format_max(f == HC_REAL ? HC_FP64 : f)))
        total.rad = (double)INFINITY;
    else if (isinf(total.mid))
        total.rad = 0;
    return total;
}
