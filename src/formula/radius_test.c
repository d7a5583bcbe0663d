/* Numbers for tests that draw their operands: the same in every run. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdint.h>

#include "formula/radius.h"
#include "num/format.h"

/* In [0, 1). */
static inline double hc_draw_uniform(void)
{
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static inline int hc_draw_between(int low, int high)
{
    return low + (int)(hc_draw_uniform() * (high - low + 1));
}

/* The rules of the error bound: random discs of all sizes, and points in them, in MPFR. A rule must
   hold at every point; and where the radii are small it must not be far above what is reached. */

enum { BITS = 400, DISCS = 1500, POINTS = 3 };

/* The functions on MPFR's numbers that have no name there. */
static int of_select(mpfr_t y, mpfr_t x[3])
{
    return mpfr_set(y, mpfr_zero_p(x[0]) ? x[2] : x[1], MPFR_RNDN);
}

static int of_two(enum hc_function f, mpfr_t y, mpfr_t x[3])
{
    int order = mpfr_cmp(x[0], x[1]);
    switch (f) {
    case HC_FN_add:
        return mpfr_add(y, x[0], x[1], MPFR_RNDN);
    case HC_FN_sub:
        return mpfr_sub(y, x[0], x[1], MPFR_RNDN);
    case HC_FN_mul:
        return mpfr_mul(y, x[0], x[1], MPFR_RNDN);
    case HC_FN_div:
        return mpfr_div(y, x[0], x[1], MPFR_RNDN);
    case HC_FN_power:
        return mpfr_pow(y, x[0], x[1], MPFR_RNDN);
    case HC_FN_and:
        return mpfr_set_si(y, !mpfr_zero_p(x[0]) && !mpfr_zero_p(x[1]), MPFR_RNDN);
    case HC_FN_or:
        return mpfr_set_si(y, !mpfr_zero_p(x[0]) || !mpfr_zero_p(x[1]), MPFR_RNDN);
    case HC_FN_min:
        return mpfr_min(y, x[0], x[1], MPFR_RNDN);
    case HC_FN_max:
        return mpfr_max(y, x[0], x[1], MPFR_RNDN);
    case HC_FN_less:
        return mpfr_set_si(y, order < 0, MPFR_RNDN);
    case HC_FN_less_equal:
        return mpfr_set_si(y, order <= 0, MPFR_RNDN);
    case HC_FN_greater:
        return mpfr_set_si(y, order > 0, MPFR_RNDN);
    case HC_FN_greater_equal:
        return mpfr_set_si(y, order >= 0, MPFR_RNDN);
    case HC_FN_equal:
        return mpfr_set_si(y, order == 0, MPFR_RNDN);
    case HC_FN_not_equal:
        return mpfr_set_si(y, order != 0, MPFR_RNDN);
    default:
        cr_assert_fail("no such function");
        return 0;
    }
}

static int is_finite(mpfr_t y, mpfr_srcptr x, mpfr_rnd_t rounding)
{
    return mpfr_set_si(y, mpfr_number_p(x) != 0, rounding);
}

static int is_not(mpfr_t y, mpfr_srcptr x, mpfr_rnd_t rounding)
{
    return mpfr_set_si(y, mpfr_zero_p(x) != 0, rounding);
}

/* 1 / (1 + e^-x) = (1 + tanh(x / 2)) / 2, with as many more bits as 1 and tanh may lose. */
static int logistic(mpfr_t y, mpfr_srcptr x, mpfr_rnd_t rounding)
{
    mpfr_t t;
    mpfr_init2(t, 4 * BITS);
    mpfr_div_2ui(t, x, 1, rounding);
    mpfr_tanh(t, t, rounding);
    mpfr_add_ui(t, t, 1, rounding);
    int above = mpfr_div_2ui(y, t, 1, rounding);
    mpfr_clear(t);
    return above;
}

typedef int of_one(mpfr_t y, mpfr_srcptr x, mpfr_rnd_t rounding);

/* `reached` is the part of the bound that is reached at least in every small disc, or, if `once`,
   in one of them: where a slope may be 0, a bound of its largest value is far away. */
static const struct {
    enum hc_function f;
    of_one *one; /* NULL: of two or three */
    double from; /* the points' domain is above it */
    double reached;
    bool once;
} rows[] = {
    {HC_FN_add, NULL, -INFINITY, 0.99, false},
    {HC_FN_sub, NULL, -INFINITY, 0.99, false},
    {HC_FN_mul, NULL, -INFINITY, 0.99, false},
    {HC_FN_div, NULL, -INFINITY, 0.49, false},
    {HC_FN_fma, NULL, -INFINITY, 0.99, false},
    {HC_FN_sqrt, mpfr_sqrt, 0, 0.49, false},
    {HC_FN_exp, mpfr_exp, -INFINITY, 0.99, false},
    {HC_FN_log, mpfr_log, 0, 0.99, false},
    {HC_FN_log1p, mpfr_log1p, -1, 0.99, false},
    {HC_FN_tanh, mpfr_tanh, -INFINITY, 0.6, false},
    {HC_FN_erf, mpfr_erf, -INFINITY, 0.99, false},
    {HC_FN_rsqrt, mpfr_rec_sqrt, 0, 0.99, false},
    {HC_FN_sigmoid, logistic, -INFINITY, 0.6, false},
    {HC_FN_power, NULL, 0, 0.49, true},
    {HC_FN_sin, mpfr_sin, -INFINITY, 0.99, true},
    {HC_FN_cos, mpfr_cos, -INFINITY, 0.99, true},
    {HC_FN_negate, mpfr_neg, -INFINITY, 0.99, false},
    {HC_FN_abs, mpfr_abs, -INFINITY, 0.99, false},
    {HC_FN_cast, mpfr_set, -INFINITY, 0.99, false},
    {HC_FN_floor, mpfr_rint_floor, -INFINITY, 0.49, true},
    {HC_FN_round, mpfr_rint_roundeven, -INFINITY, 0.49, true},
    {HC_FN_isfinite, is_finite, -INFINITY, 0, true},
    {HC_FN_min, NULL, -INFINITY, 0.99, true},
    {HC_FN_max, NULL, -INFINITY, 0.99, true},
    {HC_FN_select, NULL, -INFINITY, 0.49, true},
    {HC_FN_less, NULL, -INFINITY, 0.99, true},
    {HC_FN_less_equal, NULL, -INFINITY, 0.99, true},
    {HC_FN_greater, NULL, -INFINITY, 0.99, true},
    {HC_FN_greater_equal, NULL, -INFINITY, 0.99, true},
    {HC_FN_equal, NULL, -INFINITY, 0.99, true},
    {HC_FN_not_equal, NULL, -INFINITY, 0.99, true},
    {HC_FN_and, NULL, -INFINITY, 0.99, true},
    {HC_FN_or, NULL, -INFINITY, 0.99, true},
    {HC_FN_not, is_not, -INFINITY, 0.99, true},
};

/* Mostly near 1, sometimes anywhere, sometimes a small integer. Radii from 2^-120 of mid to 2^4 of
   it, sometimes 0, and small ones where a bound is to be reached. */
static struct hc_disc draw(bool small, int i)
{
    struct hc_disc d;
    double sign = hc_draw_uniform() < 0.3 ? -1 : 1;
    bool anywhere = !small && i % 4 == 0;
    d.mid = sign * ldexp(1 + hc_draw_uniform(),
                         anywhere ? hc_draw_between(-1074, 1000) : hc_draw_between(-6, 4));
    if (i % 7 == 3)
        d.mid = hc_draw_between(-2, 3);
    d.rad = ldexp(fabs(d.mid) * (1 + hc_draw_uniform()),
                  small ? hc_draw_between(-40, -20) : hc_draw_between(-120, 4));
    if (!small && hc_draw_uniform() < 0.2)
        d.rad = hc_draw_uniform() < 0.5
                    ? 0
                    : fmax(ldexp(1, hc_draw_between(-1074, 3)), fabs(d.mid) * 0x1p-120);
    return d;
}

static int evaluate(size_t row, mpfr_t y, mpfr_t x[3])
{
    if (rows[row].one)
        return rows[row].one(y, x[0], MPFR_RNDN);
    if (rows[row].f == HC_FN_fma)
        return mpfr_fma(y, x[0], x[1], x[2], MPFR_RNDN);
    return rows[row].f == HC_FN_select ? of_select(y, x) : of_two(rows[row].f, y, x);
}

/* The largest |f(mids) - f(points)| over corners, ends and points between, less 2^-300 of f, which
   is above the noise of MPFR. Rounded upward: it passes a bound that is too small by any amount. */
static double largest_error(size_t row, const struct hc_disc *d, double *value)
{
    mpfr_t x[3], mid, y;
    int n = hc_functions[rows[row].f].most;
    int points = n == 1 ? 3 : n == 2 ? 9 : 27;
    double most = 0;
    mpfr_inits2(BITS, x[0], x[1], x[2], mid, y, (mpfr_ptr)0);
    for (int k = 0; k < n; k++)
        mpfr_set_d(x[k], d[k].mid, MPFR_RNDN);
    evaluate(row, mid, x);
    *value = mpfr_get_d(mid, MPFR_RNDN);
    for (int p = 0; p < points; p++) {
        static const int power[] = {1, 3, 9};
        bool in_domain = true;
        for (int k = 0; k < n; k++) {
            int which = p / power[k] % 3;
            mpfr_set_d(x[k], d[k].rad, MPFR_RNDN);
            mpfr_mul_d(x[k], x[k],
                       which == 0   ? -1
                       : which == 1 ? 1
                                    : 2 * hc_draw_uniform() - 1,
                       MPFR_RNDN);
            mpfr_add_d(x[k], x[k], d[k].mid, MPFR_RNDZ);
            in_domain = in_domain && mpfr_cmp_d(x[k], rows[row].from) > 0;
        }
        if (!in_domain)
            continue;
        evaluate(row, y, x);
        if (mpfr_inf_p(y) && mpfr_equal_p(y, mid))
            continue;
        mpfr_t noise;
        mpfr_init2(noise, BITS);
        mpfr_abs(noise, y, MPFR_RNDN);
        mpfr_mul_2si(noise, noise, -300, MPFR_RNDN);
        mpfr_sub(y, y, mid, MPFR_RNDN);
        mpfr_abs(y, y, MPFR_RNDN);
        mpfr_sub(y, y, noise, MPFR_RNDN);
        double error = mpfr_get_d(y, MPFR_RNDU);
        mpfr_clear(noise);
        most = fmax(most, isnan(error) ? INFINITY : error);
    }
    mpfr_clears(x[0], x[1], x[2], mid, y, (mpfr_ptr)0);
    return most;
}

Test(radius, holds_at_every_point_of_random_discs_and_is_reached)
{
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const char *name = hc_functions[rows[row].f].name;
        double best = 0;
        for (int i = 0; i < DISCS; i++) {
            bool small = i % 3 == 0;
            double value;
            struct hc_disc d[3] = {draw(small, i), draw(small, i / 2), draw(small, i / 3)};
            if (rows[row].f >= HC_FN_less && i % 2)
                d[1].mid =
                    d[0].mid + (d[0].rad + d[1].rad) * (hc_draw_uniform() < 0.5 ? 1.01 : 0.99);
            if (rows[row].f == HC_FN_or)
                d[1] = (struct hc_disc){0, 0};
            if (d[0].mid <= rows[row].from)
                d[0].mid = -d[0].mid;
            double error = largest_error(row, d, &value);
            double bound = hc_radius_apply(rows[row].f, d, value);
            cr_assert(error <= bound, "%s of {%a, %a} {%a, %a} {%a, %a}: error %g, bound %g", name,
                      d[0].mid, d[0].rad, d[1].mid, d[1].rad, d[2].mid, d[2].rad, error, bound);
            double reached = bound > 0x1p-100 && isfinite(bound) ? error / bound : 0;
            best = fmax(best, reached);
            cr_assert(!small || rows[row].once || !(bound > 0x1p-100) || isinf(bound) ||
                          reached >= rows[row].reached,
                      "%s of {%a, %a} {%a, %a}: error %g, bound %g", name, d[0].mid, d[0].rad,
                      d[1].mid, d[1].rad, error, bound);
        }
        cr_assert(best >= rows[row].reached, "%s: %g of the bound", name, best);
    }
}

