/* What an inquiry prints: a table for a terminal of 80 columns, a JSON document, and the page
   docs/who-catches-what.md. */
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/catches/inquiry.h"
#include "op/memory_stream.h"
#include "op/wrap.h"

enum { NAME = 36, WHAT = 42 };

static void print_summary(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fprintf(out, "%-6s %-*s %9s %10s %7s\n", "rule", WHAT, "", "misses", "alarms", "apart");
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
        (void)fprintf(out, "%-6s %-*s %3d of %3d %3d of %3d %7d\n", hc_rules[r].name, WHAT,
                      hc_rules[r].what, c.missed, c.bugs, c.alarms, c.right, c.apart);
    }
}

/* A last line of those that were frozen before the bound was known. */
static void print_summary_frozen(FILE *out, const struct hc_inquiry *inquiry)
{
    struct hc_catch_counts c =
        hc_catch_count_frozen(inquiry->row, inquiry->count, HC_CATCH_RULES - 1);
    if (c.right)
        (void)fprintf(out, "%-6s %-*s %3d of %3d %3d of %3d %7d\n", "", WHAT,
                      "  of rows frozen before it was known", c.missed, c.bugs, c.alarms, c.right,
                      c.apart);
}

static void print_own(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("\nwhat halfcheck itself misses\n", out);
    for (int item = 0;; item++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = hc_memory_stream(&text, &size);
        bool more = memory && hc_inquiry_own(memory, inquiry, item);
        if (memory && fclose(memory) == 0 && more && size)
            hc_print_wrapped(out, fprintf(out, "  - "), 4, text);
        free(text);
        if (!more)
            return;
    }
}

static const char *slug_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static void print_rows(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fprintf(out, "\n%-*s", NAME, "bug");
    for (int r = 0; r < HC_CATCH_RULES; r++)
        (void)fprintf(out, " %5s", hc_rules[r].name);
    (void)fputc('\n', out);
    for (int i = 0; i < inquiry->count; i++) {
        const struct hc_catch *row = &inquiry->row[i];
        const char *slug = slug_of(row->name);
        bool fits = strlen(slug) <= NAME;
        if (!fits)
            (void)fprintf(out, "%s\n", slug);
        (void)fprintf(out, "%-*s", NAME, fits ? slug : "");
        for (int r = 0; r < HC_CATCH_RULES; r++) {
            const char *word = hc_catch_word(row, r);
            (void)fprintf(out, " %5s",
                          strcmp(word, "caught") == 0   ? "yes"
                          : strcmp(word, "missed") == 0 ? "miss"
                                                        : word);
        }
        (void)fputc('\n', out);
    }
}

void hc_inquiry_print(FILE *out, const struct hc_inquiry *inquiry)
{
    int controls = 0;
    for (int i = 0; i < inquiry->count; i++)
        controls += inquiry->row[i].control;
    int bugs = inquiry->count - controls;
    (void)fprintf(out, "%d bug%s", bugs, bugs == 1 ? "" : "s");
    if (controls)
        (void)fprintf(out, " and %d negative control%s", controls, controls == 1 ? "" : "s");
    (void)fprintf(out, " on %s, each as a buggy and a fixed arm\n\n", inquiry->backend);
    print_summary(out, inquiry);
    print_summary_frozen(out, inquiry);
    (void)fputc('\n', out);
    hc_print_wrapped(
        out, 0, 0,
        "misses: buggy arms that the rule accepts. alarms: right arms that it refuses. "
        "apart: bugs of which it refuses only the buggy arm.");
    print_own(out, inquiry);
    print_rows(out, inquiry);
    (void)fputc('\n', out);
    hc_print_wrapped(
        out, 0, 0,
        "yes: caught. miss: the rule accepts the buggy arm. alarm: it refuses an arm "
        "that is right. both: a miss and a false alarm. right: it accepts both arms of "
        "a negative control. -: it needs a half implementation, and there is none.");
}

/* The table as JSON. */

static const char *const judgements[] = {
    [HC_ACCEPTED] = "accepted", [HC_REFUSED] = "refused", [HC_NOT_APPLIED] = "not applied"};

static void set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, hc_json_text(text));
}

static void set_count(json_t *object, const char *key, int count)
{
    (void)json_object_set_new(object, key, json_integer(count));
}

static json_t *rule_document(const struct hc_inquiry *inquiry, int r)
{
    json_t *o = json_object();
    struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
    set_text(o, "name", hc_rules[r].name);
    set_text(o, "what", hc_rules[r].what);
    set_text(o, "threshold", hc_rules[r].threshold);
    set_text(o, "source", hc_rules[r].source);
    set_count(o, "bugs", c.bugs);
    set_count(o, "missed", c.missed);
    set_count(o, "right_arms", c.right);
    set_count(o, "false_alarms", c.alarms);
    set_count(o, "told_apart", c.apart);
    set_count(o, "not_applied", c.not_applied);
    return o;
}

static json_t *row_document(const struct hc_catch *row)
{
    json_t *o = json_object();
    json_t *verdicts = json_object();
    set_text(o, "case", row->name);
    (void)json_object_set_new(o, "negative_control", json_boolean(row->control));
    (void)json_object_set_new(o, "play", json_boolean(row->play));
    (void)json_object_set_new(o, "frozen", json_boolean(row->frozen));
    (void)json_object_set_new(o, "no_bound", json_boolean(row->no_bound));
    set_count(o, "figures_printed", row->figures.printed);
    set_count(o, "figures_computed", row->figures.computed);
    set_count(o, "shown", row->shown);
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        json_t *verdict = json_object();
        set_text(verdict, "buggy", judgements[row->buggy[r]]);
        set_text(verdict, "fixed", judgements[row->fixed[r]]);
        set_text(verdict, "word", hc_catch_word(row, r));
        (void)json_object_set_new(verdicts, hc_rules[r].name, verdict);
    }
    (void)json_object_set_new(o, "rules", verdicts);
    return o;
}

