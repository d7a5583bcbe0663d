/* What an inquiry into kernels prints: a table for a terminal, a section of a page, and JSON. */
#include <string.h>

#include "check/record/json.h"
#include "cli/catches/kernels.h"
#include "op/wrap.h"

static const char *const own_names[] = {"normal", "all"};
static const char *const own_whats[] = {"halfcheck's bounds on normal numbers",
                                        "all of halfcheck's cases"};

static const char *name_of(int column)
{
    return column < HC_KERNEL_RULES ? hc_kernel_rules[column].name
                                    : own_names[column - HC_KERNEL_RULES];
}

static const char *what_of(int column)
{
    return column < HC_KERNEL_RULES ? hc_kernel_rules[column].what
                                    : own_whats[column - HC_KERNEL_RULES];
}

static const char explained[] =
    "yes: the rule refuses the faulty kernel in a call of which it accepts the right one. miss: it "
    "accepts the faulty kernel. alarm: it refuses the right kernel, too, or in its place. -: the "
    "rule is not for this op and these formats.";

enum { NAME = 44, WHAT = 38 };

void hc_kernels_print(FILE *out, const struct hc_kernel_inquiry *inquiry)
{
    (void)fprintf(out, "%d fault%s in kernels of a transformer, on normal numbers\n\n",
                  inquiry->count, inquiry->count == 1 ? "" : "s");
    (void)fprintf(out, "%-6s %-*s %6s %6s %5s %4s  %s\n", "rule", WHAT, "", "caught", "missed",
                  "alarm", "-", "right");
    for (int c = 0; c < HC_KERNEL_COLUMNS; c++) {
        (void)fprintf(out, "%-6s %-*s %6d %6d %5d %4d", name_of(c), WHAT, what_of(c),
                      hc_kernels_count(inquiry, c, HC_KERNEL_CAUGHT),
                      hc_kernels_count(inquiry, c, HC_KERNEL_MISSED),
                      hc_kernels_count(inquiry, c, HC_KERNEL_ALARM),
                      hc_kernels_count(inquiry, c, HC_KERNEL_NOT_APPLIED));
        if (c < HC_KERNEL_RULES)
            (void)fprintf(out, "  %d of %d", inquiry->alarms[c], inquiry->calls[c]);
        (void)fputc('\n', out);
    }
    (void)fputc('\n', out);
    hc_print_wrapped(
        out, 0, 0, "right: calls in which a rule refuses a right kernel, of those that it judges.");
    (void)fprintf(out, "\n%-*s", NAME, "fault");
    for (int c = 0; c < HC_KERNEL_COLUMNS; c++)
        (void)fprintf(out, " %s", name_of(c));
    (void)fputc('\n', out);
    for (int i = 0; i < inquiry->count; i++) {
        const struct hc_kernel_catch *row = &inquiry->row[i];
        (void)fprintf(out, "%-*s", NAME, row->fault->name);
        for (int c = 0; c < HC_KERNEL_COLUMNS; c++)
            (void)fprintf(out, " %*s", (int)strlen(name_of(c)), hc_kernel_words[row->word[c]]);
        (void)fputc('\n', out);
    }
    (void)fputc('\n', out);
    hc_print_wrapped(out, 0, 0, explained);
}

static void print_text(FILE *out, const char *bullet, int indent, const char *text)
{
    hc_print_wrapped(out, fprintf(out, "%s", bullet), indent, text);
}

static void print_page_head(FILE *out, const struct hc_kernel_inquiry *inquiry)
{
    char text[640];
    (void)fputs("\n## Faults in a transformer's kernels\n\n", out);
    (void)snprintf(
        text, sizeof text,
        "Those who write kernels for transformers test them on random numbers, with tolerances of "
        "their own. %d faults are planted in kernels of attention, norms, losses and activations, "
        "one at a time, and each rule gets the results (`halfcheck catches --kernels`). The calls "
        "are those of the cases `op/*` with normal numbers, in bf16, fp16 and fp32. Expected is "
        "what the op's definition says, computed in fp64 and rounded to the output's format.",
        inquiry->count);
    print_text(out, "", 0, text);
    (void)fputs("\n| rule | catches | misses | alarms | not applied | refuses a right kernel |\n"
                "|---|---|---|---|---|---|\n",
                out);
    for (int c = 0; c < HC_KERNEL_COLUMNS; c++) {
        (void)fprintf(out, "| %s | %d | %d | %d | %d |", what_of(c),
                      hc_kernels_count(inquiry, c, HC_KERNEL_CAUGHT),
                      hc_kernels_count(inquiry, c, HC_KERNEL_MISSED),
                      hc_kernels_count(inquiry, c, HC_KERNEL_ALARM),
                      hc_kernels_count(inquiry, c, HC_KERNEL_NOT_APPLIED));
        if (c < HC_KERNEL_RULES)
            (void)fprintf(out, " in %d of %d calls |\n", inquiry->alarms[c], inquiry->calls[c]);
        else
            (void)fputs(" no |\n", out);
    }
    (void)fputc('\n', out);
    print_text(out, "", 0,
               "Where normal numbers do not show a fault, the case that finds it stands beside it. "
               "That halfcheck's cases find every fault is no merit: each was planted to be found "
               "by a case. Its misses on normal numbers are those that a test without such inputs "
               "has.");
    (void)fputc('\n', out);
}

