#include "cli/run/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/timing.h"
#include "cli/colour.h"
#include "cli/lines.h"
#include "cli/run/outside.h"
#include "op/text.h"
#include "op/wrap.h"

/* If many results of one op fail, so many are printed. */
enum { SHOWN_OF_A_GROUP = 10 };

/* The columns of a line of the whole table, and of a word that begins a line. */
enum { ROW = 126, LABEL = 13 };
/* How wide a text may be: `otherwise` at most, and as wide as the terminal now, if it is one. */
static int table_columns(FILE *out, int otherwise)
{
    int columns = hc_terminal_columns(out, otherwise);
    return columns < otherwise ? columns : otherwise;
}

static double seconds_between_lines(void)
{
    const char *text = getenv("HALFCHECK_PROGRESS");
    char *end;
    if (!text)
        return HC_PROGRESS_SECONDS;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0))
        return (double)NAN;
    return seconds > 0 ? seconds : (double)INFINITY;
}

struct hc_table hc_table_new(FILE *out, bool verbose, int length)
{
    return (struct hc_table){.out = out,
                             .verbose = verbose,
                             .progress = hc_terminal_draws(stderr),
                             .every = seconds_between_lines(),
                             .length = length,
                             .started = hc_clock()};
}

void hc_table_quiet(struct hc_table *table)
{
    if (!table->progress) /* a line in a file stays */
        return;
    if (table->drawn > 0)
        hc_terminal_clear(stderr);
    table->drawn = 0;
}

/* Into a file, a line by itself from time to time. */
static void print_progress(struct hc_table *table, const char *name, const char *backend)
{
    double now = hc_clock();
    if (now - (table->drawn > 0 ? table->drawn : table->started) < table->every)
        return;
    (void)fflush(table->out ? table->out : stdout);
    (void)fprintf(stderr, "[%d/%d, %.0f s] %s on %s\n", table->done, table->length,
                  now - table->started, name, backend);
    (void)fflush(stderr);
    table->drawn = now;
}

