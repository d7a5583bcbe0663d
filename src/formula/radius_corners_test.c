/* The error bound beside the rules of functions: roundings, infinities and NaN, and counts. */
#include <criterion/criterion.h>
#include <math.h>

#include "formula/radius.h"
#include "formula/testing_draw.h"
#include "num/format.h"

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