/* x^n for whole n, of which x may be below 0, or 0. */
static double error_of_power(const struct hc_disc *d, long n, double *value)
{
    static const double parts[] = {-1, -0.7, 0.3, 1};
    mpfr_t x, y, mid;
    double most = 0;
    mpfr_inits2(BITS, x, y, mid, (mpfr_ptr)0);
    mpfr_set_d(x, d->mid, MPFR_RNDN);
    mpfr_pow_si(mid, x, n, MPFR_RNDN);
    *value = mpfr_get_d(mid, MPFR_RNDN);
    for (int i = 0; i < 4; i++) {
        mpfr_set_d(x, d->rad, MPFR_RNDN);
        mpfr_mul_d(x, x, parts[i], MPFR_RNDN);
        mpfr_add_d(x, x, d->mid, MPFR_RNDZ);
        mpfr_pow_si(y, x, n, MPFR_RNDN);
        if (mpfr_equal_p(y, mid))
            continue;
        mpfr_sub(y, y, mid, MPFR_RNDN);
        double error = fabs(mpfr_get_d(y, MPFR_RNDZ));
        most = fmax(most, isnan(error) ? INFINITY : error);
    }
    mpfr_clears(x, y, mid, (mpfr_ptr)0);
    return most;
}

Test(radius, of_whole_powers_holds_on_both_sides_of_0_and_is_reached)
{
    for (int i = 0; i < 20000; i++) {
        double value;
        bool small = i % 3 == 0;
        struct hc_disc d[2] = {draw(small, i), {hc_draw_between(-9, 40), 0}};
        if (i % 11 == 0)
            d[0].mid = 0;
        double error = error_of_power(d, (long)d[1].mid, &value);
        double bound = hc_radius_apply(HC_FN_power, d, value);
        cr_assert(error <= bound, "{%a, %a} ^ %g: error %g, bound %g", d[0].mid, d[0].rad, d[1].mid,
                  error, bound);
        if (small && d[0].mid != 0 && d[0].rad > 0 && d[1].mid != 0 && bound > 0x1p-100 &&
            isfinite(bound))
            cr_assert(error >= 0.99 * bound, "{%a, %a} ^ %g: error %g, bound %g", d[0].mid,
                      d[0].rad, d[1].mid, error, bound);
    }
}

