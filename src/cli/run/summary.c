/* The end of the table: what was left out and why, and the counts. */
#include <string.h>

#include "check/timing.h"
#include "cli/colour.h"
#include "cli/run/counts.h"
#include "cli/run/outside.h"
#include "cli/run/table.h"
#include "op/text.h"
#include "op/wrap.h"

static bool same_reason(const struct hc_row *a, const struct hc_row *b)
{
    return a->verdict == b->verdict && strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->note, b->note) == 0;
}

/* A line for each reason of SKIPPED and UNIMPLEMENTED rows; two where lines are short. */
static void print_reasons(FILE *out, const struct hc_rows *rows, bool narrow)
{
    for (int i = 0; i < rows->count; i++) {
        const struct hc_row *row = &rows->row[i];
        bool earlier = false;
        int more = 0;
        char name[80];
        if (row->verdict != HC_SKIPPED && row->verdict != HC_UNIMPLEMENTED)
            continue;
        for (int j = i - 1; j >= 0 && !earlier; j--)
            earlier = same_reason(row, &rows->row[j]);
        if (earlier)
            continue;
        for (int j = i + 1; j < rows->count; j++)
            more += same_reason(row, &rows->row[j]);
        size_t used = (size_t)snprintf(name, sizeof name, "%s", row->name);
        if (more && used < sizeof name)
            (void)snprintf(name + used, sizeof name - used, " and %d more", more);
        if (narrow) {
            hc_print(out, "%-13s %s\n    ", hc_verdict_names[row->verdict], name);
            hc_print_wrapped(out, 4, 4, row->note);
            continue;
        }
        hc_print_reason(out, hc_verdict_names[row->verdict], name, row->backend, row->note);
    }
}

/* A line for what was left out of each component on each backend, and for refusals that nothing
   explains. */
static void print_omissions(FILE *out, const struct hc_omissions *all)
{
    const struct hc_alike_calls *set;
    for (int i = 0; i < all->count; i++) {
        const struct hc_omission *o = &all->row[i];
        char counts[96];
        char cases[160];
        hc_omission_counts(o, counts, sizeof counts);
        (void)snprintf(cases, sizeof cases, "%s: %s", o->component, counts);
        hc_print_reason(out, "left out", cases, o->backend, hc_omission_why(o));
    }
    for (int i = 0; (set = hc_omissions_fickle(all, HC_ALIKE_FORMATS, &i)) != NULL;)
        (void)fprintf(
            out,
            "%-13s  %lld calls on %s, in formats in which it accepted %lld others; the first: %s\n",
            "refused", (long long)set->refused, set->backend, (long long)set->taken, set->why);
}

void hc_table_summary(const struct hc_table *table, const struct hc_rows *rows,
                      const struct hc_run_options *options)
{
    struct hc_sums all = {0};
    if (!table->out)
        return;
    for (int i = 0; i < rows->count; i++)
        hc_sums_add(&all, &rows->row[i]);
    if (table->held_back)
        (void)fprintf(table->out, "%-13s  %d more results like these; --verbose shows them\n",
                      "...", table->held_back);
    if (!table->verbose)
        print_reasons(table->out, rows, table->narrow);
    if (!table->narrow)
        print_omissions(table->out, &rows->omissions);
    int left_out = hc_omissions_count(&rows->omissions, NULL);
    (void)fputc('\n', table->out);
    hc_print_components(table->out, rows, &all, table->narrow);
    hc_print_outside(table->out, rows, options);
    (void)fprintf(table->out, "\n%d results in %.1f s:", rows->count, hc_clock() - table->started);
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (all.count[v]) {
            (void)fputc(' ', table->out);
            hc_colour_print(table->out, hc_colour_of((enum hc_verdict)v), "%d %s", all.count[v],
                            hc_verdict_names[v]);
        }
    if (left_out)
        (void)fprintf(table->out, "; %d cases left out", left_out);
    (void)fputc('\n', table->out);
}