/* Whether some rule that is applied does not catch it. */
static bool escapes_a_rule(const struct hc_kernel_catch *row)
{
    for (int c = 0; c < HC_KERNEL_COLUMNS; c++)
        if (row->word[c] == HC_KERNEL_MISSED || row->word[c] == HC_KERNEL_ALARM)
            return true;
    return false;
}

static void print_page_rows(FILE *out, const struct hc_kernel_inquiry *inquiry)
{
    int escaped = 0;
    char text[240];
    for (int i = 0; i < inquiry->count; i++)
        escaped += escapes_a_rule(&inquiry->row[i]);
    (void)snprintf(text, sizeof text,
                   "Below are the %d faults that some rule does not catch, those first that "
                   "halfcheck misses on normal numbers. The other %d are caught by every rule that "
                   "is applied to them.",
                   escaped, inquiry->count - escaped);
    print_text(out, "", 0, text);
    (void)fputc('\n', out);
    print_text(out, "", 0, explained);
    (void)fputs("\n| fault |", out);
    for (int c = 0; c < HC_KERNEL_COLUMNS; c++)
        (void)fprintf(out, " %s |", name_of(c));
    (void)fputs("\n|---|", out);
    for (int c = 0; c < HC_KERNEL_COLUMNS; c++)
        (void)fputs("---|", out);
    (void)fputc('\n', out);
    for (int i = 0; i < inquiry->count; i++) {
        const struct hc_kernel_catch *row = &inquiry->row[i];
        if (!escapes_a_rule(row))
            continue;
        (void)fprintf(out, "| %s", row->fault->title);
        if (row->by[0])
            (void)fprintf(out, ": `%s`", row->by);
        (void)fputs(" |", out);
        for (int c = 0; c < HC_KERNEL_COLUMNS; c++)
            (void)fprintf(out, " %s |", hc_kernel_words[row->word[c]]);
        (void)fputc('\n', out);
    }
}

void hc_kernels_print_page(FILE *out, const struct hc_kernel_inquiry *inquiry)
{
    print_page_head(out, inquiry);
    for (int r = 0; r < HC_KERNEL_RULES; r++) {
        const struct hc_kernel_rule *rule = &hc_kernel_rules[r];
        char text[1024];
        (void)snprintf(text, sizeof text, "`%s`, %s: %s. Source: %s. %s", rule->name, rule->what,
                       rule->threshold, rule->source, rule->applied);
        print_text(out, "- ", 2, text);
    }
    (void)fputc('\n', out);
    print_page_rows(out, inquiry);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, hc_json_text(text));
}

static void set_count(json_t *object, const char *key, int count)
{
    (void)json_object_set_new(object, key, json_integer(count));
}

json_t *hc_kernels_document(const struct hc_kernel_inquiry *inquiry)
{
    json_t *o = json_object();
    json_t *rules = json_array();
    json_t *rows = json_array();
    for (int c = 0; c < HC_KERNEL_COLUMNS; c++) {
        json_t *rule = json_object();
        set_text(rule, "name", name_of(c));
        set_text(rule, "what", what_of(c));
        set_count(rule, "caught", hc_kernels_count(inquiry, c, HC_KERNEL_CAUGHT));
        set_count(rule, "missed", hc_kernels_count(inquiry, c, HC_KERNEL_MISSED));
        set_count(rule, "alarms", hc_kernels_count(inquiry, c, HC_KERNEL_ALARM));
        set_count(rule, "not_applied", hc_kernels_count(inquiry, c, HC_KERNEL_NOT_APPLIED));
        set_count(rule, "right_calls", inquiry->calls[c]);
        set_count(rule, "right_calls_refused", inquiry->alarms[c]);
        (void)json_array_append_new(rules, rule);
    }
    for (int i = 0; i < inquiry->count; i++) {
        json_t *row = json_object();
        json_t *words = json_object();
        set_text(row, "fault", inquiry->row[i].fault->name);
        set_text(row, "found_by", inquiry->row[i].by);
        for (int c = 0; c < HC_KERNEL_COLUMNS; c++)
            set_text(words, name_of(c), hc_kernel_words[inquiry->row[i].word[c]]);
        (void)json_object_set_new(row, "rules", words);
        (void)json_array_append_new(rows, row);
    }
    (void)json_object_set_new(o, "rules", rules);
    (void)json_object_set_new(o, "faults", rows);
    return o;
}
