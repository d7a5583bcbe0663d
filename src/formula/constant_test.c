/* Constants that carry a radius: it is a number, and it bounds what it should. */
#include <criterion/criterion.h>
#include <math.h>

#include "formula/evaluate.h"

static double radius_of(const char *text, double want)
{
    struct hc_arm arm;
    struct hc_formula_error error;
    struct hc_evaluation_options options = {0};
    struct hc_program *program = hc_program_new();
    const struct hc_block *block = hc_program_parse(program, text, false, &error);
    cr_assert(block && hc_arm_read("fp64", &arm) == HC_OK);
    struct hc_evaluation *e = hc_evaluation_open(program, &arm, &options);
    cr_assert_eq(hc_evaluation_run(e, block, 0, &error), HC_EVALUATED);
    const struct hc_value *w = hc_evaluation_value(e, block->statement[block->count - 1].name);
    cr_assert_eq(w->want[0], want, "%s: %a", text, w->want[0]);
    double rad = fmax(w->rad[0], w->real_rad[0]);
    hc_evaluation_close(e);
    hc_program_free(program);
    return rad;
}

/* 1/3 - 1/3 is a 0 of which 256 bits do not know that it is one. */
Test(constant, a_power_of_an_uncertain_zero_has_a_radius)
{
    double rad = radius_of("c := (1/3 - 1/3)^2; w = c", 0);
    cr_assert(rad > 0 && rad < 0x1p-500, "%g", rad);
    cr_assert_eq(radius_of("c := (1/3 - 1/3)^-2; w = c", INFINITY), INFINITY);
    cr_assert_lt(radius_of("c := (1/3)^2; w = c", 0x1.c71c71c71c71cp-4), 0x1p-56);
}

/* Only the last element is uncertain, and it is far from the others. */
Test(constant, a_count_of_constants_that_coincide_is_certain)
{
    cr_assert_eq(radius_of("w = distinct([1, 1, 1/3])", 2), 0);
}
