/* Each rule carries the radii of operands over by the running error bound (formula/radius.h), whose
   discs are around the real numbers here: |f(x) - f(x')| is bounded for x' in a disc around x,
   whichever of the two is the computed number. Then comes what the rounding of a right
   implementation adds, by the table in define/value.h. All of it is rounded upward. */
#include "define/enclosure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formula/radius.h"
#include "formula/upward.h"

struct hc_arithmetic hc_arithmetic_of(const struct hc_freedoms *freedoms, enum hc_format io,
                                      long precision)
{
    return (struct hc_arithmetic){
        .freedoms = *freedoms,
        .io = io,
        .precision = precision,
        .unit = hc_format_unit(freedoms->compute),
        .tiny = hc_format_tiny(freedoms->compute),
        .most = hc_format_max(freedoms->compute),
    };
}

void hc_enclosure_free(struct hc_enclosure *x)
{
    if (x->real)
        hc_real_free(x->real);
    *x = (struct hc_enclosure){.real = NULL};
}

/* What k roundings in a row come to at most: k u / (1 - k u) is above (1 + u)^k - 1. */
static double roundings(const struct hc_arithmetic *a, double k)
{
    double ku = k * a->unit;
    return ku < 1 ? hc_div_up(ku, 1 - ku) : (double)INFINITY;
}

/* Gives y memory, and makes it a number without any error. */
static void begin(const struct hc_arithmetic *a, struct hc_enclosure *y)
{
    struct hc_real *real = y->real ? y->real : hc_real_new_bits(0, a->precision);
    *y = (struct hc_enclosure){.real = real};
}

void hc_enclosure_copy(const struct hc_arithmetic *a, struct hc_enclosure *y,
                       const struct hc_enclosure *x)
{
    begin(a, y);
    struct hc_real *real = y->real;
    hc_real_copy(real, x->real);
    *y = *x;
    y->real = real;
}

double hc_enclosure_double(const struct hc_enclosure *x)
{
    return hc_real_double(x->real);
}

void hc_enclosure_set(const struct hc_arithmetic *a, struct hc_enclosure *y, double value)
{
    begin(a, y);
    hc_real_set(y->real, value);
}

/* What the precision of the real numbers costs where an operation was inexact: half an ulp. */
static double own_rounding(const struct hc_arithmetic *a, double value, int inexact)
{
    return inexact ? hc_mul_up(hc_add_up(fabs(value), 0x1p-1022), ldexp(1, (int)-a->precision)) : 0;
}

/* Whether the number, which is known exactly, is one of the format. */
static bool is_in(enum hc_format format, const struct hc_enclosure *x)
{
    struct hc_exact value = hc_real_exact(x->real);
    return x->own == 0 && value.lo == 0 && hc_round(format, value.hi) == value.hi;
}

/* What `units` roundings of a result of this size cost. The last one is at most half an ulp, u
   times the power of two below, and those before it are u of the result each; or half of the least
   number where it is subnormal. Beyond the largest number there may be an infinity. */
static double rounding(const struct hc_arithmetic *a, double value, double rad, double units)
{
    double size = hc_add_up(fabs(value), rad);
    if (!(size <= a->most))
        return (double)INFINITY;
    double least = size < a->tiny / a->unit ? hc_mul_up(units, a->tiny) : 0;
    double half = size > 0 ? ldexp(a->unit, ilogb(size)) : 0;
    double before = units > 1 ? hc_mul_up(units - 1, hc_mul_up(a->unit, size)) : 0;
    return hc_add_up(least, hc_add_up(half, before));
}

void hc_enclosure_given(const struct hc_arithmetic *a, struct hc_enclosure *y)
{
    double value = hc_enclosure_double(y);
    if (y->absent || isnan(value) || isinf(value))
        return;
    y->rad = is_in(a->freedoms.compute, y) ? 0 : rounding(a, value, y->own, 1);
}

void hc_enclosure_read(const struct hc_arithmetic *a, struct hc_enclosure *y, const char *text)
{
    bool exact;
    begin(a, y);
    (void)hc_real_read(y->real, text, &exact);
    /* It may be the neighbour of the nearest one. */
    y->own = 2 * own_rounding(a, hc_enclosure_double(y), !exact);
    hc_enclosure_given(a, y);
}

