/* The table for a terminal of 80 columns. */
#include <stdlib.h>
#include <string.h>

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
    (void)fputc('\n', out);
    hc_print_wrapped(out, 0, 0,
                     "misses: buggy arms that the rule accepts. alarms: arms that are right, and "
                     "that it refuses. apart: bugs of which it refuses the buggy arm alone.");
    print_own(out, inquiry);
    print_rows(out, inquiry);
    (void)fputc('\n', out);
    hc_print_wrapped(out, 0, 0,
                     "yes: caught. miss: the buggy arm is accepted. alarm: an arm that is right is "
                     "refused. both: a miss and a false alarm. right: a negative control, both "
                     "arms of which are accepted. -: the rule needs a half implementation, and "
                     "there is none.");
}
