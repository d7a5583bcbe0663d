#include <criterion/criterion.h>
#include <math.h>

#include "cli/catches/half.h"

static double half[HC_MAX_EXHIBITS];

static int half_of(const struct hc_bug *bug)
{
    int count;
    cr_assert_eq(hc_half_implementation(bug, half, &count), HC_OK, "%s", hc_message());
    return count;
}

Test(half, the_format_is_the_first_that_the_buggy_arm_names)
{
    static const struct {
        struct hc_bug bug;
        enum hc_format format;
    } rows[] = {
        {{.buggy.in = "fp16", .fixed.in = "bf16"}, HC_FP16},
        {{.buggy.in = "fp32/bf16", .fixed.in = "fp16"}, HC_BF16},
        {{.buggy.in = "fp32 acc=fp16 other=bf16"}, HC_FP16},
        {{.buggy.in = "fp32", .fixed.in = "fp32", .formula = "x = bfloat16(1)"}, HC_BF16},
        {{.buggy.in = "fp32", .buggy.each = "x = half(x)", .each = "x = bf16(x)"}, HC_FP16},
        {{.buggy.in = "fp32", .fixed.in = "bf16"}, HC_BF16},
        {{.buggy.in = "fp32", .fixed.in = "fp64", .formula = "half_life = 1"}, HC_FORMAT_COUNT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(hc_half_format(&rows[i].bug), rows[i].format, "%zu", i);
}

Test(half, every_operation_of_the_fixed_formula_is_rounded)
{
    struct hc_bug bug = {.formula = "s = sum(4096, 1)",
                         .show = "s",
                         .buggy = {.in = "fp16", .formula = "s = 7"},
                         .fixed = {.in = "fp32"}};
    cr_assert_eq(half_of(&bug), 1);
    cr_assert_eq(half[0], 2048);
    bug.buggy.in = "bf16";
    cr_assert_eq(half_of(&bug), 1);
    cr_assert_eq(half[0], 256);
}

/* 300 squared is 90000, which half has not; fp32 has. */
Test(half, casts_that_widen_do_not)
{
    struct hc_bug bug = {.formula = "x = 300; y = fp32(x) * fp32(x); z = acc(x) * acc(x); "
                                    "b = bf16(257) + x",
                         .show = "y, z, b",
                         .buggy = {.in = "fp16 acc=fp16"},
                         .fixed = {.in = "fp16 acc=fp32"}};
    cr_assert_eq(half_of(&bug), 3);
    cr_assert_eq(half[0], (double)INFINITY);
    cr_assert_eq(half[1], (double)INFINITY);
    cr_assert_eq(half[2], 557);
}

static void nothing(struct hc_check *check, struct hc_exhibits *shown)
{
    (void)check;
    (void)shown;
}

Test(half, there_is_none_of_a_play_or_without_a_16_bit_format)
{
    cr_assert_eq(half_of(&(struct hc_bug){.play = nothing, .buggy.in = "fp16"}), 0);
    cr_assert_eq(
        half_of(&(struct hc_bug){
            .formula = "x = 1", .show = "x", .buggy = {.in = "fp32"}, .fixed = {.in = "fp64"}}),
        0);
}

Test(half, a_formula_that_is_wrong_is_refused)
{
    int count;
    struct hc_bug bug = {.formula = "x = ", .show = "x", .buggy.in = "fp16", .fixed.in = "fp32"};
    cr_assert_eq(hc_half_implementation(&bug, half, &count), HC_INVALID);
    cr_assert_eq(count, 0);
}
