/* The page docs/who-catches-what.md. */
#include <stdlib.h>

#include "cli/catches/inquiry.h"
#include "op/memory_stream.h"
#include "op/wrap.h"

static void print_text(FILE *out, const char *bullet, int indent, const char *text)
{
    hc_print_wrapped(out, fprintf(out, "%s", bullet), indent, text);
}

static void print_head(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("# Who catches what\n\n", out);
    print_text(
        out, "", 0,
        "A test has to say when a computed number is near enough to the expected one. There "
        "are a few rules for that, which people copy from each other. Here each of them is "
        "shown bugs that people reported in fp16 and bf16 training (`field/*`, "
        "[Cases](cases.md)): the buggy arm, which it should refuse, and the fixed arm, which "
        "it should accept.");
    (void)fputs("\nThis page is what `halfcheck catches --markdown` prints. This example holds it "
                "to that, and\nwould print what differs:\n\n"
                "```console\n$ ./hc catches --markdown | diff - docs/who-catches-what.md\n```\n\n",
                out);
    (void)fprintf(out,
                  "`halfcheck catches` prints the same for a terminal, `--json FILE` for "
                  "programs.\nThe arms below were evaluated on the backend `%s`.\n",
                  inquiry->backend);
}

static void print_summary(FILE *out, const struct hc_inquiry *inquiry)
{
    int halves = 0;
    int nans = 0;
    int single = 0;
    for (int i = 0; i < inquiry->count; i++) {
        halves += inquiry->row[i].buggy_is_half;
        nans += inquiry->row[i].half_is_nan;
        single += inquiry->row[i].shown == 1;
    }
    (void)fputs("\n## In numbers\n\n"
                "| rule | misses: buggy arms accepted | false alarms: right arms refused | bugs of "
                "which it tells both arms apart | not applied |\n|---|---|---|---|---|\n",
                out);
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
        (void)fprintf(out, "| %s | %d of %d | %d of %d | %d | %d |\n", hc_rules[r].what, c.missed,
                      c.bugs, c.alarms, c.right, c.apart, c.not_applied);
    }
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "FlashAttention's rule compares an implementation with a plain one in half, and many of "
        "these bugs are a plain implementation in half: in %d bugs the buggy arm shows the very "
        "numbers of the half implementation. The rule then accepts the bug unless it is NaN. In %d "
        "the half implementation is NaN; then it refuses the repair, too. That is no fault of the "
        "rule. It asks whether a kernel adds to the error of its format, and these bugs are the "
        "error of the format.",
        halves, nans);
    (void)fputc('\n', out);
    print_text(out, "", 0, text);
    (void)snprintf(text, sizeof text,
                   "%d bugs show one number alone. The cosine of one number is its sign, so that "
                   "there the cosine sees a wrong sign, a zero, an infinity and a NaN, and nothing "
                   "else.",
                   single);
    (void)fputc('\n', out);
    print_text(out, "", 0, text);
}

static void print_own(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("\n## What halfcheck itself misses\n\n", out);
    for (int item = 0;; item++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = hc_memory_stream(&text, &size);
        bool more = memory && hc_inquiry_own(memory, inquiry, item);
        if (memory && fclose(memory) == 0 && more && size)
            print_text(out, "- ", 2, text);
        free(text);
        if (!more)
            return;
    }
}

static void print_rules(FILE *out)
{
    (void)fputs("\n## How each rule is applied\n\n", out);
    print_text(out, "", 0,
               "The choices are the same for all bugs. Where a source leaves one open, it is the "
               "one that lets the rule look better.");
    static const char *const choices[] = {
        "Expected is the real number of the fixed arm's formula, rounded to the format of the "
        "value that is judged, as `expected.to(out.dtype)` does. Where that makes it 0, inf or NaN "
        "the buggy arm is held to the real number itself, or an overflow would be equal to what is "
        "expected; an arm that is right is not.",
        "A bug shows up to 12 values. A rule that compares number by number refuses an arm if it "
        "refuses any of them; the cosine takes all of them as a vector.",
        "NaN is near nothing, and an infinity is near itself alone: those are the defaults of "
        "torch and numpy.",
        "The rules are computed in fp64.",
        "In a negative control (a report that is no bug) both arms are right: to refuse either is "
        "a false alarm."};
    (void)fputc('\n', out);
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        print_text(out, "- ", 2, choices[i]);
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        (void)fprintf(out, "\n### %s: %s\n\n", hc_rules[r].name, hc_rules[r].what);
        print_text(out, "- Threshold: ", 2, hc_rules[r].threshold);
        print_text(out, "- Source: ", 2, hc_rules[r].source);
        print_text(out, "- ", 2, hc_rules[r].applied);
    }
}

static void print_rows(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("\n## Every bug\n\n", out);
    print_text(out, "", 0,
               "*caught*: the rule refuses the buggy arm and accepts the fixed one. *missed*: it "
               "accepts the buggy arm. *alarm*: it refuses an arm that is right. *both*: it misses "
               "the bug and refuses the repair. *right*: it accepts both arms of a negative "
               "control. -: it is not applied. What halfcheck itself misses would stand first.");
    (void)fputs("\n| bug |", out);
    for (int r = 0; r < HC_CATCH_RULES; r++)
        (void)fprintf(out, " %s |", hc_rules[r].name);
    (void)fputs("\n|---|", out);
    for (int r = 0; r < HC_CATCH_RULES; r++)
        (void)fputs("---|", out);
    (void)fputc('\n', out);
    for (int i = 0; i < inquiry->count; i++) {
        (void)fprintf(out, "| `%s` |", inquiry->row[i].name);
        for (int r = 0; r < HC_CATCH_RULES; r++)
            (void)fprintf(out, " %s |", hc_catch_word(&inquiry->row[i], r));
        (void)fputc('\n', out);
    }
}

void hc_inquiry_print_page(FILE *out, const struct hc_inquiry *inquiry)
{
    print_head(out, inquiry);
    print_summary(out, inquiry);
    print_own(out, inquiry);
    print_rules(out);
    print_rows(out, inquiry);
}