json_t *hc_inquiry_document(const struct hc_inquiry *inquiry)
{
    json_t *o = json_object();
    json_t *rules = json_array();
    json_t *rows = json_array();
    set_text(o, "backend", inquiry->backend);
    for (int r = 0; r < HC_CATCH_RULES; r++)
        (void)json_array_append_new(rules, rule_document(inquiry, r));
    for (int i = 0; i < inquiry->count; i++)
        (void)json_array_append_new(rows, row_document(&inquiry->row[i]));
    (void)json_object_set_new(o, "rules", rules);
    (void)json_object_set_new(o, "bugs", rows);
    return o;
}

/* The page docs/who-catches-what.md. */

static void print_text(FILE *out, const char *bullet, int indent, const char *text)
{
    hc_print_wrapped(out, fprintf(out, "%s", bullet), indent, text);
}

static void print_head(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("# Who catches what: common rules of comparison on reported bugs\n\n", out);
    print_text(
        out, "", 0,
        "This page is for anybody who chooses a tolerance for a test. A test must decide when a "
        "computed number is near enough to the expected one, and people copy a few rules for that "
        "from each other. The page says which of these rules would have caught the bugs that "
        "people reported in fp16 and bf16 training (`field/*`, [Cases](cases.md)). Each rule gets "
        "the buggy arm of every bug, which it should refuse, and the fixed arm, which it should "
        "accept.");
    (void)fputs(
        "\n`halfcheck catches --markdown` prints this page. This example compares them, and "
        "would print any\ndifference:\n\n"
        "```console\n$ ./hc catches --markdown | diff - docs/who-catches-what.md\n```\n\n",
        out);
    (void)fprintf(out,
                  "`halfcheck catches` prints the same for a terminal, `--json FILE` for "
                  "programs.\nThe arms below were evaluated on the backend `%s`.\n",
                  inquiry->backend);
}

static void print_page_summary(FILE *out, const struct hc_inquiry *inquiry)
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
                "| rule | misses: buggy arms accepted | false alarms: right arms refused | bugs "
                "whose arms it tells apart | not applied |\n|---|---|---|---|---|\n",
                out);
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
        (void)fprintf(out, "| %s | %d of %d | %d of %d | %d | %d |\n", hc_rules[r].what, c.missed,
                      c.bugs, c.alarms, c.right, c.apart, c.not_applied);
    }
    struct hc_catch_counts frozen =
        hc_catch_count_frozen(inquiry->row, inquiry->count, HC_CATCH_RULES - 1);
    if (frozen.right)
        (void)fprintf(out,
                      "| halfcheck's bound, on rows frozen before it was known | %d of %d | %d of "
                      "%d | %d | %d |\n",
                      frozen.missed, frozen.bugs, frozen.alarms, frozen.right, frozen.apart,
                      frozen.not_applied);
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "FlashAttention's rule compares an implementation with a plain one in half, and many of "
        "these bugs are a plain implementation in half: in %d bugs the buggy arm has exactly the "
        "numbers of the half implementation. The rule then accepts the bug unless it is NaN. In %d "
        "bugs the half implementation is NaN; then the rule refuses the repair, too. That is no "
        "fault of the rule: it tests whether a kernel adds to the error of its format, and these "
        "bugs are the error of the format.",
        halves, nans);
    (void)fputc('\n', out);
    print_text(out, "", 0, text);
    (void)snprintf(text, sizeof text,
                   "%d bugs show only one number. The cosine of one number is its sign, so there "
                   "the cosine sees a wrong sign, a zero, an infinity and a NaN, and nothing else.",
                   single);
    (void)fputc('\n', out);
    print_text(out, "", 0, text);
}

static void print_page_own(FILE *out, const struct hc_inquiry *inquiry)
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
               "The choices are the same for all bugs. If a source leaves a choice open, it is "
               "made so that the rule looks better.");
    static const char *const choices[] = {
        "Expected is the real number of the fixed arm's formula, rounded to the format of the "
        "value that is judged, as `expected.to(out.dtype)` does. If that makes it 0, inf or NaN, "
        "the buggy arm is compared with the real number itself. Otherwise an overflow would equal "
        "the expected number. Right arms are always compared with the rounded number.",
        "A bug shows up to 12 values. A rule that compares number by number refuses an arm if it "
        "refuses any of them; the cosine takes all of them as a vector.",
        "NaN is near nothing, and an infinity is near only itself, as by default in torch and "
        "numpy.",
        "The rules are computed in fp64.",
        "In a negative control (a report that is no bug) both arms are right, and refusing either "
        "is a false alarm.",
        "If the format's rule is right, since a model was trained with it, the rule's number "
        "replaces the real one."};
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

static void print_page_rows(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)fputs("\n## Every bug\n\n", out);
    print_text(out, "", 0,
               "*caught*: the rule refuses the buggy arm and accepts the fixed one. *missed*: it "
               "accepts the buggy arm. *alarm*: it refuses an arm that is right. *both*: it misses "
               "the bug and refuses the repair. *right*: it accepts both arms of a negative "
               "control. -: it is not applied. Bugs that halfcheck itself misses stand first.");
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
    print_page_summary(out, inquiry);
    print_page_own(out, inquiry);
    print_rules(out);
    print_page_rows(out, inquiry);
}
