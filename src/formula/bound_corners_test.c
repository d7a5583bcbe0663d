/* The running bound where a formula leaves the ordinary: results without an error, infinities, what
   is no number, conditions that a rounding decides, and constants with more bits than the real
   numbers have. Each is a place where a bound could be 0 wrongly. */
#include "formula/testing.h"

Test(bound_corners, is_zero_where_everything_is_exact)
{
    static const char *const texts[] = {"floor(x * 4) / 4",  "sum(100, i * 0.5)",
                                        "tree(2000, 3)",     "select(x * 3 > 6, 1, 2)",
                                        "2^-10 * x",         "distinct(x * 2 + i - i)",
                                        "max(x, 3 * x) - 1", "fma(x, x, -x)",
                                        "x - nan * 0",       "-x / 0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct trial t = begin("fp32", "x = 2.25");
        char text[80];
        (void)snprintf(text, sizeof text,
                       strncmp(texts[i], "distinct", 8) ? "%s" : "distinct(4, x * 2 + i - i)",
                       texts[i]);
        const struct hc_value *v = value_of(&t, text);
        cr_assert(v->rad[0] == 0 && v->real_rad[0] == 0, "%s: %g, %g", text, v->rad[0],
                  v->real_rad[0]);
        finish(&t);
    }
}

/* 1 - 1.001 is 0 in bf16, whose root is 0; the real difference has none. */
Test(bound_corners, is_infinite_where_the_real_number_is_of_another_kind)
{
    struct trial t = begin("bf16", "x = 1; y = x - 1.001");
    cr_assert_eq(want_of(&t, "y"), 0);
    cr_assert(isfinite(value_of(&t, "y")->rad[0]));
    cr_assert_eq(want_of(&t, "sqrt(y)"), 0);
    cr_assert_eq(value_of(&t, "sqrt(y)")->rad[0], INFINITY);
    cr_assert_eq(value_of(&t, "1 / y")->rad[0], INFINITY);
    cr_assert_eq(value_of(&t, "log(y)")->rad[0], INFINITY);
    cr_assert_eq(value_of(&t, "fp16(x * 1e5)")->rad[0], INFINITY);
    finish(&t);
}

/* w + 4e-4 is 1 in fp16, so that d is below 0, and the real d is above it. */
Test(bound_corners, is_infinite_where_an_infinity_has_the_other_sign)
{
    struct trial t = begin("fp16", "w = 1; d = (w + 4e-4) - 1 - 1e-4");
    cr_assert_eq(want_of(&t, "1 / (0 * d)"), -INFINITY);
    cr_assert_eq(hc_real_double(value_of(&t, "1 / (0 * d)")->real[0]), INFINITY);
    cr_assert_eq(value_of(&t, "1 / (0 * d)")->rad[0], INFINITY);
    finish(&t);
}

/* x * x is infinite in fp16, and so is c, but the real c is 0. */
Test(bound_corners, covers_both_branches_where_the_condition_is_lost)
{
    struct trial t = begin("fp16", "x = 256; c = x * x - 60000 - 5536");
    cr_assert_eq(want_of(&t, "select(c, 1, 5)"), 1);
    cr_assert_geq(value_of(&t, "select(c, 1, 5)")->rad[0], 4);
    finish(&t);
}

/* 1e-400 is not 0, though fp64 has no number for it. */
Test(bound_corners, select_takes_a_tiny_real_condition_for_true)
{
    struct trial t = begin("fp64", "c := select(1e-400, 1, 2); w = 1e-300; z = w * w");
    cr_assert_eq(want_of(&t, "c"), 1);
    cr_assert_eq(want_of(&t, "select(z, 1, 2)"), 2);
    cr_assert_eq(hc_real_double(value_of(&t, "select(z, 1, 2)")->real[0]), 1);
    finish(&t);
}

/* The root of 2 has more bits than the real numbers here, so that s * s - 2 may be 0. */
Test(bound_corners, a_count_of_uncertain_real_numbers_is_uncertain)
{
    struct trial t = begin("fp64", "s = sqrt(2)");
    cr_assert_geq(value_of(&t, "count(3, s * s - 2)")->real_rad[0], 3);
    cr_assert_eq(value_of(&t, "count(3, s)")->real_rad[0], 0);
    finish(&t);
}

/* 256 bits lose the 1e-100, and the bound of what is rounded from such a constant knows. */
Test(bound_corners, of_a_rounded_constant_covers_the_constants_own_error)
{
    struct trial t = begin("fp64", "w = (1 + 1e-100) - 1");
    cr_assert_eq(want_of(&t, "w"), 0);
    cr_assert_geq(value_of(&t, "w")->rad[0], 1e-100);
    finish(&t);
}
