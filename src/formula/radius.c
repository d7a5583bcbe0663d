/* The running error bound (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition,
   section 3.3).

   A computed number x stands for a real number x', and |x' - x| <= ex is known. An operation first
   carries the errors of its operands over, and then rounds. So the error of fl(f(x, y)) is at most
   |f(x, y) - f(x', y')| (hc_radius_apply) plus what the rounding adds (hc_radius_rounding), by the
   triangle inequality. Each rule below has its proof above it.

   If no operand has an error, then f is taken twice of the same numbers and the bound is 0. This is
   true of infinities and NaN as well, and it is the only thing that is said of them in most rules.

   The rules are inequalities between real numbers, and are computed in fp64. Every step is rounded
   upward (formula/upward.h), and where |x| makes a bound larger or smaller, `most` or `least` of it
   stands in its place: they also cover the distance from mid to a computed number with more bits
   than fp64. The limits of the method are those of any worst case: errors that cancel are added,
   and a quotient or a logarithm close to a pole has no bound. */
#include "formula/radius.h"

#include <assert.h>
#include <stdlib.h>

#include "formula/upward.h"

/* The computed number's magnitude is in [least, most]. Its distance from mid is at most
   2^-52 |mid|, plus 2^-1074 if it has an error; the factors 1 -+ 2^-50 leave room for rounding. */
static inline double hc_disc_most(const struct hc_disc *d)
{
    double size = hc_mul_up(fabs(d->mid), 1 + 0x1p-50);
    return d->rad > 0 ? hc_add_up(size, 0x1p-1074) : size;
}

static inline double hc_disc_least(const struct hc_disc *d)
{
    double size = fabs(d->mid) * (1 - 0x1p-50) - (d->rad > 0 ? 0x1p-1073 : 0);
    return size > 0 ? size : 0;
}

/* Below the distance from 0 to the disc; 0 or less if 0 may lie in it. */
static inline double hc_disc_distance(const struct hc_disc *d)
{
    double size = hc_disc_least(d);
    return isinf(size) ? size : nextafter(size - d->rad, -(double)INFINITY);
}

static inline bool hc_disc_is_unknown(const struct hc_disc *d)
{
    return isinf(d->rad) || (d->rad > 0 && !isfinite(d->mid));
}

/* The error bounds of functions that jump or choose: floor, min and max of two, select, and the
   comparisons. Where a jump may lie between the computed number and the real one, the bound is the
   height of the jump, however small the error is. */

static const double unknown = (double)INFINITY;

/* x and x' lie in [mid - r, mid + r], and neither floor nor rint decreases. */
static double jump(const struct hc_disc *d, double (*whole)(double))
{
    double r = hc_add_up(hc_add_up(d->rad, fabs(d->mid) * 0x1p-51), 0x1p-1074);
    return whole(hc_up(d->mid + r)) - whole(nextafter(d->mid - r, -unknown));
}

static double radius_floor(const struct hc_disc *d, double value)
{
    (void)value;
    return jump(d, floor);
}

/* fp64 rounds to nearest here, and so does rint, with ties to even. */
static double radius_round(const struct hc_disc *d, double value)
{
    (void)value;
    return jump(d, rint);
}

/* Let x' <= y', so that min(x', y') = x'. min(x, y) - x' <= x - x' <= ex. And x' - min(x, y) is
   x' - x <= ex, or x' - y <= y' - y <= ey. By symmetry this holds for max. Equal infinities are at
   no distance. */
static double radius_larger(const struct hc_disc *d)
{
    return fmax(d[0].rad, d[1].rad);
}

/* Whether the number is 0 where the real one is, and only there. */
static bool is_decided(const struct hc_disc *d)
{
    return d->rad == 0 || (!hc_disc_is_unknown(d) && hc_disc_distance(d) > 0);
}

/* If c' is 0 only where c is, both take the same branch. Otherwise one may take a and the other b':
   |a - b'| <= |a - b| + eb, and the other way round. */
static double radius_select(const struct hc_disc *d)
{
    if (is_decided(&d[0]))
        return d[d[0].mid != 0 ? 1 : 2].rad;
    if (isinf(d[1].mid) && d[1].mid == d[2].mid)
        return fmax(d[1].rad, d[2].rad);
    double apart = hc_up(fabs(d[1].mid - d[2].mid));
    double room = hc_mul_up(fmax(hc_disc_most(&d[1]), hc_disc_most(&d[2])), 0x1p-50);
    double bound = hc_add_up(hc_add_up(apart, room), fmax(d[1].rad, d[2].rad));
    return isnan(bound) ? unknown : bound;
}