void hc_enclosure_number(const struct hc_arithmetic *a, struct hc_enclosure *y, const char *text,
                         int length)
{
    char number[64];
    if (length == 2 && strncmp(text, "pi", 2) == 0) {
        begin(a, y);
        hc_real_pi(y->real);
        y->own = own_rounding(a, 4, 1);
        hc_enclosure_given(a, y);
        return;
    }
    size_t n = (size_t)length < sizeof number ? (size_t)length : sizeof number - 1;
    memcpy(number, text, n);
    number[n] = '\0';
    hc_enclosure_read(a, y, number);
}

static hc_real_unary *const unary[HC_FUNCTION_COUNT] = {
    [HC_FN_sqrt] = hc_real_sqrt,   [HC_FN_exp] = hc_real_exp,     [HC_FN_log] = hc_real_log,
    [HC_FN_log1p] = hc_real_log1p, [HC_FN_tanh] = hc_real_tanh,   [HC_FN_cos] = hc_real_cos,
    [HC_FN_sin] = hc_real_sin,     [HC_FN_erf] = hc_real_erf,     [HC_FN_negate] = hc_real_neg,
    [HC_FN_abs] = hc_real_abs,     [HC_FN_floor] = hc_real_floor,
};

static hc_real_binary *const binary[HC_FUNCTION_COUNT] = {
    [HC_FN_add] = hc_real_add,
    [HC_FN_sub] = hc_real_sub,
    [HC_FN_mul] = hc_real_mul,
    [HC_FN_div] = hc_real_div,
};

bool hc_enclosure_knows(enum hc_function f)
{
    return unary[f] || binary[f] || f == HC_FN_fma || f == HC_FN_min || f == HC_FN_max ||
           f == HC_FN_select || hc_functions[f].kind == HC_FUNCTION_TRUTH;
}

/* The function of the real numbers. Nonzero: it was rounded. */
static int compute(struct hc_enclosure *y, enum hc_function f, const struct hc_enclosure *const *x)
{
    if (unary[f])
        return unary[f](y->real, x[0]->real);
    if (binary[f])
        return binary[f](y->real, x[0]->real, x[1]->real);
    if (f == HC_FN_fma)
        return hc_real_fma(y->real, x[0]->real, x[1]->real, x[2]->real);
    bool nan = hc_real_is_nan(x[1]->real);
    bool first = hc_real_compare(x[0]->real, x[1]->real) * (f == HC_FN_min ? -1 : 1) >= 0;
    return hc_real_copy(y->real, x[nan || !first]->real);
}

/* Roundings of the result, in u. The functions of a library are within F ulp, of at most 2 u each.
   A quotient may be a product with a rounded reciprocal: 1 u for each of the two and half of one
   for a reciprocal that is not the nearest. */
static double units(const struct hc_arithmetic *a, enum hc_function f)
{
    switch ((int)f) {
    case HC_FN_div:
        return 2.5;
    case HC_FN_sqrt:
        return 1.5;
    default:
        return hc_functions[f].kind == HC_FUNCTION_LIBRARY ? 2 * a->freedoms.ulps
               : hc_functions[f].kind == HC_FUNCTION_EXACT ? 0
                                                           : 1;
    }
}

/* Whether every right implementation has the very result: an operation that is rounded once, and
   whose result needs no rounding. */
static bool is_settled(const struct hc_arithmetic *a, enum hc_function f,
                       const struct hc_enclosure *y, const struct hc_enclosure *const *x)
{
    int exponent;
    if (f == HC_FN_div && fabs(frexp(hc_enclosure_double(x[1]), &exponent)) != 0.5)
        return false;
    return (f == HC_FN_add || f == HC_FN_sub || f == HC_FN_mul || f == HC_FN_div) &&
           is_in(a->freedoms.compute, y);
}

/* Whether the result is the infinity of an operand in every right implementation: that operand is
   surely infinite, and what it meets is surely a number. So a score of minus infinity stays one when
   the maximum is taken off, however that was rounded. */
static bool is_surely_infinite(const struct hc_arithmetic *a, enum hc_function f,
                               const struct hc_disc *x)
{
    bool infinite[2];
    bool number[2];
    bool away[2]; /* from 0 */
    for (int i = 0; i < 2; i++) {
        infinite[i] = isinf(x[i].mid) && x[i].rad == 0;
        number[i] = hc_add_up(fabs(x[i].mid), x[i].rad) <= a->most;
        away[i] = infinite[i] || (number[i] && fabs(x[i].mid) > hc_up(x[i].rad));
    }
    if (f == HC_FN_add || f == HC_FN_sub)
        return (infinite[0] && number[1]) || (number[0] && infinite[1]);
    if (f == HC_FN_mul)
        return (infinite[0] && away[1]) || (away[0] && infinite[1]);
    return f == HC_FN_div && infinite[0] && number[1] && away[1];
}