/* The name of the case gives way first where the terminal is narrow. */
void hc_table_starting(struct hc_table *table, const char *name, const char *backend)
{
    double now = hc_clock();
    char line[256];
    char where[80];
    if (!table->progress)
        print_progress(table, name, backend);
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

/* Prints the heading of the table; and an aligned line without its newline. */
static void print_heading(FILE *out)
{
    hc_print(out, "%-13s  %-44s %-14s %9s %10s %10s %-6s %11s\n", "verdict", "case", "backend",
             "checked", "error", "bound", "unit", "error/bound");
}

static void print_row(FILE *out, const struct hc_row *row)
{
    (void)hc_colour_word(out, hc_colour_of(row->verdict), LABEL, hc_verdict_names[row->verdict]);
    hc_print(out, "  %-44s %-14s %9lld %10.3g %10.3g %-6s %11.3g", row->name, row->backend,
             (long long)row->checked, row->error, row->bound, row->unit,
             hc_ratio(row->error, row->bound));
}

void hc_print_reason(FILE *out, const char *label, const char *what, const char *why)
{
    enum hc_colour colour = strcmp(label, hc_verdict_names[HC_SKIPPED]) == 0 ? HC_COLOUR_DIM
                            : strcmp(label, hc_verdict_names[HC_UNIMPLEMENTED]) == 0
                                ? HC_COLOUR_WARN
                                : HC_PLAIN;
    char line[1024];
    int column = hc_colour_word(out, colour, LABEL, label) + fprintf(out, " ");
    (void)snprintf(line, sizeof line, "%s%s%s", what, why[0] ? ": " : "", why);
    hc_print_wrapped(out, column, 4, line);
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

/* As narrow as the lines of text. */
static void print_narrow(const struct hc_table *table, const struct hc_row *row)
{
    bool bad = row->verdict == HC_FAIL || row->verdict == HC_ERROR;
    (void)hc_colour_word(table->out, hc_colour_of(row->verdict), LABEL,
                         hc_verdict_names[row->verdict]);
    hc_print(table->out, table->narrow ? " %s\n" : " %s on %s\n", row->name, row->backend);
    if (!table->narrow && row->checked > 0) {
        char line[160];
        (void)hc_text_write(line, sizeof line, "%lld checked, error %.3g, bound %.3g %s",
                            (long long)row->checked, row->error, row->bound, row->unit);
        hc_print_wrapped(table->out, fprintf(table->out, "    "), 4, line);
    }
    if (row->note[0])
        hc_print_wrapped(table->out, fprintf(table->out, "    "), 4, row->note);
    if (bad) {
        (void)hc_print_command(table->out, fprintf(table->out, "    "), 6, row->repro);
        (void)fputc('\n', table->out);
    }
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
    if (table->narrow || !table->verbose || table_columns(table->out, ROW) < ROW) {
        table->shown++;
        print_narrow(table, row);
        return;
    }
    if (table->shown++ == 0)
        print_heading(table->out);
    print_row(table->out, row);
    (void)fputc('\n', table->out);
    if (row->note[0])
        (void)fprintf(table->out, "    %s\n", row->note);
    if (row->verdict == HC_FAIL || row->verdict == HC_ERROR)
        (void)fprintf(table->out, "    %s\n", row->repro);
    (void)fflush(table->out);
}

void hc_sums_add(struct hc_sums *sums, const struct hc_row *row)
{
    double ratio = hc_ratio(row->error, row->bound);
    sums->count[row->verdict]++;
    sums->checked += row->checked;
    sums->seconds += row->seconds;
    sums->bounded |= row->bound > 0;
    if (row->checked > 0 && ratio > sums->worst) {
        sums->worst = ratio;
        sums->nearest = row;
    }
}

/* The columns beside the counts of verdicts. What a terminal is too narrow for is left out: the
   last ones first. */
struct layout {
    int component; /* widths */
    int backend;   /* 0: left out */
    bool size;
    bool checked;
    bool seconds;
    bool name; /* of the case with the largest error */
};

enum { SIZE = 18, CHECKED = 13, SECONDS = 10, NAME = 30, WIDE = 1000 };

static int verdict_width(const struct hc_sums *all, int v)
{
    return v <= HC_FAIL ? 6 : all->count[v] ? (int)strlen(hc_verdict_names[v]) : -1;
}

/* Seconds differ from run to run, and names are long: they are for who asks for more. */
static struct layout layout(FILE *out, bool verbose, const struct hc_rows *rows,
                            const struct hc_sums *all, bool one_backend)
{
    int room = table_columns(out, verbose ? WIDE : HC_COLUMNS) - 1;
    struct layout l = {.component = (int)strlen("component"),
                       .backend = one_backend ? 0 : (int)strlen("backend")};
    for (int i = 0; i < rows->count; i++) {
        int component = (int)strcspn(rows->row[i].name, "/");
        int backend = (int)strlen(rows->row[i].backend);
        l.component = component > l.component ? component : l.component;
        l.backend = backend > l.backend && !one_backend ? backend : l.backend;
    }
    room -= l.component + (l.backend ? 1 + l.backend : 0);
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        room -= verdict_width(all, v) + 1;
    l.size = room >= SIZE;
    l.checked = room >= SIZE + CHECKED;
    l.seconds = verbose && !one_backend && room >= SIZE + CHECKED + SECONDS;
    l.name = verbose && !one_backend && room >= SIZE + CHECKED + SECONDS + NAME;
    return l;
}

/* How large an error is beside what is allowed: "1.00 of bound" passes. */
static void size_text(const struct hc_sums *sums, char *text, size_t size)
{
    if (sums->nearest && isinf(sums->worst))
        (void)snprintf(text, size, "beyond bound");
    else if (sums->nearest && sums->worst >= 1e100)
        (void)snprintf(text, size, "over 1e99 bounds");
    else if (sums->nearest && sums->worst > 1)
        (void)hc_text_write(text, size, "%.*g times bound", sums->worst < 1e3 ? 3 : 1, sums->worst);
    else if (sums->nearest)
        (void)hc_text_write(text, size, "%#.3g of bound", sums->worst);
    else
        (void)snprintf(text, size, "%s", sums->checked && !sums->bounded ? "equal bits" : "-");
}

static void print_counts(FILE *out, const struct layout *l, const struct hc_sums *all,
                         const struct hc_sums *sums)
{
    char size[48];
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (verdict_width(all, v) > 0)
            hc_print(out, " %*d", verdict_width(all, v), sums->count[v]);
    if (l->checked)
        hc_print(out, " %*lld", CHECKED - 1, sums->checked);
    if (l->seconds)
        hc_print(out, " %*.2f", SECONDS - 1, sums->seconds);
    size_text(sums, size, sizeof size);
    if (l->size)
        hc_print(out, "  %s", size);
    if (l->name && sums->nearest)
        hc_print(out, ", %s", sums->nearest->name);
    (void)fputc('\n', out);
}

static void print_columns(FILE *out, const struct layout *l, const struct hc_sums *all)
{
    hc_print(out, "%-*s", l->component, "component");
    if (l->backend)
        hc_print(out, " %-*s", l->backend, "backend");
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (verdict_width(all, v) > 0)
            hc_print(out, " %*s", verdict_width(all, v), hc_verdict_names[v]);
    if (l->checked)
        hc_print(out, " %*s", CHECKED - 1, "checked");
    if (l->seconds)
        hc_print(out, " %*s", SECONDS - 1, "seconds");
    hc_print(out, "%s\n", l->size ? "  largest error" : "");
}

static bool same_line(const struct hc_row *a, const struct hc_row *b, bool one_backend)
{
    size_t length = strcspn(a->name, "/");
    return strcspn(b->name, "/") == length && strncmp(a->name, b->name, length) == 0 &&
           (one_backend || strcmp(a->backend, b->backend) == 0);
}

static void print_names(FILE *out, const struct layout *l, const char *component, int length,
                        const char *backend)
{
    hc_print(out, "%-*.*s", l->component, length, component);
    if (l->backend)
        hc_print(out, " %-*s", l->backend, backend);
}

/* A line for each component and backend, or for each component alone where all rows are of one
   backend that the reader knows; and one for `all`. A narrow terminal gets fewer columns. */
static void print_components(const struct hc_table *table, const struct hc_rows *rows,
                             const struct hc_sums *all)
{
    FILE *out = table->out;
    bool one_backend = table->narrow;
    const struct layout l = layout(out, table->verbose, rows, all, one_backend);
    print_columns(out, &l, all);
    for (int i = 0; i < rows->count; i++) {
        const struct hc_row *row = &rows->row[i];
        struct hc_sums sums = {0};
        bool earlier = false;
        for (int j = i - 1; j >= 0 && !earlier; j--)
            earlier = same_line(row, &rows->row[j], one_backend);
        if (earlier)
            continue;
        for (int j = i; j < rows->count; j++)
            if (same_line(row, &rows->row[j], one_backend))
                hc_sums_add(&sums, &rows->row[j]);
        print_names(out, &l, row->name, (int)strcspn(row->name, "/"), row->backend);
        print_counts(out, &l, all, &sums);
    }
    print_names(out, &l, "total", (int)strlen("total"), "");
    print_counts(out, &l, all, all);
}

/* The end of the table: what was left out and why, and the counts. */

static bool same_reason(const struct hc_row *a, const struct hc_row *b)
{
    return a->verdict == b->verdict && strcmp(a->backend, b->backend) == 0 &&
           strcmp(a->note, b->note) == 0;
}

/* What has the same reason is told once, with a number. */
static void print_reasons(FILE *out, const struct hc_rows *rows, bool narrow)
{
    for (int i = 0; i < rows->count; i++) {
        const struct hc_row *row = &rows->row[i];
        bool earlier = false;
        int more = 0;
        char name[256];
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
            used += (size_t)snprintf(name + used, sizeof name - used, " and %d more", more);
        if (narrow) {
            hc_print(out, "%-13s %s\n    ", hc_verdict_names[row->verdict], name);
            hc_print_wrapped(out, 4, 4, row->note);
            continue;
        }
        if (used < sizeof name)
            (void)snprintf(name + used, sizeof name - used, " on %s", row->backend);
        hc_print_reason(out, hc_verdict_names[row->verdict], name, row->note);
    }
}

/* Without a reason it says who has the reasons. */
static void print_omission(FILE *out, const struct hc_omission *o, const char *component,
                           const char *why)
{
    char counts[160];
    char cases[256];
    hc_omission_counts(o, counts, sizeof counts);
    (void)snprintf(cases, sizeof cases, "%s%s%s: %s%s", o->backend, component[0] ? ", " : "",
                   component, counts, why ? "" : "; see --verbose");
    hc_print_reason(out, "left out", cases, why ? why : "");
}

/* All that was left out for the backend of the omission at `first`, unless it was told before. */
static void print_omissions_of(FILE *out, const struct hc_omissions *all, int first)
{
    struct hc_omission sum = all->row[first];
    int components = 1;
    for (int i = 0; i < first; i++)
        if (strcmp(all->row[i].backend, sum.backend) == 0)
            return;
    for (int i = first + 1; i < all->count; i++) {
        if (strcmp(all->row[i].backend, sum.backend) != 0)
            continue;
        components++;
        for (int kind = 0; kind < HC_OMITTED_KINDS; kind++)
            sum.count[kind] += all->row[i].count[kind];
    }
    if (components == 1)
        print_omission(out, &sum, sum.component, hc_omission_why(&sum));
    else
        print_omission(out, &sum, "", NULL);
}

/* A line for what was left out of each backend, and if more is asked for, of each component there;
   and for refusals that nothing explains. */
static void print_omissions(FILE *out, const struct hc_omissions *all, bool verbose)
{
    const struct hc_alike_calls *set;
    char calls[256];
    for (int i = 0; i < all->count; i++)
        if (verbose)
            print_omission(out, &all->row[i], all->row[i].component, hc_omission_why(&all->row[i]));
        else
            print_omissions_of(out, all, i);
    for (int i = 0; (set = hc_omissions_fickle(all, HC_ALIKE_FORMATS, &i)) != NULL;) {
        (void)snprintf(
            calls, sizeof calls, "%s on %s, in formats in which it accepted %s; the first",
            hc_count(set->refused, "call").text, set->backend, hc_count(set->taken, "other").text);
        hc_print_reason(out, "refused", calls, set->why);
    }
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
        (void)fprintf(table->out, "%-*s %s like these; --verbose shows %s\n", LABEL, "...",
                      hc_count(table->held_back, "more result").text,
                      table->held_back == 1 ? "it" : "them");
    if (!table->verbose)
        print_reasons(table->out, rows, table->narrow);
    if (!table->narrow)
        print_omissions(table->out, &rows->omissions, table->verbose);
    int left_out = hc_omissions_count(&rows->omissions, NULL);
    (void)fputc('\n', table->out);
    print_components(table, rows, &all);
    hc_print_outside(table->out, rows, options);
    (void)fprintf(table->out, "\n%s in %.1f s:", hc_count(rows->count, "result").text,
                  hc_clock() - table->started);
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (all.count[v]) {
            (void)fputc(' ', table->out);
            hc_colour_print(table->out, hc_colour_of((enum hc_verdict)v), "%d %s", all.count[v],
                            hc_verdict_names[v]);
        }
    if (left_out)
        (void)fprintf(table->out, "; %s left out", hc_count(left_out, "case").text);
    (void)fputc('\n', table->out);
}
