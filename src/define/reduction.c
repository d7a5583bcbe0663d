/* Variances and reductions: what many terms come to, and how far a right implementation may be from
   it in the orders that it may take (define/value.h). */
#include <math.h>

#include "define/arithmetic.h"

/* What k roundings in a row come to at most: k u / (1 - k u) is above (1 + u)^k - 1. */
static double roundings(const struct hc_arithmetic *a, double k)
{
    double ku = k * a->unit;
    return ku < 1 ? hc_div_up(ku, 1 - ku) : (double)INFINITY;
}

/* What they come to in all likelihood, if that is asked for. */
static double likely_roundings(const struct hc_arithmetic *a, double k)
{
    double most = roundings(a, k);
    double u = a->unit;
    if (!a->freedoms.probable || k < 1)
        return most;
    double lambda = sqrt(2 * log(2 * k * HC_LIKELY / HC_LIKELY_CHANCE)) / (1 - u);
    return fmin(most, expm1(lambda * sqrt(k) * u + k * u * u / (1 - u)) * (1 + 0x1p-40));
}

/* Welford's formulas keep a running mean, whose error is at most some n u of the numbers' size, and
   add up products of deviations from it. With q the mean of the squares and v the variance the
   error is at most 3 n u sqrt(q v) + (3 n u)^2 q + (n + 3) u v (Chan, Golub, LeVeque, 1983). */
void hc_enclosure_welford(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *mean, int64_t n)
{
    double v = hc_add_up(fabs(hc_enclosure_double(y)), y->rad);
    double m = hc_add_up(fabs(hc_enclosure_double(mean)), mean->rad);
    double q = hc_add_up(v, hc_mul_up(m, m));
    /* As many roundings in one direction as n come to in all likelihood. */
    double few = a->freedoms.probable ? likely_roundings(a, (double)n) / a->unit : (double)n;
    double k = hc_mul_up(3 * few, a->unit);
    double bound =
        hc_add_up(hc_mul_up(k, hc_up(sqrt(hc_mul_up(q, v)))), hc_mul_up(hc_mul_up(k, k), q));
    bound = hc_add_up(bound, hc_mul_up(hc_mul_up(few + 3, a->unit), v));
    y->rad = hc_add_up(y->rad, isfinite(bound) ? bound : (double)INFINITY);
}

/* Sums. The term k of a sum in any order takes part in at most n - 1 roundings, so that the error
   is at most ((1 + u)^(n-1) - 1) of the sum of the magnitudes that the implementation has; and k u
   / (1 - k u) is above (1 + u)^k - 1.

   If all terms are multiples of one power of two and their magnitudes add up to at most 2^p of it,
   p being the format's precision, every partial sum in every order is a number of the format. */

void hc_running_start(const struct hc_arithmetic *a, struct hc_running *r,
                      enum hc_reduction reduction, struct hc_enclosure *y)
{
    static const double first[HC_REDUCTIONS] = {[HC_OVER_PROD] = 1};
    double start = reduction == HC_OVER_MAX   ? -(double)INFINITY
                   : reduction == HC_OVER_MIN ? (double)INFINITY
                                              : first[reduction];
    *r = (struct hc_running){
        .reduction = reduction, .y = y, .settled = true, .zeros = true, .grain = 4096};
    hc_enclosure_set(a, y, start);
}

/* The exponent of the lowest bit of a number that is not 0. */
static int grain_of(double x)
{
    int exponent;
    int64_t digits = (int64_t)ldexp(fabs(frexp(x, &exponent)), 53);
    return exponent - 53 + __builtin_ctzll((uint64_t)digits);
}

/* What y's precision costs after a sum; its number is noted at the end. */
static void add_real(const struct hc_arithmetic *a, struct hc_running *r, int inexact)
{
    if (inexact)
        r->owns = hc_add_up(r->owns, hc_own_rounding(a, hc_real_double(r->y->real), inexact));
}

/* Adds the sum of plain terms, which is exact, to y. */
static void add_rest(const struct hc_arithmetic *a, struct hc_running *r)
{
    if (r->low != 0)
        add_real(a, r, hc_real_add_double(r->y->real, r->y->real, r->low));
    if (r->high != 0)
        add_real(a, r, hc_real_add_double(r->y->real, r->y->real, r->high));
    r->high = r->low = 0;
}

/* Adds a plain term, as long as two numbers of fp64 have the exact sum of such. */
static bool add_plain(struct hc_running *r, double value)
{
    double high = r->high + value;
    double rest = hc_rest_of_sum(r->high, value, high);
    double low = r->low + rest;
    if (!(fabs(high) < 0x1p1000) || hc_rest_of_sum(r->low, rest, low) != 0)
        return false;
    r->high = high;
    r->low = low;
    return true;
}

static void add_to_sum(const struct hc_arithmetic *a, struct hc_running *r,
                       const struct hc_enclosure *x)
{
    double value = x->mid;
    /* To add 0 rounds nothing. */
    if (value == 0 && x->rad == 0 && x->own == 0 && x->terms == 0)
        return;
    if (!x->plain || !add_plain(r, value)) {
        add_rest(a, r);
        add_real(a, r, hc_real_add(r->y->real, r->y->real, x->real));
    }
    r->owns = hc_add_up(r->owns, x->own);
    r->rads = hc_add_up(r->rads, x->terms ? x->rads : x->rad);
    r->all_terms += x->terms ? x->terms : 1;
    r->sum_terms++;
    r->depth = fmax(r->depth, x->terms ? x->depth : 0);
    if (!isfinite(value)) {
        r->special = r->special || hc_real_is_nan(x->real) || hc_real_is_inf(x->real);
        r->settled = false;
        return;
    }
    r->magnitude =
        hc_add_up(r->magnitude, x->terms ? x->magnitude : hc_add_up(fabs(value), x->rad));
    r->settled = r->settled && x->rad == 0 && x->own == 0;
    if (!r->settled)
        return;
    if (!x->plain && hc_real_exact(x->real).lo != 0) {
        r->settled = false;
    } else if (value != 0) {
        int grain = x->terms ? x->grain : grain_of(value);
        r->grain = grain < r->grain ? grain : r->grain;
    }
}

