#include "cli/report/page_museum.h"

#include <stdlib.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/record/exhibits.h"
#include "cli/bug.h"
#include "cli/report/page_index.h"
#include "cli/report/page_link.h"
#include "op/text.h"

/* A result that has a table. */
struct entry {
    const struct hc_row *row;
    const char *record; /* NULL: there is one record alone */
    int place;          /* in all records */
};

static void markup(FILE *out, const char *before, const char *text, const char *behind)
{
    (void)fputs(before, out);
    hc_text_markup(out, text);
    (void)fputs(behind, out);
}

/* The lines of a text; all other control characters become spaces. */
static void write_lines(FILE *out, char *text)
{
    (void)fputs("<pre>", out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        markup(out, "", line, "\n");
    (void)fputs("</pre>\n", out);
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = strcmp(x->row->name, y->row->name);
    return order ? order : x->place - y->place;
}

/* The second part of field/<mechanism>/<slug>; all of it where the name has other parts. */
static const char *mechanism(const char *name, int *length)
{
    const char *slash = strchr(name, '/');
    *length = slash ? (int)strcspn(slash + 1, "/") : (int)strlen(name);
    return slash ? slash + 1 : name;
}

static bool same_mechanism(const char *a, const char *b)
{
    int n;
    int m;
    const char *x = mechanism(a, &n);
    const char *y = mechanism(b, &m);
    return n == m && strncmp(x, y, (size_t)n) == 0;
}

static void write_verdicts(FILE *out, const struct entry *entry, int count)
{
    (void)fputs("<p class=\"v\">", out);
    for (int i = 0; i < count; i++) {
        const char *verdict = hc_verdict_names[hc_row_verdict(entry[i].row)];
        (void)fprintf(out, "%s<span class=\"%s\">%s</span> on ", i ? ", " : "", verdict, verdict);
        if (entry[i].record)
            markup(out, "", entry[i].record, ": ");
        hc_text_markup(out, entry[i].row->backend);
    }
    (void)fputs("</p>\n", out);
    for (int i = 0; i < count; i++)
        if (hc_row_verdict(entry[i].row) != HC_PASS)
            markup(out, "<p class=\"FAIL\">", entry[i].row->note, "</p>\n");
}

static void write_number(FILE *out, double value, enum hc_format format)
{
    hc_print(out, "<td class=\"n\">%.9g</td>", value);
    (void)fprintf(out, "<td class=\"f\">%s</td>",
                  format < HC_FORMAT_COUNT ? hc_formats[format].name : "");
}

static void write_table(FILE *out, const struct hc_row *row)
{
    struct hc_exhibits shown;
    hc_exhibits_read(row->exhibits, &shown);
    (void)fputs("<table><tr><th></th><th class=\"n\">buggy</th><th></th><th class=\"n\">fixed</th>"
                "<th></th><th class=\"n\">real</th><th class=\"n\">bound</th></tr>\n",
                out);
    for (int i = 0; i < shown.count; i++) {
        const struct hc_exhibit *e = &shown.exhibit[i];
        markup(out, "<tr><td class=\"c\">", e->name, "</td>");
        write_number(out, e->buggy, e->buggy_format);
        write_number(out, e->fixed, e->format);
        hc_print(out, "<td class=\"n\">%.9g</td><td class=\"n\">%.2g</td></tr>\n", e->real, e->rad);
    }
    (void)fputs("</table>\n", out);
}

/* What this program's own list of cases says of the bug. */
static void write_arms(FILE *out, const struct hc_bug *bug)
{
    char *text = NULL;
    size_t size = 0;
    FILE *arms = open_memstream(&text, &size);
    if (!arms)
        return;
    hc_bug_print_arms(arms, bug);
    if (fclose(arms) == 0)
        write_lines(out, text);
    free(text);
}

static void write_lesson(FILE *out, const struct hc_bug *bug)
{
    markup(out, "<p><b>", bug->lesson ? bug->lesson : "", "</b></p>\n");
    if (bug->correction)
        markup(out, "<p>Not as reported: ", bug->correction, "</p>\n");
    for (int buggy = 1; buggy >= 0; buggy--) {
        char line[HC_LONGEST_COMMAND];
        hc_bug_command(bug, buggy, line);
        if (line[0])
            write_lines(out, line);
        if (hc_bug_is_shared(bug))
            break;
    }
}

static void write_curves(FILE *out, const char *name, const struct hc_drawn *drawn)
{
    bool any = false;
    for (; drawn && !any; drawn = drawn->next)
        if (strcmp(drawn->row->name, name) == 0 && drawn->svg) {
            (void)fprintf(out, "%s\n", drawn->svg);
            any = true; /* one curve is enough: the backends have the same bits */
        }
}

/* The other reports of the same bug. */
static void write_also(FILE *out, const struct hc_case *what)
{
    int n;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n && what; i++)
        if (reports[i].shown_by == what && !hc_report_is_named(&reports[i])) {
            markup(out, "<p><code>", reports[i].slug, "</code> from ");
            hc_page_write_linked(out, reports[i].source);
            (void)fputs("</p>\n", out);
        }
}