/* The error bound beside the rules of functions: roundings, infinities and NaN, and counts. */

Test(radius_corners, rounding_errors_lie_within_the_bound_and_reach_it)
{
    static const enum hc_format formats[] = {
        HC_FP64,     HC_FP32,     HC_TF32, HC_BF16, HC_FP16, HC_E4M3, HC_E5M2,
        HC_E4M3FNUZ, HC_E5M2FNUZ, HC_E2M3, HC_E3M2, HC_E2M1, HC_E8M0, HC_UE4M3,
    };
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int direction = 0; direction < HC_DIRECTION_COUNT; direction++) {
            enum hc_format format = formats[f];
            const struct hc_format_info *info = &hc_formats[format];
            bool directed = direction != HC_NEAREST;
            double best = 0;
            for (int i = 0; i < 20000; i++) {
                double hi = ldexp(i % 5 ? 1 + hc_draw_uniform()
                                        : 1 + (i % 3 - 1) * info->precision * 0x1p-9,
                                  hc_draw_between(info->emin - info->precision - 1, info->emax));
                double ulp = ldexp(0x1p-52, ilogb(hi));
                double lo = format == HC_FP64 ? (hc_draw_uniform() - 0.5) * ulp : 0;
                double r = hc_decode(format, hc_encode(format, hi, lo, direction));
                bool exact = r == hi && lo == 0;
                double bound = hc_radius_rounding_in(format, hi, r, directed, exact);
                double error = fabs((r - hi) - lo);
                cr_assert(isfinite(r) || isinf(bound));
                cr_assert(isinf(bound) || error <= bound, "%s %d: %a + %a -> %a, bound %a",
                          info->name, direction, hi, lo, r, bound);
                best = isinf(bound) || exact ? best : fmax(best, error / bound);
            }
            cr_assert(best > (format == HC_FP64 || format == HC_E8M0 ? 0.4 : 0.9), "%s %d: %g",
                      info->name, direction, best);
        }
    cr_assert_eq(hc_radius_rounding_in(HC_E4M3, 463, 448, false, false), 16);
    cr_assert_eq(hc_radius_rounding_in(HC_E4M3, 600, 448, true, false), INFINITY);
    cr_assert_eq(hc_radius_rounding_in(HC_E4M3FNUZ, 250, 240, true, false), INFINITY);
    cr_assert_eq(hc_radius_rounding_in(HC_E2M1, 7, 6, false, false), 1);
    cr_assert_eq(hc_radius_rounding_in(HC_E2M1, 8, 6, false, false), INFINITY);
    cr_assert_eq(hc_radius_rounding_in(HC_E2M1, INFINITY, 6, false, false), INFINITY);
    cr_assert_eq(hc_radius_rounding_in(HC_E2M1, NAN, 6, false, false), INFINITY);
    cr_assert_eq(hc_radius_rounding_in(HC_UE4M3, -1, 1, false, false), INFINITY);
    cr_assert_eq(hc_radius_rounding_in(HC_E8M0, 0, 0x1p-127, false, false), INFINITY);
    cr_assert_eq(hc_radius_rounding(INFINITY, 0x1p-11, 0x1p-24, false, true), 0);
    cr_assert_eq(hc_radius_rounding(NAN, 0x1p-11, 0x1p-24, false, true), 0);
    cr_assert_eq(hc_radius_rounding(65504, 0x1p-11, 0x1p-24, true, false), INFINITY);
    cr_assert_eq(hc_radius_rounding(65504, 0x1p-11, 0x1p-24, false, false), 16);
    cr_assert_gt(hc_radius_rounding(0, 0x1p-256, 0, false, false), 0);
}

