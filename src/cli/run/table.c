#include "cli/run/table.h"

#include <string.h>

#include "check/timing.h"
#include "cli/colour.h"
#include "op/text.h"
#include "op/wrap.h"

/* If many results of one op fail, so many are printed. */
enum { SHOWN_OF_A_GROUP = 10 };

/* The columns of a line of the table, and of one that says a reason. */
enum { ROW = 126, REASON = 110 };

int hc_table_columns(FILE *out, int otherwise)
{
    int columns = hc_terminal_columns(out, otherwise);
    return columns < otherwise ? columns : otherwise;
}

struct hc_table hc_table_new(FILE *out, bool verbose, int length)
{
    return (struct hc_table){.out = out,
                             .verbose = verbose,
                             .progress = hc_terminal_draws(stderr),
                             .length = length,
                             .started = hc_clock()};
}

void hc_table_quiet(struct hc_table *table)
{
    if (table->progress && table->drawn > 0)
        hc_terminal_clear(stderr);
    table->drawn = 0;
}

/* The name of the case gives way first where the terminal is narrow. */
void hc_table_starting(struct hc_table *table, const char *name, const char *backend)
{
    double now = hc_clock();
    char line[256];
    char where[80];
    if (!table->progress || now - table->drawn < 0.1)
        return;
    (void)snprintf(where, sizeof where, " on %.40s", backend);
    int used = snprintf(line, sizeof line, "[%d/%d, %.0f s] ", table->done, table->length,
                        now - table->started);
    int room = hc_terminal_columns(stderr, HC_COLUMNS) - 1 - used - (int)strlen(where);
    if (room >= (int)strlen(name))
        (void)snprintf(line + used, sizeof line - (size_t)used, "%s%s", name, where);
    else
        (void)snprintf(line + used, sizeof line - (size_t)used, "%.*s..%s", room > 2 ? room - 2 : 0,
                       name, where);
    hc_terminal_redraw(stderr, line);
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

void hc_print_reason(FILE *out, const char *label, const char *what, const char *backend,
                     const char *why)
{
    int columns = hc_table_columns(out, REASON);
    enum hc_colour colour = strcmp(label, hc_verdict_names[HC_SKIPPED]) == 0 ? HC_COLOUR_DIM
                            : strcmp(label, hc_verdict_names[HC_UNIMPLEMENTED]) == 0
                                ? HC_COLOUR_WARN
                                : HC_PLAIN;
    int column = hc_colour_word(out, colour, 13, label);
    if (columns == REASON) {
        hc_print(out, "  %-44s %-14s %s\n", what, backend, why);
        return;
    }
    char line[1024];
    (void)snprintf(line, sizeof line, " %s on %s: %s", what, backend, why);
    hc_print_narrow(out, columns, column, 4, line + 1);
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

/* As narrow as the lines of text, but for the command, which people paste. */
static void print_narrow(const struct hc_table *table, const struct hc_row *row)
{
    bool bad = row->verdict == HC_FAIL || row->verdict == HC_ERROR;
    int columns = hc_table_columns(table->out, HC_COLUMNS);
    (void)hc_colour_word(table->out, hc_colour_of(row->verdict), 13,
                         hc_verdict_names[row->verdict]);
    hc_print(table->out, table->narrow ? " %s\n" : " %s on %s\n", row->name, row->backend);
    if (!table->narrow && row->checked > 0) {
        char line[160];
        (void)hc_text_write(line, sizeof line, "%lld checked, error %.3g, bound %.3g %s",
                            (long long)row->checked, row->error, row->bound, row->unit);
        hc_print_narrow(table->out, columns, fprintf(table->out, "    "), 4, line);
    }
    if (row->note[0])
        hc_print_narrow(table->out, columns, fprintf(table->out, "    "), 4, row->note);
    if (bad)
        (void)fprintf(table->out, "    %s\n", row->repro);
    (void)fflush(table->out);
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
    if (table->narrow || hc_table_columns(table->out, ROW) < ROW) {
        table->shown++;
        print_narrow(table, row);
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