static void write_piece(FILE *out, const struct entry *entry, int count,
                        const struct hc_drawn *drawn)
{
    const char *name = entry[0].row->name;
    const struct hc_case *what = hc_case_by_name(name);
    const struct hc_bug *bug = what ? hc_bug_of(what) : NULL;
    markup(out, "<h4>", what ? what->title : name, "</h4>\n");
    markup(out, "<p><code>", name, "</code>");
    if (what) {
        (void)fputs(" from ", out);
        hc_page_write_linked(out, what->source);
    }
    (void)fputs("</p>\n", out);
    write_also(out, what);
    write_verdicts(out, entry, count);
    if (bug)
        write_arms(out, bug);
    write_table(out, entry[0].row);
    if (bug)
        write_lesson(out, bug);
    write_curves(out, name, drawn);
}

/* All bugs of the mechanism of the first entry. Returns how many entries they take. */
static int write_mechanism(FILE *out, const struct entry *entry, int count,
                           const struct hc_drawn *drawn)
{
    int end = 0;
    int bugs = 0;
    int wrong = 0;
    for (; end < count && same_mechanism(entry[end].row->name, entry[0].row->name); end++) {
        bugs += end == 0 || strcmp(entry[end].row->name, entry[end - 1].row->name) != 0;
        wrong +=
            hc_row_verdict(entry[end].row) == HC_FAIL || hc_row_verdict(entry[end].row) == HC_ERROR;
    }
    int length;
    char name[128];
    const char *at = mechanism(entry[0].row->name, &length);
    (void)snprintf(name, sizeof name, "%.*s", length, at);
    markup(out,
           wrong ? "<details class=\"m\" open=\"open\"><summary>"
                 : "<details class=\"m\"><summary>",
           name, "");
    const struct hc_case *first = hc_case_by_name(entry[0].row->name);
    (void)fprintf(out, " <span class=\"f\">%d", bugs);
    markup(out, bugs > 1 ? ", such as: " : ": ", first ? first->title : "", "</span>");
    if (wrong)
        (void)fprintf(out, " <span class=\"FAIL\">%d failed</span>", wrong);
    (void)fputs("</summary>\n", out);
    for (int i = 0, n; i < end; i += n) {
        for (n = 1; i + n < end && strcmp(entry[i + n].row->name, entry[i].row->name) == 0;)
            n++;
        write_piece(out, &entry[i], n, drawn);
    }
    (void)fputs("</details>\n", out);
    return end;
}

void hc_page_write_museum(FILE *out, const struct hc_page_record *records, int count,
                          const struct hc_drawn *drawn)
{
    int n = 0;
    int bugs = 0;
    for (int r = 0; r < count; r++)
        n += records[r].record.count;
    struct entry *entry = calloc((size_t)n + 1, sizeof *entry);
    n = 0;
    for (int r = 0; r < count && entry; r++)
        for (int i = 0; i < records[r].record.count; i++)
            if (records[r].record.rows[i].exhibits) {
                entry[n].row = &records[r].record.rows[i];
                entry[n].record = count > 1 ? records[r].name : NULL;
                entry[n].place = n;
                n++;
            }
    if (n)
        qsort(entry, (size_t)n, sizeof *entry, by_name);
    for (int i = 0; i < n; i++)
        bugs += i == 0 || strcmp(entry[i].row->name, entry[i - 1].row->name) != 0;
    if (n)
        (void)fprintf(
            out,
            "<h2 id=\"bugs\">Bugs from the field</h2>\n<p>%d bugs that people reported, each as two arms: "
            "the buggy one must show the symptom, and the fixed one must lie within its "
            "bound of the real numbers. They are grouped by mechanism.</p>\n",
            bugs);
    for (int i = 0; i < n;)
        i += write_mechanism(out, &entry[i], n - i, drawn);
    if (n)
        hc_page_write_index(out, records, count);
    free(entry);
}