Test(radius_corners, infinities_and_nan_are_what_they_are_or_nothing_is_known)
{
    const double inf = INFINITY;
    const double any = 5e-324; /* above 0 and as good as it */
    const struct {
        enum hc_function f;
        struct hc_disc d[3];
        double value;
        double bound;
    } corners[] = {
        {HC_FN_sub, {{inf, 0}, {inf, 0}}, NAN, 0},
        {HC_FN_mul, {{0, 0}, {inf, 0}}, NAN, 0},
        {HC_FN_add, {{inf, 0}, {1, 0.5}}, inf, 0},
        {HC_FN_add, {{inf, 0.5}, {1, 0}}, inf, inf},
        {HC_FN_add, {{NAN, 0}, {1, inf}}, NAN, 0},
        {HC_FN_mul, {{inf, 0}, {1, 0.5}}, inf, 0},
        {HC_FN_mul, {{inf, 0}, {1, 1}}, inf, inf},
        {HC_FN_mul, {{0, 0}, {1, inf}}, 0, inf},
        {HC_FN_mul, {{0, 0}, {3, 1}}, 0, 0},
        {HC_FN_div, {{1, 0.5}, {0, 0}}, inf, 0},
        {HC_FN_div, {{1, 1}, {0, 0}}, inf, inf},
        {HC_FN_div, {{1, 0.5}, {inf, 0}}, 0, 0},
        {HC_FN_div, {{1, 0}, {1, 1}}, 1, inf},
        {HC_FN_div, {{1, 0}, {0, any}}, inf, inf},
        {HC_FN_log, {{0, 0}}, -inf, 0},
        {HC_FN_log, {{0, any}}, -inf, inf},
        {HC_FN_log, {{1, 1}}, 0, inf},
        {HC_FN_sqrt, {{-1, 0.5}}, NAN, inf},
        {HC_FN_rsqrt, {{0, any}}, inf, inf},
        {HC_FN_rsqrt, {{1, 1}}, 1, inf},
        {HC_FN_sigmoid, {{1, inf}}, 0.7, inf},
        {HC_FN_sigmoid, {{0, 100}}, 0.5, 1},
        {HC_FN_power, {{inf, 0}, {2, 1}}, inf, 0},
        {HC_FN_power, {{-inf, 0}, {2, 1}}, inf, inf},
        {HC_FN_power, {{2, 1}, {inf, 0}}, inf, inf},
        {HC_FN_power, {{-1, 0.5}, {2, any}}, 1, inf},
        {HC_FN_power, {{0, 1}, {-1, 0}}, inf, inf},
        {HC_FN_power, {{5, 1}, {0, 0}}, 1, 0},
        {HC_FN_power, {{0, 1e-200}, {2, 0}}, 0, any},
        {HC_FN_power, {{1e-200, 1e-200}, {2, 0}}, 0, any},
        {HC_FN_power, {{NAN, 0}, {0, any}}, 1, inf},
        {HC_FN_power, {{NAN, 0}, {1, any}}, NAN, 0},
        {HC_FN_and, {{1, 0.5}, {0, 0}}, 0, 0},
        {HC_FN_or, {{1, 1}, {2, 0}}, 1, 1},
        {HC_FN_not, {{1, inf}}, 0, 1},
        {HC_FN_exp, {{800, 0.5}}, inf, inf},
        {HC_FN_cos, {{1, inf}}, 0.5, inf},
        {HC_FN_cos, {{1, 100}}, 0.5, 2},
        {HC_FN_min, {{inf, 0}, {1, 0.5}}, 1, 0.5},
        {HC_FN_less, {{inf, 0}, {1, 0.5}}, 0, 0},
        {HC_FN_less, {{NAN, 0}, {1, inf}}, 0, 0},
        {HC_FN_less, {{1, 0}, {1, inf}}, 0, 1},
        {HC_FN_equal, {{1, 0}, {1, 0}}, 1, 0},
        {HC_FN_equal, {{1, any}, {1, 0}}, 1, 1},
        {HC_FN_isnan, {{NAN, 0}}, 1, 0},
        {HC_FN_isnan, {{NAN, 1}}, 1, 1},
        {HC_FN_isinf, {{inf, 1}}, 1, 1},
        {HC_FN_isinf, {{1, 100}}, 0, 0},
        {HC_FN_isfinite, {{1, inf}}, 1, 1},
        {HC_FN_select, {{1, 0}, {7, 0.5}, {1, inf}}, 7, 0.5},
        {HC_FN_select, {{0, 0}, {7, inf}, {1, 0.25}}, 1, 0.25},
        {HC_FN_select, {{3, 1}, {7, 0.5}, {1, inf}}, 7, 0.5},
        {HC_FN_select, {{1, 1}, {inf, 0}, {inf, 0}}, inf, 0},
        {HC_FN_select, {{1, 1}, {inf, 0}, {NAN, 0}}, inf, inf},
        {HC_FN_select, {{inf, inf}, {inf, 0}, {NAN, 0}}, inf, inf},
    };
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) {
        double bound = hc_radius_apply(corners[i].f, corners[i].d, corners[i].value);
        cr_assert_eq(bound, corners[i].bound, "row %zu, %s: %g, want %g", i,
                     hc_functions[corners[i].f].name, bound, corners[i].bound);
    }
}

