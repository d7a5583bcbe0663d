/* The arms of a bug, judged; and the command, whose sums are those of its rows. */
#include "cli/testing.h"

#include <jansson.h>
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

/* Counts the words of the rows that the command printed. */
struct counted {
    int missed;
    int alarms;
    int apart;
    int bugs;
    int right;
    int not_applied;
};

static bool is(const json_t *verdict, const char *arm, const char *judgement)
{
    return strcmp(json_string_value(json_object_get(verdict, arm)), judgement) == 0;
}

static struct counted count(json_t *rows, const char *rule)
{
    struct counted c = {0};
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        json_t *verdict = json_object_get(json_object_get(row, "rules"), rule);
        bool control = json_is_true(json_object_get(row, "negative_control"));
        const char *word = json_string_value(json_object_get(verdict, "word"));
        if (strcmp(word, "-") == 0) {
            c.not_applied++;
            cr_expect(is(verdict, "buggy", "not applied") && is(verdict, "fixed", "not applied"));
            continue;
        }
        c.bugs += !control;
        c.right += 1 + control;
        c.missed += strcmp(word, "missed") == 0 || strcmp(word, "both") == 0;
        c.apart += strcmp(word, "caught") == 0;
        c.alarms += is(verdict, "fixed", "refused");
        c.alarms += control && is(verdict, "buggy", "refused");
    }
    return c;
}

static int number(const json_t *rule, const char *key)
{
    return (int)json_integer_value(json_object_get(rule, key));
}

Test(command, the_sums_are_those_of_the_rows, .init = enter_folder)
{
    json_error_t error;
    cr_assert_eq(run_shell("$hc catches --json a.json")->status, 0);
    json_t *document = json_load_file("a.json", 0, &error);
    json_t *rows = json_object_get(document, "bugs");
    json_t *rules = json_object_get(document, "rules");
    cr_assert_eq(json_array_size(rules), HC_CATCH_RULES);
    cr_assert_gt(json_array_size(rows), 100);
    for (size_t r = 0; r < HC_CATCH_RULES; r++) {
        json_t *rule = json_array_get(rules, r);
        struct counted c = count(rows, json_string_value(json_object_get(rule, "name")));
        cr_expect_eq(number(rule, "bugs"), c.bugs);
        cr_expect_eq(number(rule, "missed"), c.missed);
        cr_expect_eq(number(rule, "right_arms"), c.right);
        cr_expect_eq(number(rule, "false_alarms"), c.alarms);
        cr_expect_eq(number(rule, "told_apart"), c.apart);
        cr_expect_eq(number(rule, "not_applied"), c.not_applied);
        cr_expect_eq(c.bugs - c.missed >= c.apart, true);
    }
    const json_t *own = json_array_get(rules, BOUND);
    cr_expect_eq(number(own, "missed"), 0);
    cr_expect_eq(number(own, "false_alarms"), 0);
    json_decref(document);
}

Test(command, it_fits_a_terminal_and_names_what_is_not_judged, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc catches");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    for (const char *at = ran->out; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL))
        cr_expect_leq(strcspn(at, "\n"), 79, "%.*s", (int)strcspn(at, "\n"), at);
    const char *words[] = {"torch.testing.assert_close", "what halfcheck itself misses",
                           "Reports that no case shows: ", "topk-ties-bf16"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect_not_null(strstr(ran->out, words[i]), "%s", words[i]);
}

Test(command, a_pattern_chooses_bugs, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc catches 'field/ties/*' --backend host");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "1 bug on host"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out,
                              "\ntopk-ties-bf16                         yes   yes  miss   yes   yes"
                              "   yes   yes\n"),
                       "%s", ran->out);
    cr_expect_null(strstr(ran->out, "Reports that no case shows"), "%s", ran->out);
}

Test(command, what_a_partial_backend_leaves_out_is_named, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc catches 'field/order-in-training/*' 'field/ties/*' "
                                      "--backend avx512fp16");
    if (ran->status == 2)
        return; /* this machine has no AVX512-FP16 */
    cr_expect_not_null(strstr(ran->out, "1 bug on avx512fp16"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "could not be run here: 3:"), "%s", ran->out);
}

Test(command, what_it_cannot_do_is_one_line, .init = enter_folder)
{
    expect_refusal("$hc catches 'eps/*'", "eps/*");
    expect_refusal("$hc catches --backend exact,host", "exact,host");
    expect_refusal("$hc catches --backend none", "none");
    expect_refusal("$hc catches --json none/a.json", "none/a.json");
}
