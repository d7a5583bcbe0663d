/* The arms of a bug, judged. */
#include <criterion/criterion.h>
#include <math.h>

#include "cli/catches/catches.h"

enum { TORCH, NUMPY, FLASH, RELATIVE, COSINE, PROBE, BOUND };

static const char *word_of(const struct hc_bug *bug, double buggy, double fixed, int rule)
{
    static struct hc_catch row;
    struct hc_exhibits shown = {0};
    hc_exhibits_add(&shown, "w", HC_FP32, buggy, fixed, 1, 0x1p-10);
    shown.exhibit[0].buggy_format = HC_FP16;
    cr_assert_eq(hc_catch_judge("a/bug", bug, &shown, &row), HC_OK);
    return hc_catch_word(&row, rule);
}

Test(catches, a_word_says_what_a_rule_makes_of_both_arms)
{
    struct hc_bug control = {.not_a_bug = true, .play = (hc_play *)1};
    cr_expect_str_eq(word_of(NULL, 2, 1, TORCH), "caught");
    cr_expect_str_eq(word_of(NULL, 1.0009765625, 1, TORCH), "missed");
    cr_expect_str_eq(word_of(NULL, 2, 1.0005, TORCH), "alarm");
    cr_expect_str_eq(word_of(NULL, 1.0009765625, 1.0005, TORCH), "both");
    cr_expect_str_eq(word_of(&control, 1, 1, TORCH), "right");
    cr_expect_str_eq(word_of(&control, 2, 1, TORCH), "alarm");
    cr_expect_str_eq(word_of(&control, 1, 2, TORCH), "alarm");
    cr_expect_str_eq(word_of(NULL, 2, 1, COSINE), "missed");
    cr_expect_str_eq(word_of(NULL, 2, 1, FLASH), "-");
    cr_expect_str_eq(word_of(NULL, 1.0009765625, 1.0005, BOUND), "missed");
    cr_expect_str_eq(word_of(NULL, 1.001953125, 1.0005, BOUND), "caught");
}

/* 2^17 overflows in the buggy arm, and is right in the other. */
Test(catches, an_overflow_is_not_what_is_expected_of_a_buggy_arm)
{
    struct hc_catch row;
    struct hc_exhibits shown = {0};
    hc_exhibits_add(&shown, "w", HC_FP32, (double)INFINITY, 0x1p17, 0x1p17, 0);
    shown.exhibit[0].buggy_format = HC_FP16;
    cr_assert_eq(hc_catch_judge("a/bug", NULL, &shown, &row), HC_OK);
    for (int r = 0; r < HC_CATCH_RULES; r++)
        cr_expect_str_eq(hc_catch_word(&row, r), r == FLASH ? "-" : "caught");
    struct hc_bug control = {.not_a_bug = true, .play = (hc_play *)1};
    cr_assert_eq(hc_catch_judge("a/bug", &control, &shown, &row), HC_OK);
    for (int r = 0; r < HC_CATCH_RULES; r++)
        cr_expect_str_eq(hc_catch_word(&row, r), r == FLASH ? "-" : "right");
}

static struct hc_catch judged(const char *name, const struct hc_bug *bug, double buggy)
{
    struct hc_catch row;
    struct hc_exhibits shown = {0};
    hc_exhibits_add(&shown, "x", HC_FP32, buggy, 1, 1, 0);
    cr_assert_eq(hc_catch_judge(name, bug, &shown, &row), HC_OK);
    return row;
}

Test(catches, a_buggy_arm_may_be_the_half_implementation)
{
    struct hc_bug bug = {.formula = "x = 1e5; x = x / x",
                         .show = "x",
                         .buggy = {.in = "fp16"},
                         .fixed = {.in = "fp32"}};
    struct hc_catch row = judged("a/bug", &bug, (double)NAN);
    cr_expect(row.has_half && row.half_is_nan && row.buggy_is_half);
    row = judged("a/bug", &bug, 2);
    cr_expect(row.has_half && row.half_is_nan && !row.buggy_is_half);
    bug.formula = "x = 2";
    row = judged("a/bug", &bug, 2);
    cr_expect(row.has_half && !row.half_is_nan && row.buggy_is_half);
    row = judged("a/bug", NULL, 2);
    cr_expect(!row.has_half && !row.half_is_nan && !row.buggy_is_half);
}

Test(catches, what_halfcheck_misses_comes_first)
{
    struct hc_catch rows[] = {judged("a", NULL, 2), judged("c", NULL, 1), judged("d", NULL, 2),
                              judged("b", NULL, 1)};
    static const char *const names[] = {"b", "c", "a", "d"};
    hc_catch_sort(rows, 4);
    for (int i = 0; i < 4; i++) {
        cr_expect_str_eq(rows[i].name, names[i]);
        cr_expect_eq(hc_catch_is_wrong(&rows[i]), i < 2);
    }
}

Test(catches, frozen_rows_are_counted_apart)
{
    const struct hc_bug frozen = {.frozen = "2026-11-27 0123abcd",
                                  .no_bound = "It is too wide.",
                                  .play = (hc_play *)1,
                                  .buggy = {.prints = "1, -", .is = "-, 2"}};
    struct hc_catch rows[] = {judged("a", NULL, 2), judged("b", &frozen, 1),
                              judged("c", &frozen, 2), judged("d", NULL, 1)};
    struct hc_catch_counts all = hc_catch_count(rows, 4, BOUND);
    struct hc_catch_counts some = hc_catch_count_frozen(rows, 4, BOUND);
    cr_expect_eq(all.bugs, 4);
    cr_expect_eq(all.missed, 2);
    cr_expect_eq(some.bugs, 2);
    cr_expect_eq(some.missed, 1);
    cr_expect_eq(some.right, 2);
    cr_expect(rows[1].frozen && rows[1].no_bound && !rows[0].frozen && !rows[0].no_bound);
    cr_expect_eq(rows[1].figures.printed, 1);
    cr_expect_eq(rows[1].figures.computed, 1);
}