static int different(const double *x, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool is_new = true;
        for (int j = 0; j < i; j++)
            is_new = is_new && x[j] != x[i];
        count += is_new;
    }
    return count;
}

/* Small integers, so that numbers often coincide: every difference that is seen is allowed, and
   the bound is reached in some list. */
Test(radius_corners, counts_of_lists_differ_by_at_most_the_bound)
{
    enum { N = 5 };
    int reached = 0;
    for (int t = 0; t < 20000; t++) {
        struct hc_disc d[N];
        double mid[N];
        double most_different = 0;
        double most_counted = 0;
        for (int i = 0; i < N; i++)
            d[i] = (struct hc_disc){mid[i] = hc_draw_between(-4, 12),
                                    hc_draw_uniform() < 0.6 ? 0 : hc_draw_between(1, 2)};
        double bound = hc_radius_list(HC_FN_distinct, d, N);
        double doubtful = hc_radius_list(HC_FN_count, d, N);
        for (int s = 0; s < 40; s++) {
            double x[N];
            int counted = 0;
            for (int i = 0; i < N; i++) {
                x[i] = mid[i] + hc_draw_between(-(int)d[i].rad, (int)d[i].rad);
                counted += (x[i] != 0) - (mid[i] != 0);
            }
            most_different = fmax(most_different, abs(different(x, N) - different(mid, N)));
            most_counted = fmax(most_counted, abs(counted));
        }
        cr_assert(most_different <= bound && most_counted <= doubtful);
        reached += bound > 0 && most_different == bound;
    }
    cr_assert_gt(reached, 500, "%d", reached);
    const struct hc_disc list[] = {{1, 0.5}, {1, INFINITY}, {NAN, 0}, {0, 0}};
    cr_assert_eq(hc_radius_list(HC_FN_distinct, list, 4), 3);
    cr_assert_eq(hc_radius_list(HC_FN_distinct, list, 1), 0);
    const struct hc_disc chain[] = {{5, 5}, {1.5, 0.5}, {3.5, 0.5}};
    cr_assert_eq(hc_radius_list(HC_FN_distinct, chain, 3), 1);
    cr_assert_eq(hc_radius_list(HC_FN_count, list, 4), 1);
    cr_assert_eq(hc_radius_list(HC_FN_max, list, 4), INFINITY);
    cr_assert_eq(hc_radius_list(HC_FN_min, list, 1), 0.5);
    cr_assert_eq(hc_radius_list(HC_FN_len, list, 4), 0);
}
