#include "cli/run/table.h"

#include <string.h>
#include <unistd.h>

#include "check/timing.h"
#include "cli/colour.h"
#include "op/text.h"
#include "op/wrap.h"

/* If many results of one op fail, so many are printed. */
enum { SHOWN_OF_A_GROUP = 10 };

struct hc_table hc_table_new(FILE *out, bool verbose, int length)
{
    return (struct hc_table){.out = out,
                             .verbose = verbose,
                             .progress = isatty(STDERR_FILENO) == 1,
                             .length = length,
                             .started = hc_clock()};
}

void hc_table_quiet(struct hc_table *table)
{
    if (table->progress && table->drawn > 0)
        (void)fputs("\r\033[K", stderr);
    table->drawn = 0;
}

void hc_table_starting(struct hc_table *table, const char *name, const char *backend)
{
    double now = hc_clock();
    if (!table->progress || now - table->drawn < 0.1)
        return;
    (void)fprintf(stderr, "\r\033[K[%d/%d, %.0f s] %.50s on %s", table->done, table->length,
                  now - table->started, name, backend);
    (void)fflush(stderr);
    table->drawn = now;
}

void hc_print_heading(FILE *out)
{
    hc_print(out, "%-13s  %-44s %-14s %9s %10s %10s %-6s %11s\n", "verdict", "case", "backend",
             "checked", "error", "bound", "unit", "error/bound");
}

void hc_print_row(FILE *out, const struct hc_row *row)
{
    (void)hc_colour_word(out, hc_colour_of(row->verdict), 13, hc_verdict_names[row->verdict]);
    hc_print(out, "  %-44s %-14s %9lld %10.3g %10.3g %-6s %11.3g", row->name, row->backend,
             (long long)row->checked, row->error, row->bound, row->unit,
             hc_ratio(row->error, row->bound));
}

/* Whether enough bad rows of this group (op/<name>) have been printed. */
static bool is_one_too_many(struct hc_table *table, const char *name)
{
    char group[sizeof table->group];
    size_t length = strcspn(name, "/");
    if (name[length])
        length += 1 + strcspn(name + length + 1, "/");
    if (!name[length])
        return false;
    (void)snprintf(group, sizeof group, "%.*s", (int)length, name);
    if (strcmp(group, table->group) != 0) {
        memcpy(table->group, group, sizeof group);
        table->in_group = 0;
    }
    return table->in_group++ >= SHOWN_OF_A_GROUP;
}

/* In 80 columns, but for the command, which people paste. */
static void print_narrow(FILE *out, const struct hc_row *row)
{
    bool bad = row->verdict == HC_FAIL || row->verdict == HC_ERROR;
    (void)hc_colour_word(out, hc_colour_of(row->verdict), 13, hc_verdict_names[row->verdict]);
    hc_print(out, " %s\n", row->name);
    if (row->note[0])
        hc_print_wrapped(out, fprintf(out, "    "), 4, row->note);
    if (bad)
        (void)fprintf(out, "    %s\n", row->repro);
    (void)fflush(out);
}

void hc_table_row(struct hc_table *table, const struct hc_row *row)
{
    bool plain =
        row->verdict == HC_PASS || row->verdict == HC_SKIPPED || row->verdict == HC_UNIMPLEMENTED;
    table->done++;
    if (!table->out || (plain && !table->verbose))
        return;
    if (!table->verbose && is_one_too_many(table, row->name)) {
        table->held_back++;
        return;
    }
    hc_table_quiet(table);
    if (table->narrow) {
        table->shown++;
        print_narrow(table->out, row);
        return;
    }
    if (table->shown++ == 0)
        hc_print_heading(table->out);
    hc_print_row(table->out, row);
    (void)fputc('\n', table->out);
    if (row->note[0])
        (void)fprintf(table->out, "    %s\n", row->note);
    if (row->verdict == HC_FAIL || row->verdict == HC_ERROR)
        (void)fprintf(table->out, "    %s\n", row->repro);
    (void)fflush(table->out);
}