/* What the larger of two numbers, or the smaller one, has for a radius: that of the one which it
   surely is, or else the larger radius (formula/radius.c has the proof). */
static double extreme_radius(const struct hc_disc *x, int chosen)
{
    bool sure = !isnan(x[0].mid) && !isnan(x[1].mid) && hc_radius_apply(HC_FN_greater, x, 0) == 0;
    return sure ? x[chosen].rad : fmax(x[0].rad, x[1].rad);
}

void hc_enclosure_apply(const struct hc_arithmetic *a, struct hc_enclosure *y, enum hc_function f,
                        const struct hc_enclosure *const *x)
{
    struct hc_disc own[3] = {{0, 0}, {0, 0}, {0, 0}};
    struct hc_disc rad[3] = {{0, 0}, {0, 0}, {0, 0}};
    int operands = f == HC_FN_min || f == HC_FN_max ? 2 : hc_functions[f].least;
    bool special = false;
    bool shift = false;
    bool known = true;
    begin(a, y);
    for (int i = 0; i < operands; i++) {
        assert(x[i]);
        double mid = hc_enclosure_double(x[i]);
        own[i] = (struct hc_disc){mid, x[i]->own};
        rad[i] = (struct hc_disc){mid, x[i]->rad};
        special = special || !isfinite(mid);
        shift = shift || x[i]->standing == HC_IS_SHIFT;
        y->standing = x[i]->standing != HC_NO_SHIFT ? HC_ON_SHIFT : y->standing;
        known = known && x[i]->rad == 0;
        y->nan = y->nan || x[i]->nan;
    }
    int inexact = compute(y, f, x);
    double value = hc_enclosure_double(y);
    y->own = hc_add_up(hc_radius_apply(f, own, value), own_rounding(a, value, inexact));
    y->masked = (f == HC_FN_exp && rad[0].mid == -(double)INFINITY && rad[0].rad == 0) ||
                (value == 0 && f == HC_FN_mul && (x[0]->masked || x[1]->masked));
    if (isinf(value) && is_surely_infinite(a, f, rad)) {
        y->own = 0;
        return;
    }
    if (f == HC_FN_exp && y->masked)
        return;
    if (f == HC_FN_exp)
        rad[0].rad = hc_add_up(rad[0].rad, hc_mul_up(1.25 * a->unit, fabs(rad[0].mid)));
    y->rad = hc_radius_apply(f, rad, value);
    if (f == HC_FN_min || f == HC_FN_max)
        y->rad = extreme_radius(rad, hc_real_compare(y->real, x[0]->real) == 0 ? 0 : 1);
    /* What is masked may be skipped, and so is not infinity times 0. */
    if (isnan(value) && f == HC_FN_mul && (x[0]->masked || x[1]->masked))
        y->rad = (double)INFINITY;
    if (isnan(value) || (isinf(value) && hc_real_is_inf(y->real)) || units(a, f) == 0)
        return;
    if (known && !special && is_settled(a, f, y, x)) {
        y->rad = 0;
        return;
    }
    double cost = rounding(a, value, hc_add_up(y->rad, y->own), units(a, f));
    if (f == HC_FN_fma)
        cost = hc_add_up(cost, rounding(a, rad[0].mid * rad[1].mid, 0, 1));
    if (shift && f == HC_FN_sub)
        cost = hc_add_up(cost, hc_mul_up(a->unit, a->freedoms.shift));
    /* Where a shift goes back into a result it may be another rounding of it than the one that was
       taken off: of a product with a scale, and with log2 e where exponentials are powers of 2. */
    for (int i = 0; i < 2 && shift && f == HC_FN_add; i++)
        if (x[i]->standing == HC_IS_SHIFT)
            cost = hc_add_up(cost, hc_mul_up(3 * a->unit, fabs(rad[i].mid)));
    /* What lies below the normal numbers may become 0 in an exponential. */
    if (f == HC_FN_exp && value < a->tiny / a->unit)
        cost = hc_add_up(cost, a->tiny / a->unit);
    y->rad = hc_add_up(y->rad, cost);
}

