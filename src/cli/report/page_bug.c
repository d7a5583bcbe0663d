#include "cli/report/page_bug.h"

#include <stdlib.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/record/exhibits.h"
#include "cli/bug.h"
#include "cli/report/page_link.h"
#include "op/memory_stream.h"

static void paragraph(struct hc_page_out *out, const char *class, const char *before,
                      const char *text)
{
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, class);
    hc_page_text(out, before);
    hc_page_text(out, text);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
}

static void write_verdicts(struct hc_page_out *out, const struct hc_page_entry *entry, int count)
{
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    for (int i = 0; i < count; i++) {
        hc_page_text(out, i ? ", " : "");
        hc_page_verdict(out, hc_verdict_names[hc_row_verdict(entry[i].row)]);
        hc_page_text(out, " on ");
        hc_page_text(out, entry[i].record ? entry[i].record : "");
        hc_page_text(out, entry[i].record ? ": " : "");
        hc_page_text(out, entry[i].row->backend);
    }
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    for (int i = 0; i < count; i++)
        if (hc_row_verdict(entry[i].row) != HC_PASS)
            paragraph(out, "FAIL", "", entry[i].row->note);
}

static void write_number(struct hc_page_out *out, double value, enum hc_format format)
{
    hc_page_number_cell(out, "%.9g", value);
    hc_page_cell(out, format < HC_FORMAT_COUNT ? hc_formats[format].name : "");
}

static void write_table(struct hc_page_out *out, const struct hc_row *row)
{
    static const char *const titles[] = {"", "#buggy", "", "#fixed", "", "#real", "#bound"};
    struct hc_exhibits shown;
    hc_exhibits_read(row->exhibits, &shown);
    hc_page_table(out, "Both arms in numbers", titles, 7);
    for (int i = 0; i < shown.count; i++) {
        const struct hc_exhibit *e = &shown.exhibit[i];
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_code_cell(out, e->name);
        write_number(out, e->buggy, e->buggy_format);
        write_number(out, e->fixed, e->format);
        hc_page_number_cell(out, "%.9g", e->real);
        hc_page_number_cell(out, "%.2g", e->rad);
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
}

/* What this program's own list of cases says of the bug. */
static void write_arms(struct hc_page_out *out, const struct hc_bug *bug)
{
    char *text = NULL;
    size_t size = 0;
    FILE *arms = hc_memory_stream(&text, &size);
    if (!arms)
        return;
    hc_bug_print_arms(arms, bug);
    if (fclose(arms) == 0)
        hc_page_pre(out, text);
    free(text);
}

static void write_lesson(struct hc_page_out *out, const struct hc_bug *bug)
{
    paragraph(out, "lesson", "", bug->lesson ? bug->lesson : "");
    if (bug->correction)
        paragraph(out, NULL, "Not as reported: ", bug->correction);
    for (int buggy = 1; buggy >= 0; buggy--) {
        char line[HC_LONGEST_COMMAND];
        hc_bug_command(bug, buggy, line);
        if (line[0])
            hc_page_pre(out, line);
        if (hc_bug_is_shared(bug))
            break;
    }
}

/* One curve is enough: the backends have the same bits. */
static void write_curve(struct hc_page_out *out, const char *name, const struct hc_drawn *drawn)
{
    for (; drawn; drawn = drawn->next)
        if (strcmp(drawn->row->name, name) == 0 && drawn->svg) {
            (void)fprintf(out->file, "<div class=\"scroll\">%s</div>\n", drawn->svg);
            return;
        }
}

static void write_source(struct hc_page_out *out, const char *slug, const char *source)
{
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_code(out, slug);
    if (source) {
        hc_page_text(out, " from ");
        hc_page_write_linked(out, source);
    }
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
}

/* The other reports of the same bug. */
static void write_also(struct hc_page_out *out, const struct hc_case *what)
{
    int n;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n && what; i++)
        if (reports[i].shown_by == what && !hc_report_is_named(&reports[i]))
            write_source(out, reports[i].slug, reports[i].source);
}

void hc_page_write_bug(struct hc_page_out *out, const struct hc_page_entry *entry, int count,
                       const struct hc_drawn *drawn)
{
    const char *name = entry[0].row->name;
    const struct hc_case *what = hc_case_by_name(name);
    const struct hc_bug *bug = what ? hc_bug_of(what) : NULL;
    hc_page_heading(out, 3, NULL);
    hc_page_text(out, what ? what->title : name);
    hc_page_heading_end(out, 3);
    write_source(out, name, what ? what->source : NULL);
    write_also(out, what);
    write_verdicts(out, entry, count);
    if (bug)
        write_arms(out, bug);
    write_table(out, entry[0].row);
    if (bug)
        write_lesson(out, bug);
    write_curve(out, name, drawn);
}