/* A comparison depends on the order of x and y alone, which is that of x' and y' if no number lies
   in both discs. NaN is in no order with anything. Whether a number is finite is the same for all
   of a disc about which anything is known. */
static double radius_truth(enum hc_function f, const struct hc_disc *d)
{
    if (f == HC_FN_not || f == HC_FN_and || f == HC_FN_or)
        return is_decided(&d[0]) && (f == HC_FN_not || is_decided(&d[1])) ? 0 : 1;
    if (hc_functions[f].most == 1)
        return hc_disc_is_unknown(d) ? 1 : 0;
    for (int i = 0; i < 2; i++)
        if (isnan(d[i].mid) && d[i].rad == 0)
            return 0;
    if (hc_disc_is_unknown(&d[0]) || hc_disc_is_unknown(&d[1]))
        return 1;
    /* An infinity is a point, and it is beyond every disc around a number. */
    bool infinite = isinf(d[0].mid) || isinf(d[1].mid);
    double room = infinite ? 0 : fabs(d[0].mid) * 0x1p-50 + fabs(d[1].mid) * 0x1p-50;
    double reach = hc_add_up(hc_add_up(d[0].rad, d[1].rad), hc_add_up(room, 0x1p-1073));
    return fabs(d[0].mid - d[1].mid) > reach ? 0 : 1;
}

/* The error bounds of functions that count, and of the least and the largest of a list. */

/* A disc as an interval, with room for a mid that was rounded to fp64. */
struct interval {
    double from;
    double to;
    bool wrong; /* its number may differ from the computed one */
};

