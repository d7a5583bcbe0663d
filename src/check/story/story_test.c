/* Stories of claims that are known: what is printed, and how much is kept. */
#include <criterion/criterion.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/story/row.h"
#include "check/story/story.h"

static char *told;
static size_t told_size;

static void tell_all(struct hc_story *story)
{
    free(told);
    FILE *out = open_memstream(&told, &told_size);
    hc_story_print(story, out);
    (void)fclose(out);
    hc_story_free(story);
}

static void claim(struct hc_story *story, enum hc_claimed_kind kind, const char *what, double want,
                  double got, double bound)
{
    double error = want == got || (isnan(want) && isnan(got)) ? 0 : fabs(want - got);
    hc_story_claim(
        story,
        &(struct hc_claimed){
            .kind = kind, .what = what, .want = want, .got = got, .error = error, .bound = bound});
}

static void claim_step(struct hc_story *story, int step, double got, double bound)
{
    char what[64];
    (void)snprintf(what, sizeof what, "w after step %d", step);
    claim(story, HC_CLAIMED_WITHIN, what, step, got, bound);
}

static void say(struct hc_story *story, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hc_story_say(story, format, arguments);
    va_end(arguments);
}

/* How many lines were told; none may be longer than 79 columns. */
static int lines(void)
{
    int n = 0;
    for (const char *at = told; *at; n++) {
        size_t length = strcspn(at, "\n");
        cr_expect_leq(length, 79, "%.*s", (int)length, at);
        at += length + 1;
    }
    return n;
}

static void expect(const char *text)
{
    cr_expect_not_null(strstr(told, text), "no '%s' in\n%s", text, told);
}

Test(story, sixteen_names_are_sixteen_rows)
{
    struct hc_story *story = hc_story_new(false);
    for (int step = 1; step <= 16; step++)
        claim_step(story, step, step, 1);
    tell_all(story);
    cr_assert_eq(lines(), 17, "%s", told); /* and the header */
    expect("  w after step 16  16    16   equal\n");
}

Test(story, names_that_differ_in_numbers_alone_share_a_row_where_there_are_more)
{
    struct hc_story *story = hc_story_new(false);
    for (int step = 1; step <= 20; step++) {
        claim_step(story, step, step == 7 ? 7.25 : step, 0.5);
        claim(story, HC_CLAIMED_VALUE, "bf16 is not fp16", 1, 1, 0);
    }
    tell_all(story);
    cr_assert_eq(lines(), 3, "%s", told);
    expect("     20  w after step 1..20  1 to 20    0.5 at 7\n");
    expect("     20  bf16 is not fp16    1     1    equal\n");
}

Test(story, claims_of_one_name_are_counted_with_the_one_nearest_to_its_bound)
{
    struct hc_story *story = hc_story_new(false);
    claim(story, HC_CLAIMED_WITHIN, "y", 1, 1.5, 1);
    claim(story, HC_CLAIMED_WITHIN, "y", 2, 2.75, 1);
    claim(story, HC_CLAIMED_WITHIN, "y", 3, 3, 1);
    tell_all(story);
    expect("      3  y      1 to 3  1.5 to 3  0.75 in no. 2\n");
}

Test(story, a_failure_within_a_row_stands_first_with_what_was_wanted_and_what_came)
{
    struct hc_story *story = hc_story_new(false);
    for (int step = 1; step <= 1000; step++)
        claim_step(story, step, step == 500 ? 0 : step, 0.5);
    tell_all(story);
    static const char first[] =
        "  FAILED  w after step 500: want 500, got 0, error 500, bound 0.5\n";
    cr_expect_eq(strncmp(told, first, strlen(first)), 0, "%s", told);
    expect("w after step 1..1000");
    expect("1 FAILED\n");
}

Test(story, many_failures_are_counted)
{
    struct hc_story *story = hc_story_new(false);
    for (int step = 1; step <= 1000; step++)
        claim_step(story, step, 0, 0.5);
    tell_all(story);
    expect("FAILED  w after step 6:");
    expect("and 994 more claims FAILED; --all shows them");
    expect("1000 FAILED\n");
    cr_expect_leq(lines(), 10);
}

Test(story, an_infinity_that_was_wanted_has_no_error_of_0)
{
    for (int all = 0; all < 2; all++) {
        struct hc_story *story = hc_story_new(all == 1);
        claim(story, HC_CLAIMED_WITHIN, "inf", (double)INFINITY, (double)INFINITY, 0.5);
        claim(story, HC_CLAIMED_VALUE, "nan", (double)NAN, (double)NAN, 0);
        claim(story, HC_CLAIMED_VALUE, "many", (double)INFINITY, (double)INFINITY, 0);
        claim(story, HC_CLAIMED_VALUE, "many", (double)NAN, (double)NAN, 0);
        tell_all(story);
        cr_expect_null(strstr(told, "error 0"), "%s", told);
        cr_expect_null(strstr(told, "equal"), "%s", told);
    }
    expect("inf                              want inf, got inf\n");
}

