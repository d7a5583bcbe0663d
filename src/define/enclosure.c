/* Each rule carries the radii of operands over by the running error bound (formula/radius.h), whose
   discs are around the real numbers here: |f(x) - f(x')| is bounded for x' in a disc around x,
   whichever of the two is the computed number. Then comes what the rounding of a right
   implementation adds, by the table in define/value.h. All of it is rounded upward. */
#include "define/enclosure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "define/arithmetic.h"

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

void hc_enclosure_set(const struct hc_arithmetic *a, struct hc_enclosure *y, double value)
{
    begin(a, y);
    hc_real_set(y->real, value);
    y->mid = value;
    y->plain = isfinite(value);
}

/* Whether the number, which is known exactly, is one of the format. */
static bool is_in(enum hc_format format, const struct hc_enclosure *x)
{
    if (x->own != 0)
        return false;
    return (x->plain || hc_real_exact(x->real).lo == 0) && hc_round(format, x->mid) == x->mid;
}

/* Whether it is below the normal numbers, and may be 0 therefore. */
static bool may_vanish(const struct hc_arithmetic *a, double x)
{
    return a->freedoms.flush && x != 0 && fabs(x) < a->tiny / a->unit / 2;
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
    if (a->freedoms.flush && size < a->tiny / a->unit)
        least = hc_add_up(least, a->tiny / a->unit / 2);
    double half = size > 0 ? ldexp(a->unit, ilogb(size)) : 0;
    double before = units > 1 ? hc_mul_up(units - 1, hc_mul_up(a->unit, size)) : 0;
    return hc_add_up(least, hc_add_up(half, before));
}

void hc_enclosure_input(const struct hc_arithmetic *a, struct hc_enclosure *y, double value)
{
    const struct hc_format_info *io = &hc_formats[a->io];
    const struct hc_format_info *compute = &hc_formats[a->freedoms.compute];
    hc_enclosure_set(a, y, value);
    if (compute->precision < io->precision || compute->emax < io->emax)
        hc_enclosure_given(a, y);
    if (may_vanish(a, value))
        y->rad = fabs(value);
}

void hc_enclosure_factors(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *const *x)
{
    double unit = 0;
    double size = hc_add_up(fabs(hc_enclosure_double(y)), hc_add_up(y->rad, y->own));
    if (!a->freedoms.rounds_factors || !isfinite(size))
        return;
    /* (1 + u)^2 - 1 is below 2 u + u^2. Below the normal numbers a factor may be any share of it
       off, and all of it if it becomes 0. */
    for (int i = 0; i < 2; i++) {
        bool normal = fabs(hc_enclosure_double(x[i])) >= ldexp(1, hc_formats[HC_FP32].emin);
        if (x[i]->rad > 0 || !is_in(a->freedoms.factors, x[i]))
            unit = hc_add_up(unit, normal ? hc_format_unit(a->freedoms.factors) : 1);
    }
    y->rad = hc_add_up(y->rad, hc_mul_up(hc_add_up(unit, hc_mul_up(unit, unit)), size));
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
    hc_note(y);
    /* It may be the neighbour of the nearest one. */
    y->own = 2 * hc_own_rounding(a, hc_enclosure_double(y), !exact);
    hc_enclosure_given(a, y);
}