static int by_from(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* In the order of their left ends, discs are put into groups: a group ends before the first disc
   that begins beyond the least right end in it. So the discs with the groups' least right ends are
   pairwise disjoint, and no number without error of another group lies in one of them. Let z be
   the number of different numbers without error, p that of discs with one, and g that of groups
   that have only such. At least z + g numbers are different, and at most z + p, the computed ones
   as well as the real ones. The two counts differ by at most p - g. Where nothing is known of some
   disc, both lie between 1 and n. */
static double distinct(const struct hc_disc *d, long n)
{
    long wrong = 0;
    long intervals = 0;
    for (long i = 0; i < n; i++) {
        if (hc_disc_is_unknown(&d[i]))
            return (double)(n - 1);
        wrong += d[i].rad > 0;
    }
    struct interval *interval = wrong ? malloc((size_t)n * sizeof *interval) : NULL;
    if (!interval)
        return wrong ? (double)(n - 1) : 0;
    for (long i = 0; i < n; i++) {
        double r = hc_add_up(d[i].rad, fabs(d[i].mid) * 0x1p-50 + 0x1p-1073);
        if (isfinite(d[i].mid))
            interval[intervals++] = (struct interval){nextafter(d[i].mid - r, -(double)INFINITY),
                                                      hc_up(d[i].mid + r), d[i].rad > 0};
    }
    qsort(interval, (size_t)intervals, sizeof *interval, by_from);
    double bound = (double)wrong;
    for (long i = 0; i < intervals;) {
        bool all_wrong = true;
        double to = interval[i].to;
        for (; i < intervals && interval[i].from <= to; i++) {
            all_wrong = all_wrong && interval[i].wrong;
            to = fmin(to, interval[i].to);
        }
        bound -= all_wrong;
    }
    free(interval);
    return bound;
}

/* An element counts if it is not 0. The counts of x and x' differ only if one of them may be 0, or
   nothing is known. */
static double radius_count(const struct hc_disc *d, long n)
{
    long doubtful = 0;
    for (long i = 0; i < n; i++)
        doubtful += d[i].rad > 0 && !(isfinite(d[i].mid) && hc_disc_least(&d[i]) > d[i].rad);
    return (double)doubtful;
}

/* By the rule of min and max of two, n - 1 times. */
static double radius_largest(const struct hc_disc *d, long n)
{
    double rad = 0;
    for (long i = 0; i < n; i++)
        rad = fmax(rad, d[i].rad);
    return rad;
}

double hc_radius_list(enum hc_function f, const struct hc_disc *element, long n)
{
    if (f == HC_FN_len)
        return 0;
    if (f == HC_FN_distinct)
        return distinct(element, n);
    if (f == HC_FN_count)
        return radius_count(element, n);
    assert(hc_function_chooses(f));
    return radius_largest(element, n);
}

/* To nearest: let 2^k <= |r| < 2^(k+1) for the result r. Numbers above 2^k are 2u 2^k apart, and
   those below it are closer, so that r is at most u 2^k from what was rounded, powers of two
   included. This is half an ulp of r, and down to half of the usual u |r|. No number that was
   rounded once is farther off, but one that was rounded twice may be. Subnormal numbers are `tiny`
   apart, and r is at most tiny / 2 away. A directed rounding goes at most the whole distance:
   between 2^k and 2^(k+1) this is 2u 2^k, and where |r| = 2^k was reached from below it is less. It
   stops at the largest finite number (1 - u) 2^(emax+1), from however far. With tiny = 2u 2^emin
   and emax = 1 - emin this number is (1 - u) 8u / tiny; e4m3's is larger, which makes this test
   stricter than need be. u 2^k is a number of fp64 or half of its smallest. */
double hc_radius_rounding(double result, double u, double tiny, bool directed, bool exact)
{
    double largest = tiny > 0 ? (1 - u) * (4 * u / tiny) * 2 : unknown;
    if (exact)
        return 0;
    if (!isfinite(result) || (directed && fabs(result) >= largest))
        return unknown;
    double binade = result != 0 ? ldexp(1, ilogb(result)) : 0;
    return (directed ? 2 : 1) * fmax(u * binade, fmax(tiny / 2, 0x1p-1074));
}

/* Rounding to nearest reaches half an ulp, u 2^emax, beyond the largest number. e8m0 has its
   smallest number for 0, and for all below. */
double hc_radius_rounding_in(enum hc_format format, double before, double result, bool directed,
                             bool exact)
{
    const struct hc_format_info *f = &hc_formats[format];
    double u = hc_format_unit(format);
    double tiny = hc_format_tiny(format);
    double reach = hc_format_max(format) + (directed ? 0 : ldexp(u, f->emax));
    bool beyond = isfinite(result) && !(fabs(before) <= reach);
    bool turned = !f->sign && before < 0;
    bool raised = f->special == HC_SPECIAL_E8M0 && fabs(before) < tiny;
    if (!exact && (beyond || turned || raised))
        return unknown;
    return hc_radius_rounding(result, u, tiny, directed, exact);
}

/* (x' +- y') - (x +- y) = (x' - x) +- (y' - y). */
static double radius_add(const struct hc_disc *d, double value)
{
    (void)value;
    return hc_add_up(d[0].rad, d[1].rad);
}

/* x'y' - xy = x (y' - y) + y (x' - x) + (x' - x)(y' - y). */
static double mul(const struct hc_disc *d, double value)
{
    (void)value;
    double sides = hc_add_up(hc_mul_up(hc_disc_most(&d[0]), d[1].rad),
                             hc_mul_up(hc_disc_most(&d[1]), d[0].rad));
    return hc_add_up(sides, hc_mul_up(d[0].rad, d[1].rad));
}

static double fused(const struct hc_disc *d, double value)
{
    return hc_add_up(mul(d, value), d[2].rad);
}

/* x'/y' - x/y = ((x' - x) y - x (y' - y)) / (y y'), and |y'| >= |y| - ey > 0. So the bound is
   (ex + |x| / |y| ey) / (|y| - ey). A divisor that is exactly 0 gives the same infinity if x cannot
   have the other sign and is not 0. */
static double radius_divide(const struct hc_disc *d, double value)
{
    (void)value;
    if (d[1].mid == 0 && d[1].rad == 0)
        return hc_disc_distance(&d[0]) > 0 ? 0 : unknown;
    double away = hc_disc_distance(&d[1]);
    if (!(away > 0))
        return unknown;
    double quotient = hc_div_up(hc_disc_most(&d[0]), hc_disc_least(&d[1]));
    return hc_add_up(hc_div_up(d[0].rad, away), hc_mul_up(quotient, hc_div_up(d[1].rad, away)));
}

/* |sqrt x' - sqrt x| = |x' - x| / (sqrt x' + sqrt x). The denominator is at least sqrt x, and at
   least sqrt |x' - x|, since x' + x is. */
static double root(const struct hc_disc *d, double value)
{
    (void)value;
    double below = nextafter(sqrt(hc_disc_least(d)), 0);
    return fmin(hc_up(sqrt(d->rad)), hc_div_up(d->rad, below));
}

/* |e^x' - e^x| = e^x |e^(x'-x) - 1|, which is largest where x' - x = ex. */
static double power_of_e(const struct hc_disc *d, double value)
{
    double size = hc_add_up(hc_library_up(value), 0x1p-1074);
    return hc_mul_up(size, hc_library_up(expm1(d->rad)));
}

/* |log x' - log x| is largest where x' = x - ex, since log is concave: -log(1 - ex / x). `x` is a
   lower bound. */
static double log_above(double x, double rad)
{
    double ratio = hc_div_up(rad, x);
    return ratio < 1 ? hc_library_up(-log1p(-ratio)) : unknown;
}

static double logarithm(const struct hc_disc *d, double value)
{
    (void)value;
    return log_above(d->mid > 0 ? hc_disc_least(d) : 0, d->rad);
}

/* The logarithm of 1 + x, whose error is ex. The sum's rounding and mid's are below 2^-51 of
   1 + |x|. */
static double logarithm_of_1_plus(const struct hc_disc *d, double value)
{
    (void)value;
    return log_above(1 + d->mid - (1 + fabs(d->mid)) * 0x1p-50, d->rad);
}

/* By the mean value theorem the error is at most ex times the largest slope in the disc. No two
   values of tanh, sin, cos and erf are further apart than 2. */
static double by_slope(double slope, double rad)
{
    return fmin(hc_mul_up(slope, rad), 2);
}

/* No number between x and x' is closer to 0 than this. */
static double smallest(const struct hc_disc *d)
{
    return fmax(hc_disc_distance(d), 0);
}

static double wave(const struct hc_disc *d, double value)
{
    (void)value;
    return by_slope(1, d->rad);
}

/* The slope is 1 / cosh(x)^2 <= min(1, 4 e^(-2|x|)), since cosh x >= 1 and cosh x >= e^|x| / 2. */
static double hyperbolic_tangent(const struct hc_disc *d, double value)
{
    (void)value;
    double slope = hc_up(hc_library_up(4 * exp(-2 * smallest(d))));
    return by_slope(fmin(1, slope), d->rad);
}

/* The slope is 2 / sqrt(pi) e^(-x^2). Rounding x^2 changes the exponent by at most 2^-53 of it,
   which is 2^-43 at -750. Below that exp is 0, and hc_up gives more than the slope. */
static double error_function(const struct hc_disc *d, double value)
{
    (void)value;
    double x = smallest(d);
    double slope = hc_up(hc_library_up(exp(-(x * x)) * 0x1.20dd750429b6ep+0));
    return by_slope(slope, d->rad);
}

/* The slope is s (1 - s) = e^-|x| / (1 + e^-|x|)^2 <= min(1/4, e^-|x|), and all values lie between
   0 and 1. */
static double logistic(const struct hc_disc *d, double value)
{
    (void)value;
    double slope = hc_up(hc_library_up(exp(-smallest(d))));
    return fmin(by_slope(fmin(0.25, slope), d->rad), 1);
}

/* |t^k - x^k| for k < 0 is largest where |t| = |x| - ex, since |t|^k is convex and falls: it is
   |x^k| ((1 - ex / |x|)^k - 1). `size` is |x^k|. */
static double falling(const struct hc_disc *d, double k, double size)
{
    double ratio = hc_div_up(d->rad, hc_disc_least(d));
    if (!(ratio < 1))
        return unknown;
    return hc_mul_up(size, hc_library_up(expm1(hc_library_up(k * log1p(-ratio)))));
}

static double reciprocal_root(const struct hc_disc *d, double value)
{
    return falling(d, -0.5, hc_library_up(fabs(value)));
}

/* x'^n - x^n for an integer n. It is at most (|x| + ex)^n - |x|^n for n > 0, as the binomial
   theorem says, which is |x|^n ((1 + ex / |x|)^n - 1), and where x may be 0 not above (|x| + ex)^n.
   */
static double whole_power(const struct hc_disc *d, double size)
{
    double n = d[1].mid;
    double most = hc_disc_most(&d[1]);
    if (n == 0)
        return 0;
    if (n < 0)
        return falling(d, -most, size);
    double whole = hc_library_up(pow(hc_add_up(hc_disc_most(d), d->rad), most));
    whole = hc_add_up(whole, 0x1p-1074);
    double ratio = hc_div_up(d->rad, hc_disc_least(d));
    double growth =
        hc_library_up(expm1(hc_library_up(hc_mul_up(most, hc_library_up(log1p(ratio))))));
    return fmin(whole, hc_mul_up(size, growth));
}

/* x'^y' - x^y = x^y (e^D - 1) with D = y' log x' - y log x, for x and x' above 0. As in a product,
   |D| <= |log x| ey + (|y| + ey) |log x' - log x|. Where y is an integer, or 1/2, without an error,
   x need not be above 0. */
static double raised(const struct hc_disc *d, double value)
{
    double size = hc_add_up(hc_library_up(fabs(value)), 0x1p-1074);
    if (d[1].rad == 0 && d[1].mid == nearbyint(d[1].mid))
        return whole_power(d, size);
    if (d[1].rad == 0 && d[1].mid == 0.5)
        return root(d, value);
    if (!(d->mid > 0) || !(hc_disc_distance(d) > 0))
        return unknown;
    double apart = log_above(hc_disc_least(d), d->rad);
    double most = fmax(fabs(log(hc_disc_most(d))), fabs(log(hc_disc_least(d))));
    double exponent = hc_add_up(hc_mul_up(hc_library_up(most), d[1].rad),
                                hc_mul_up(hc_add_up(hc_disc_most(&d[1]), d[1].rad), apart));
    return hc_mul_up(size, hc_library_up(expm1(exponent)));
}

static double radius_same(const struct hc_disc *d, double value)
{
    (void)value;
    return d->rad;
}

/* Some operand is an infinity without error, and another has an error. A sum is the same infinity,
   and x / inf is 0. A product or inf / y is, too, if the other factor keeps its sign. So is inf ^
   y, but x ^ inf and (-inf) ^ y depend on more than signs. */
static double beside_infinity(enum hc_function f, const struct hc_disc *d)
{
    if (f == HC_FN_power)
        return d[0].mid > 0 && isinf(d[0].mid) && hc_disc_distance(&d[1]) > 0 ? 0 : unknown;
    bool factors = f == HC_FN_mul || f == HC_FN_fma;
    if ((factors || f == HC_FN_div) && isinf(d[0].mid))
        return hc_disc_distance(&d[1]) > 0 ? 0 : unknown;
    if (factors && isinf(d[1].mid))
        return hc_disc_distance(&d[0]) > 0 ? 0 : unknown;
    return 0;
}

typedef double rule(const struct hc_disc *operand, double value);

static rule *const rules[HC_FUNCTION_COUNT] = {
    [HC_FN_add] = radius_add,
    [HC_FN_sub] = radius_add,
    [HC_FN_mul] = mul,
    [HC_FN_div] = radius_divide,
    [HC_FN_sqrt] = root,
    [HC_FN_fma] = fused,
    [HC_FN_cast] = radius_same,
    [HC_FN_exp] = power_of_e,
    [HC_FN_log] = logarithm,
    [HC_FN_log1p] = logarithm_of_1_plus,
    [HC_FN_sin] = wave,
    [HC_FN_tanh] = hyperbolic_tangent,
    [HC_FN_cos] = wave,
    [HC_FN_erf] = error_function,
    [HC_FN_rsqrt] = reciprocal_root,
    [HC_FN_sigmoid] = logistic,
    [HC_FN_power] = raised,
    [HC_FN_negate] = radius_same,
    [HC_FN_abs] = radius_same,
    [HC_FN_floor] = radius_floor,
    [HC_FN_round] = radius_round,
};

double hc_radius_apply(enum hc_function f, const struct hc_disc *operand, double value)
{
    int n = hc_functions[f].most;
    bool wrong = false;
    bool nan = false;
    bool lost = false;
    bool infinite = false;
    for (int i = 0; i < n; i++) {
        wrong = wrong || operand[i].rad != 0;
        nan = nan || (isnan(operand[i].mid) && operand[i].rad == 0);
        lost = lost || hc_disc_is_unknown(&operand[i]);
        infinite = infinite || isinf(operand[i].mid);
    }
    if (!wrong)
        return 0;
    if (f == HC_FN_select)
        return radius_select(operand);
    if (hc_functions[f].kind == HC_FUNCTION_TRUTH)
        return radius_truth(f, operand);
    if (hc_function_chooses(f))
        return radius_larger(operand);
    assert(rules[f]);
    if (nan) /* nan ^ 0 is 1, and so is 1 ^ nan */
        return f == HC_FN_power && !isnan(value) ? unknown : 0;
    if (lost)
        return unknown;
    if (infinite)
        return beside_infinity(f, operand);
    if (!isfinite(value) && !(f == HC_FN_div && operand[1].mid == 0))
        return unknown;
    return rules[f](operand, value);
}