void hc_enclosure_either(const struct hc_arithmetic *a, struct hc_enclosure *y,
                         const struct hc_enclosure *one, const struct hc_enclosure *other)
{
    double x = hc_enclosure_double(one);
    double z = hc_enclosure_double(other);
    double apart = x == z ? 0 : hc_up(fabs(x - z) + (fabs(x) + fabs(z)) * 0x1p-50);
    hc_enclosure_copy(a, y, one);
    y->terms = 0;
    y->nan = one->nan || other->nan;
    y->rad = hc_add_up(fmax(one->rad, other->rad), isnan(apart) ? (double)INFINITY : apart);
}

void hc_enclosure_between(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *one, const struct hc_enclosure *other)
{
    double x = hc_enclosure_double(one);
    double z = hc_enclosure_double(other);
    bool nan = one->nan || other->nan;
    if (!isfinite(x) || !isfinite(z)) {
        hc_enclosure_set(a, y, 0);
        y->rad = (double)INFINITY;
        return;
    }
    hc_enclosure_set(a, y, x / 2 + z / 2);
    y->nan = nan;
    y->rad = hc_add_up(hc_up(fabs(x - z) / 2), fmax(one->rad, other->rad));
    y->rad = hc_add_up(y->rad, hc_add_up(fmax(one->own, other->own), 0x1p-50 * fabs(x + z)));
}

bool hc_enclosure_compare(enum hc_function f, const struct hc_enclosure *const *x, bool *sure)
{
    struct hc_disc disc[2] = {{0, 0}};
    for (int i = 0; i < hc_functions[f].least; i++)
        disc[i] = (struct hc_disc){hc_enclosure_double(x[i]), hc_add_up(x[i]->rad, x[i]->own)};
    *sure = hc_radius_apply(f, disc, 0) == 0;
    for (int i = 0; i < hc_functions[f].least; i++)
        *sure = *sure && !x[i]->nan;
    if (hc_functions[f].least == 1)
        return f == HC_FN_isnan   ? hc_real_is_nan(x[0]->real)
               : f == HC_FN_isinf ? hc_real_is_inf(x[0]->real)
                                  : !hc_real_is_nan(x[0]->real) && !hc_real_is_inf(x[0]->real);
    if (hc_real_is_nan(x[0]->real) || hc_real_is_nan(x[1]->real))
        return f == HC_FN_not_equal;
    int order = hc_real_compare(x[0]->real, x[1]->real);
    switch ((int)f) {
    case HC_FN_less:
        return order < 0;
    case HC_FN_less_equal:
        return order <= 0;
    case HC_FN_greater:
        return order > 0;
    case HC_FN_greater_equal:
        return order >= 0;
    case HC_FN_equal:
        return order == 0;
    default:
        return order != 0;
    }
}

/* How far the rounding of a number within `rad` of `mid` may be from that of `mid`, which is
   `rounded`: rounding does not decrease. */
static double step(enum hc_format format, double mid, double rad, double rounded)
{
    if (rad == 0)
        return 0;
    double above = hc_round(format, hc_up(mid + hc_add_up(rad, fabs(mid) * 0x1p-52)));
    double below = hc_round(format, -hc_up(hc_add_up(rad, fabs(mid) * 0x1p-52) - mid));
    double most = fmax(hc_up(above - rounded), hc_up(rounded - below));
    if (above == rounded && below == rounded)
        return 0;
    return isnan(most) ? (double)INFINITY : most;
}

/* Whether a rounding that is owed gives one number in every right implementation. What is computed
   with a shift is another number with another shift, and rounds otherwise; and in the format in which
   is computed, the last operation's rounding is this one. */
static bool is_decided(const struct hc_arithmetic *a, const struct hc_enclosure *x,
                       enum hc_format to)
{
    double value = hc_enclosure_double(x);
    if (x->absent || x->standing != HC_NO_SHIFT || !isfinite(value) ||
        hc_formats[to].precision >= hc_formats[a->freedoms.compute].precision)
        return false;
    double rounded = hc_decode(to, hc_real_bits(x->real, to, HC_NEAREST));
    return isfinite(rounded) && step(to, value, hc_add_up(x->rad, x->own), rounded) == 0;
}