static void add_extreme(const struct hc_arithmetic *a, struct hc_running *r,
                        const struct hc_enclosure *x)
{
    struct hc_enclosure *y = r->y;
    int order = hc_real_compare(x->real, y->real);
    bool taken = r->reduction == HC_OVER_MAX ? order > 0 : order < 0;
    const struct hc_disc two[2] = {{hc_enclosure_double(y), y->rad},
                                   {hc_enclosure_double(x), x->rad}};
    double rad = hc_extreme_radius(two, taken);
    double own = fmax(y->own, x->own);
    if (hc_real_is_nan(x->real) || (taken && !hc_real_is_nan(y->real)) || r->terms == 1)
        hc_enclosure_copy(a, y, x);
    y->terms = 0;
    y->rad = r->terms == 1 ? x->rad : rad;
    y->own = r->terms == 1 ? x->own : own;
}

void hc_running_add(const struct hc_arithmetic *a, struct hc_running *r,
                    const struct hc_enclosure *x, bool doubtful)
{
    r->terms++;
    r->on_shift = r->on_shift || x->standing == HC_ON_SHIFT;
    r->nan = r->nan || x->nan;
    r->or_infinite = r->or_infinite || x->or_infinite;
    r->surely_nan = r->surely_nan || (hc_enclosure_is_nan(x) && !doubtful);
    r->zeros = r->zeros && x->mid == 0 && x->rad == 0 && x->own == 0 && !doubtful &&
               (x->zeros || !x->extreme);
    if (doubtful)
        r->rads = (double)INFINITY;
    if (r->reduction == HC_OVER_SUM || r->reduction == HC_OVER_MEAN) {
        add_to_sum(a, r, x);
    } else if (r->reduction == HC_OVER_PROD && r->terms > 1) {
        struct hc_enclosure so_far = {.real = NULL};
        hc_enclosure_copy(a, &so_far, r->y);
        hc_enclosure_apply(a, r->y, HC_FN_mul, (const struct hc_enclosure *const[3]){&so_far, x});
        hc_enclosure_free(&so_far);
    } else if (r->reduction == HC_OVER_PROD) {
        hc_enclosure_copy(a, r->y, x);
    } else {
        add_extreme(a, r, x);
    }
}

static void end_sum(const struct hc_arithmetic *a, struct hc_running *r)
{
    struct hc_enclosure *y = r->y;
    int precision = hc_formats[a->freedoms.compute].precision;
    add_rest(a, r);
    hc_note(y);
    y->own = r->owns;
    y->rad = r->rads;
    if (r->special || r->all_terms == 0)
        return;
    y->terms = r->all_terms;
    y->magnitude = r->magnitude;
    y->rads = r->rads;
    y->grain = r->grain;
    if (r->settled && r->magnitude <= fmin(ldexp(1, r->grain + precision), a->most))
        return;
    /* Sums of sums may be added up as they stand, or all of their terms as one sum. */
    double nested = r->depth + hc_freedoms_depth(&a->freedoms, r->sum_terms);
    y->depth = fmax(nested, hc_freedoms_depth(&a->freedoms, r->all_terms));
    double share = likely_roundings(a, y->depth);
    if (r->on_shift && a->freedoms.tile > 0) {
        double tiles = ceil((double)r->all_terms / a->freedoms.tile);
        share = hc_add_up(share, (tiles - 1) * (2 * a->freedoms.ulps + 1) * a->unit);
    }
    y->rad = r->magnitude <= a->most ? hc_add_up(y->rad, hc_mul_up(share, r->magnitude))
                                     : (double)INFINITY;
}

void hc_running_end(const struct hc_arithmetic *a, struct hc_running *r)
{
    bool extreme = r->reduction == HC_OVER_MAX || r->reduction == HC_OVER_MIN;
    if (r->reduction == HC_OVER_SUM || r->reduction == HC_OVER_MEAN)
        end_sum(a, r);
    else if (isinf(r->rads) || (extreme && r->or_infinite && !r->surely_nan))
        r->y->rad = (double)INFINITY;
    if (!extreme && r->reduction != HC_OVER_PROD)
        r->y->or_infinite = isnan(r->y->mid) && !r->surely_nan && (r->or_infinite || a->regroups);
    if (r->surely_nan && isnan(r->y->mid))
        r->y->rad = r->y->own = 0;
    r->y->nan = r->nan;
    r->y->extreme = r->reduction == HC_OVER_MAX;
    r->y->zeros = r->y->extreme && r->zeros && r->terms > 0;
    if (r->reduction != HC_OVER_MEAN)
        return;
    struct hc_enclosure sum = {.real = NULL};
    struct hc_enclosure terms = {.real = NULL};
    hc_enclosure_copy(a, &sum, r->y);
    hc_enclosure_set(a, &terms, (double)r->terms);
    hc_enclosure_apply(a, r->y, HC_FN_div, (const struct hc_enclosure *const[3]){&sum, &terms});
    hc_enclosure_free(&sum);
    hc_enclosure_free(&terms);
}