void hc_enclosure_number(const struct hc_arithmetic *a, struct hc_enclosure *y, const char *text,
                         int length)
{
    char number[64];
    if (length == 2 && strncmp(text, "pi", 2) == 0) {
        begin(a, y);
        hc_real_pi(y->real);
        hc_note(y);
        y->own = hc_own_rounding(a, 4, 1);
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

/* Whether fp64 has the very product or sum of two numbers that are plain. What a product leaves is
   a number of fp64, too, where it is far from the ends of the range. */
static bool is_plain(enum hc_function f, const struct hc_enclosure *const *x, double *value)
{
    double a = x[0]->mid;
    double b = x[1]->mid;
    if (!x[0]->plain || !x[1]->plain)
        return false;
    if (f == HC_FN_mul) {
        *value = a * b;
        double size = fabs(*value);
        return a == 0 || b == 0 || (size > 0x1p-900 && size < 0x1p1000 && fma(a, b, -*value) == 0);
    }
    b = f == HC_FN_sub ? -b : b;
    *value = a + b;
    return fabs(*value) < 0x1p1000 && hc_rest_of_sum(a, b, *value) == 0;
}

/* The function of the real numbers. Nonzero: it was rounded. */
static int compute(struct hc_enclosure *y, enum hc_function f, const struct hc_enclosure *const *x)
{
    double value;
    if ((f == HC_FN_mul || f == HC_FN_add || f == HC_FN_sub) && is_plain(f, x, &value)) {
        hc_real_set(y->real, value);
        y->mid = value;
        y->plain = true;
        return 0;
    }
    int inexact = 0;
    if (unary[f]) {
        inexact = unary[f](y->real, x[0]->real);
    } else if (binary[f]) {
        inexact = binary[f](y->real, x[0]->real, x[1]->real);
    } else if (f == HC_FN_fma) {
        inexact = hc_real_fma(y->real, x[0]->real, x[1]->real, x[2]->real);
    } else {
        bool nan = hc_real_is_nan(x[1]->real);
        bool first = hc_real_compare(x[0]->real, x[1]->real) * (f == HC_FN_min ? -1 : 1) >= 0;
        inexact = hc_real_copy(y->real, x[nan || !first]->real);
    }
    hc_note(y);
    return inexact;
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

/* Whether every library has the very result there: C11, Annex F.10. With another shift it would be
   another place. */
static bool is_exact_point(enum hc_function f, const struct hc_enclosure *x)
{
    if (x->standing != HC_NO_SHIFT || x->own != 0)
        return false;
    switch ((int)f) {
    case HC_FN_exp:
    case HC_FN_log1p:
    case HC_FN_tanh:
    case HC_FN_sin:
    case HC_FN_cos:
    case HC_FN_erf:
        return x->mid == 0;
    default:
        return f == HC_FN_log && x->mid == 1;
    }
}

/* Whether an operand is the number 0. */
static bool is_zero(const struct hc_enclosure *x)
{
    return x->mid == 0 && x->rad == 0 && x->own == 0 && !x->nan;
}

/* Whether a product is 0 whatever number its other factor is, or a quotient whatever it is divided
   by: both are surely finite, and what is divided by is surely not 0. */
static bool is_zero_product(const struct hc_arithmetic *a, enum hc_function f,
                            const struct hc_enclosure *const *x)
{
    if (f != HC_FN_mul && f != HC_FN_div)
        return false;
    const struct hc_enclosure *other = is_zero(x[0]) ? x[1] : x[0];
    double size = fabs(other->mid);
    bool number = !other->nan && hc_add_up(size, other->rad) <= a->most;
    return number && (f == HC_FN_mul ? is_zero(x[0]) || is_zero(x[1])
                                     : is_zero(x[0]) && size * (1 - 0x1p-50) > hc_up(other->rad));
}

/* Where all scores are 0 their maximum is 0 in every right implementation, whatever it takes for a
   shift: a bound on them, or their multiples by log2 e. */
static bool is_no_shift(enum hc_function f, const struct hc_enclosure *const *x)
{
    return f == HC_FN_sub && x[1]->zeros && x[0]->standing == HC_NO_SHIFT && is_zero(x[0]);
}

/* Whether every right implementation has the very result: an operation that is rounded once, and
   whose result needs no rounding. */
static bool is_settled(const struct hc_arithmetic *a, enum hc_function f,
                       const struct hc_enclosure *y, const struct hc_enclosure *const *x)
{
    int exponent;
    if (hc_functions[f].kind == HC_FUNCTION_LIBRARY)
        return is_exact_point(f, x[0]);
    if (f == HC_FN_div && fabs(frexp(hc_enclosure_double(x[1]), &exponent)) != 0.5)
        return false;
    return (f == HC_FN_add || f == HC_FN_sub || f == HC_FN_mul || f == HC_FN_div) &&
           is_in(a->freedoms.compute, y) && !may_vanish(a, hc_enclosure_double(y));
}

/* Whether the result is the infinity of an operand in every right implementation: that operand is
   surely infinite, and what it meets is surely a number. So a score of minus infinity stays one
   when the maximum is taken off, however that was rounded. */
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

double hc_extreme_radius(const struct hc_disc *x, int chosen)
{
    bool sure = !isnan(x[0].mid) && !isnan(x[1].mid) && hc_radius_apply(HC_FN_greater, x, 0) == 0;
    return sure ? x[chosen].rad : fmax(x[0].rad, x[1].rad);
}

/* What the parts of a product may be: the product of the factors above 1, and of those below. A
   factor that is 0 makes each part 0 that has it. */
static struct hc_enclosure parts_of(const struct hc_enclosure *x)
{
    double size = fabs(x->mid);
    double least = hc_up(x->rad) < size ? (size - hc_up(x->rad)) * (1 - 0x1p-50) : 0;
    if (x->factors)
        return *x;
    return (struct hc_enclosure){.factors = 1,
                                 .above = 1,
                                 .most_part = fmax(1, hc_add_up(size, x->rad)),
                                 .least_part = is_zero(x) ? 1 : fmin(1, least)};
}

/* The least normal number of the computing format. */
static double least_normal(const struct hc_arithmetic *a)
{
    return a->tiny / a->unit / 2;
}

/* Notes the parts of y, and returns what other groupings of its factors cost. Each factor that is
   divided by may be a reciprocal, which costs 1.5 u more than a product. A part that overflows
   makes the result an infinity, or NaN. One below the normal numbers is off by the least number,
   times the factors that it still meets; or by itself, which at most doubles what it was, or loses
   it. */
static double cost_of_parts(const struct hc_arithmetic *a, struct hc_enclosure *y,
                            enum hc_function f, const struct hc_enclosure *const *x)
{
    const struct hc_enclosure p = parts_of(x[0]);
    const struct hc_enclosure q = parts_of(x[1]);
    bool over = f == HC_FN_div; /* by q: each of its factors may be a reciprocal */
    double up = over ? hc_up(1 / q.least_part) : q.most_part;
    double down = over ? 1 / q.most_part : q.least_part;
    double size = hc_add_up(fabs(y->mid), hc_add_up(y->rad, y->own));
    double reciprocals = over && q.above > 1 ? 1.5 * (q.above - 1) : 0;
    double cost = reciprocals > 0 ? hc_mul_up(hc_mul_up(reciprocals, a->unit), size) : 0;
    y->factors = p.factors + q.factors;
    y->above = p.above + (over ? q.factors - q.above : q.above);
    y->most_part = hc_mul_up(p.most_part, up);
    y->least_part = p.least_part * down * (1 - 0x1p-50);
    if (!(y->most_part <= a->most))
        return (double)INFINITY;
    if (y->least_part >= least_normal(a))
        return cost;
    double least = a->freedoms.flush ? least_normal(a) : a->tiny;
    double lost = fmin(hc_mul_up(y->factors, hc_mul_up(least, y->most_part)),
                       hc_mul_up(ldexp(1, y->factors) - 1, size));
    return hc_add_up(cost, lost);
}

bool hc_enclosure_is_nan(const struct hc_enclosure *x)
{
    return isnan(x->mid) && x->rad == 0 && !x->or_infinite && x->standing != HC_IS_SHIFT;
}

/* Whether the function of an infinity is an infinity or NaN. */
static bool keeps_infinities(enum hc_function f, const struct hc_enclosure *const *x)
{
    return f == HC_FN_add || f == HC_FN_sub || f == HC_FN_mul || f == HC_FN_fma ||
           f == HC_FN_negate || f == HC_FN_abs || (f == HC_FN_div && !x[1]->or_infinite);
}

/* What is known of a function's operands, of which there are three at most. */
struct operands {
    struct hc_disc own[3]; /* with the evaluation's own error */
    struct hc_disc rad[3]; /* with that of any right order */
    bool special;          /* one is infinite or NaN */
    bool infinite;
    bool or_infinite;
    bool surely_nan;
    bool shift;
    bool known; /* the radii are 0 */
};

static struct operands gather(struct hc_enclosure *y, enum hc_function f,
                              const struct hc_enclosure *const *x)
{
    struct operands o = {.known = true};
    int count = f == HC_FN_min || f == HC_FN_max ? 2 : hc_functions[f].least;
    for (int i = 0; i < count; i++) {
        assert(x[i]);
        double mid = hc_enclosure_double(x[i]);
        o.own[i] = (struct hc_disc){mid, x[i]->own};
        o.rad[i] = (struct hc_disc){mid, x[i]->rad};
        o.special = o.special || !isfinite(mid);
        o.infinite = o.infinite || isinf(mid);
        o.or_infinite = o.or_infinite || x[i]->or_infinite;
        o.surely_nan = o.surely_nan || hc_enclosure_is_nan(x[i]);
        o.shift = o.shift || x[i]->standing == HC_IS_SHIFT;
        o.known = o.known && x[i]->rad == 0;
        y->standing = x[i]->standing != HC_NO_SHIFT ? HC_ON_SHIFT : y->standing;
        y->nan = y->nan || x[i]->nan;
    }
    return o;
}

/* Adds to the radius what the function's own rounding costs. */
static void add_rounding(const struct hc_arithmetic *a, struct hc_enclosure *y, enum hc_function f,
                         const struct hc_enclosure *const *x, const struct operands *o)
{
    double value = hc_enclosure_double(y);
    bool product = f == HC_FN_mul || f == HC_FN_div;
    double of_parts = product ? cost_of_parts(a, y, f, x) : 0;
    bool settled = (o->known && !o->special && is_settled(a, f, y, x)) || is_zero_product(a, f, x);
    /* What needs no rounding has no reciprocal that does. */
    if (settled && (of_parts == 0 || (isfinite(of_parts) &&
                                      (y->factors == 2 || y->least_part >= least_normal(a))))) {
        y->rad = 0;
        return;
    }
    double cost = hc_add_up(of_parts, rounding(a, value, hc_add_up(y->rad, y->own), units(a, f)));
    if (f == HC_FN_fma)
        cost = hc_add_up(cost, rounding(a, o->rad[0].mid * o->rad[1].mid, 0, 1));
    if (o->shift && f == HC_FN_sub)
        cost = hc_add_up(cost, hc_mul_up(a->unit, a->freedoms.shift));
    /* Where a shift goes back into a result it may be another rounding of it than the one that was
       taken off: of a product with a scale, and with log2 e where exponentials are powers of 2. */
    for (int i = 0; i < 2 && o->shift && f == HC_FN_add; i++)
        if (x[i]->standing == HC_IS_SHIFT)
            cost = hc_add_up(cost, hc_mul_up(3 * a->unit, fabs(o->rad[i].mid)));
    /* What lies below the normal numbers may become 0 in an exponential. */
    if (f == HC_FN_exp && value < a->tiny / a->unit)
        cost = hc_add_up(cost, a->tiny / a->unit);
    y->rad = hc_add_up(y->rad, cost);
}

void hc_enclosure_apply(const struct hc_arithmetic *a, struct hc_enclosure *y, enum hc_function f,
                        const struct hc_enclosure *const *x)
{
    begin(a, y);
    struct operands o = gather(y, f, x);
    int inexact = compute(y, f, x);
    double value = hc_enclosure_double(y);
    if (o.shift && is_no_shift(f, x))
        y->standing = HC_NO_SHIFT;
    /* What is masked may be skipped, whatever it meets. */
    bool may_be_skipped = f == HC_FN_mul && (x[0]->masked || x[1]->masked);
    y->masked = (f == HC_FN_exp && o.rad[0].mid == -(double)INFINITY && o.rad[0].rad == 0) ||
                (value == 0 && may_be_skipped);
    if (isnan(value) && o.surely_nan && !may_be_skipped)
        return;
    y->own = hc_add_up(hc_radius_apply(f, o.own, value), hc_own_rounding(a, value, inexact));
    if (isinf(value) && is_surely_infinite(a, f, o.rad)) {
        y->own = 0;
        return;
    }
    if (f == HC_FN_exp && y->masked)
        return;
    if (f == HC_FN_exp)
        o.rad[0].rad = hc_add_up(o.rad[0].rad, hc_mul_up(1.25 * a->unit, fabs(o.rad[0].mid)));
    y->rad = hc_radius_apply(f, o.rad, value);
    if (f == HC_FN_min || f == HC_FN_max)
        y->rad = hc_extreme_radius(o.rad, hc_real_compare(y->real, x[0]->real) == 0 ? 0 : 1);
    if (o.or_infinite && !keeps_infinities(f, x))
        y->rad = (double)INFINITY;
    y->or_infinite = isnan(value) && (o.or_infinite || ((a->regroups || o.shift) && o.infinite));
    /* So is not infinity times 0 there; and with another shift there may be no NaN. */
    if (isnan(value) && (may_be_skipped || (o.shift && !y->or_infinite)))
        y->rad = (double)INFINITY;
    if (!isnan(value) && !(isinf(value) && hc_real_is_inf(y->real)) && units(a, f) > 0)
        add_rounding(a, y, f, x, &o);
}

void hc_enclosure_either(const struct hc_arithmetic *a, struct hc_enclosure *y,
                         const struct hc_enclosure *one, const struct hc_enclosure *other)
{
    double x = hc_enclosure_double(one);
    double z = hc_enclosure_double(other);
    bool same = one == other || x == z;
    double apart = same ? 0 : hc_up(fabs(x - z) + (fabs(x) + fabs(z)) * 0x1p-50);
    hc_enclosure_copy(a, y, one);
    y->terms = 0;
    y->factors = 0;
    y->nan = one->nan || other->nan;
    y->rad = hc_add_up(fmax(one->rad, other->rad), isnan(apart) ? (double)INFINITY : apart);
}

void hc_enclosure_any(const struct hc_arithmetic *a, struct hc_enclosure *y,
                      const struct hc_enclosure *one, const struct hc_enclosure *other)
{
    bool second = !isnan(other->mid) || other->rad > 0;
    const struct hc_enclosure *x = (isnan(one->mid) && one->rad == 0 && second) ? other : one;
    hc_enclosure_either(a, y, x, second ? other : x);
    y->nan = true;
}

/* How far two numbers are apart. */
static double apart_by(const struct hc_enclosure *one, const struct hc_enclosure *other)
{
    struct hc_exact x = hc_real_exact(one->real);
    struct hc_exact z = hc_real_exact(other->real);
    double apart = fabs((x.hi - z.hi) + (x.lo - z.lo));
    return hc_up(apart + 0x1p-50 * apart + 0x1p-100 * (fabs(x.hi) + fabs(z.hi)));
}

void hc_enclosure_between(const struct hc_arithmetic *a, struct hc_enclosure *y,
                          const struct hc_enclosure *one, const struct hc_enclosure *other)
{
    double x = hc_enclosure_double(one);
    double z = hc_enclosure_double(other);
    bool nan = one->nan || other->nan;
    bool or_infinite = one->or_infinite || other->or_infinite || isinf(x) || isinf(z);
    bool no_number = isnan(x) ? !isfinite(z) : isinf(x) && (isnan(z) || x == z);
    bool finite = isfinite(x) && isfinite(z);
    double apart = finite ? apart_by(one, other) : 0;
    if (no_number || (finite && apart <= 0x1p-60 * fabs(x))) { /* two forms of one number */
        hc_enclosure_copy(a, y, isnan(z) ? other : one);
        y->terms = 0;
        y->factors = 0;
        y->nan = nan;
        y->or_infinite = or_infinite && hc_enclosure_is_nan(y);
        y->rad = fmax(one->rad, hc_add_up(other->rad, hc_add_up(apart, other->own)));
        return;
    }
    if (!finite) {
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

bool hc_enclosure_unordered(enum hc_function f, const struct hc_enclosure *const *x)
{
    for (int i = 0; i < 2 && hc_function_orders(f); i++)
        if (isnan(x[i]->mid) || x[i]->nan || isinf(x[i]->rad))
            return true;
    return false;
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
   with a shift is another number with another shift, and rounds otherwise; and in the format in
   which is computed, the last operation's rounding is this one. */
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
    bool or_infinite = x->or_infinite;
    if ((format != HC_FORMAT_COUNT && !x->absent) || (owed && is_decided(a, x, to))) {
        double rounded = hc_decode(to, hc_real_bits(x->real, to, HC_NEAREST));
        double own = step(to, value, x->own, rounded);
        double rad = step(to, value, x->rad, rounded);
        hc_enclosure_set(a, y, rounded);
        y->own = own;
        y->rad = rad;
        y->nan = nan;
        y->or_infinite = or_infinite;
        return;
    }
    hc_enclosure_copy(a, y, x);
    y->terms = 0;
    y->factors = 0;
    if (x->absent || isnan(value) || hc_real_is_inf(x->real) || (x->rad == 0 && is_in(to, x)))
        return;
    double size = hc_add_up(fabs(value), hc_add_up(x->rad, x->own));
    double beyond = hc_format_max(to) + ldexp(hc_format_unit(to), hc_formats[to].emax);
    double half = hc_format_tiny(to) / 2;
    if (size > 0 && isfinite(size))
        half = fmax(half, ldexp(hc_format_unit(to), ilogb(size)));
    y->rad = size < beyond ? hc_add_up(x->rad, half) : (double)INFINITY;
}