void hc_enclosure_store(const struct hc_arithmetic *a, struct hc_enclosure *y,
                        const struct hc_enclosure *x, enum hc_format format, bool owed)
{
    double value = hc_enclosure_double(x);
    enum hc_format to = format == HC_FORMAT_COUNT ? a->io : format;
    bool nan = x->nan;
    if ((format != HC_FORMAT_COUNT && !x->absent) || (owed && is_decided(a, x, to))) {
        double rounded = hc_decode(to, hc_real_bits(x->real, to, HC_NEAREST));
        double own = step(to, value, x->own, rounded);
        double rad = step(to, value, x->rad, rounded);
        hc_enclosure_set(a, y, rounded);
        y->own = own;
        y->rad = rad;
        y->nan = nan;
        return;
    }
    hc_enclosure_copy(a, y, x);
    y->terms = 0;
    if (x->absent || isnan(value) || hc_real_is_inf(x->real) || (x->rad == 0 && is_in(to, x)))
        return;
    double size = hc_add_up(fabs(value), hc_add_up(x->rad, x->own));
    double beyond = hc_format_max(to) + ldexp(hc_format_unit(to), hc_formats[to].emax);
    double half = hc_format_tiny(to) / 2;
    if (size > 0 && isfinite(size))
        half = fmax(half, ldexp(hc_format_unit(to), ilogb(size)));
    y->rad = size < beyond ? hc_add_up(x->rad, half) : (double)INFINITY;
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
    double k = hc_mul_up(3 * (double)n, a->unit);
    double bound =
        hc_add_up(hc_mul_up(k, hc_up(sqrt(hc_mul_up(q, v)))), hc_mul_up(hc_mul_up(k, k), q));
    bound = hc_add_up(bound, hc_mul_up(hc_mul_up((double)n + 3, a->unit), v));
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
    *r = (struct hc_running){.reduction = reduction, .y = y, .settled = true, .grain = 4096};
    hc_enclosure_set(a, y, start);
}

/* The exponent of the lowest bit of a number that is not 0. */
static int grain_of(double x)
{
    int exponent;
    int64_t digits = (int64_t)ldexp(fabs(frexp(x, &exponent)), 53);
    return exponent - 53 + __builtin_ctzll((uint64_t)digits);
}

static void add_to_sum(const struct hc_arithmetic *a, struct hc_running *r,
                       const struct hc_enclosure *x)
{
    struct hc_exact value = hc_real_exact(x->real);
    /* To add 0 rounds nothing. */
    if (value.hi == 0 && x->rad == 0 && x->own == 0 && x->terms == 0)
        return;
    int inexact = hc_real_add(r->y->real, r->y->real, x->real);
    r->owns = hc_add_up(r->owns, own_rounding(a, hc_enclosure_double(r->y), inexact));
    r->owns = hc_add_up(r->owns, x->own);
    r->rads = hc_add_up(r->rads, x->terms ? x->rads : x->rad);
    r->all_terms += x->terms ? x->terms : 1;
    if (isnan(value.hi) || isinf(value.hi)) {
        r->special = r->special || hc_real_is_nan(x->real) || hc_real_is_inf(x->real);
        r->settled = false;
        return;
    }
    r->magnitude =
        hc_add_up(r->magnitude, x->terms ? x->magnitude : hc_add_up(fabs(value.hi), x->rad));
    if (x->rad > 0 || x->own > 0 || value.lo != 0)
        r->settled = false;
    else if (r->settled && value.hi != 0) {
        int grain = x->terms ? x->grain : grain_of(value.hi);
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
    double rad = extreme_radius(two, taken);
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
    double share = roundings(a, (double)(r->all_terms - 1));
    if (r->on_shift && a->freedoms.tile > 0) {
        double tiles = ceil((double)r->all_terms / a->freedoms.tile);
        share = hc_add_up(share, (tiles - 1) * (2 * a->freedoms.ulps + 1) * a->unit);
    }
    y->rad = r->magnitude <= a->most ? hc_add_up(y->rad, hc_mul_up(share, r->magnitude))
                                     : (double)INFINITY;
}

void hc_running_end(const struct hc_arithmetic *a, struct hc_running *r)
{
    if (r->reduction == HC_OVER_SUM || r->reduction == HC_OVER_MEAN)
        end_sum(a, r);
    else if (isinf(r->rads))
        r->y->rad = r->rads;
    r->y->nan = r->nan;
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