Test(story, sentences_are_answered_with_yes_and_no)
{
    static const char *const what = "the last of five hundred words is longer than the first of "
                                    "them, and so is the one before it, by two letters";
    struct hc_story *story = hc_story_new(false);
    claim(story, HC_CLAIMED_TRUE, "it holds", 0, 0, 0);
    claim(story, HC_CLAIMED_TRUE, "it does not", 1, 0, 0);
    claim(story, HC_CLAIMED_TRUE, what, 0, 0, 0);
    tell_all(story);
    cr_assert_eq(lines(), 6, "%s", told);
    expect("  FAILED  not so: it does not\n");
    expect("  yes\n");
    expect("  NO\n");
    expect("by two letters\n");
}

Test(story, any_number_of_names_fits_on_a_screen)
{
    struct hc_story *story = hc_story_new(false);
    for (int i = 0; i < 400; i++) {
        char what[] = "the claim of letters aa is long";
        what[21] = (char)('a' + i / 20);
        what[22] = (char)('a' + i % 20);
        claim(story, HC_CLAIMED_WITHIN, what, -1.23456789e-300 * i, 0, 1);
    }
    tell_all(story);
    cr_expect_leq(lines(), 42, "%s", told);
    expect("further claims (--all shows them)");
}

Test(story, comparisons_are_counted_as_what_they_are)
{
    struct hc_story *story = hc_story_new(false);
    struct hc_claimed sweep = {.kind = HC_CLAIMED_SWEEP, .what = "codes", .checked = 65536};
    struct hc_claimed sample = {.kind = HC_CLAIMED_SAMPLE,
                                .what = "sum",
                                .of = 128,
                                .want = 1,
                                .got = 1.5,
                                .error = 0.5,
                                .bound = 2,
                                .checked = 31,
                                .index = 17};
    hc_story_claim(story, &sweep);
    hc_story_claim(story, &sweep);
    hc_story_claim(story, &sample);
    tell_all(story);
    expect("  131072  codes                   none differs\n");
    expect("      31  sum, of 128  1     1.5  0.25 at [17]\n");
}

Test(story, a_million_claims_take_no_more_memory_than_some)
{
    struct hc_story *story = hc_story_new(false);
    for (int i = 0; i < 100; i++)
        claim_step(story, i, i, 1);
    size_t before = mallinfo2().uordblks;
    for (int i = 100; i < 1000000; i++)
        claim_step(story, i, i % 2, 1);
    cr_expect_eq(mallinfo2().uordblks, before);
    tell_all(story);
    cr_expect_leq(lines(), 10);
}

Test(story, a_story_of_everything_has_each_claim_in_its_place)
{
    struct hc_story *story = hc_story_new(true);
    for (int step = 1; step <= 100; step++) {
        say(story, "step %d", step);
        claim_step(story, step, step + 0.25, 0.5);
    }
    tell_all(story);
    cr_expect_eq(lines(), 200);
    expect(
        "  step 7\n  w after step 7                   want 7, got 7.25, error 0.25, bound 0.5\n");
}

Test(story, a_case_that_says_too_much_loses_its_middle)
{
    struct hc_story *story = hc_story_new(false);
    for (int line = 1; line <= 100; line++)
        say(story, "line %d", line);
    tell_all(story);
    cr_expect_eq(lines(), 21);
    expect("  line 14\n  ... 80 lines; --all shows them\n  line 95\n");
}

Test(name, numbers_stand_by_themselves)
{
    static const struct {
        const char *what;
        int numbers;
        double last;
    } rows[] = {{"w after step 5", 1, 5},
                {"fp16, beta1, e4m3", 0, 0},
                {"v[3] at 2^-24", 2, 0x1p-24},
                {"eps 1e-4", 1, 1e-4},
                {"deepspeed-0.17.1", 0, 0},
                {"16x16 and the 3rd", 0, 0},
                {"-0.5", 1, 0.5},
                {"1 2 3 4 5", 4, 4},
                {"1e", 0, 0},
                {"", 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_story_name name;
        char text[HC_NAME_LENGTH];
        hc_story_name_read(&name, rows[i].what);
        cr_expect_eq(name.count, rows[i].numbers, "%s", rows[i].what);
        if (name.count)
            cr_expect_eq(name.number[name.count - 1].value, rows[i].last, "%s", rows[i].what);
        hc_story_name_write(text, sizeof text, &name, name.number, name.number);
        cr_expect_str_eq(text, rows[i].what);
    }
}
