#include "cli/report/page.h"
#include "cli/report/page_cases.h"
#include "cli/report/page_catches.h"
#include "cli/report/page_museum.h"
#include "cli/report/page_quotes.h"
#include "cli/report/page_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/text.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<title>halfcheck</title>\n"
    "<style>\n"
    "body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 "
    "1em;"
    " color: #222 }\n"
    "table { border-collapse: collapse; margin: 1em 0 }\n"
    "th, td { text-align: left; padding: .15em .9em .15em 0; vertical-align: top }\n"
    "th { border-bottom: 1px solid #999 }\n"
    "td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }\n"
    "code, td.c { font: 13px/1.4 ui-monospace, monospace }\n"
    ".FAIL, .ERROR { color: #b00000; font-weight: bold }\n"
    ".SKIPPED, .UNIMPLEMENTED, .MISTRUSTED { color: #8a5a00 }\n"
    "svg { max-width: 100%; height: auto }\n"
    "details.m > summary { font-size: 1.1em; margin: .3em 0 } .f { color: #777; font-size: .85em "
    "}\n"
    "h4 { margin: 2em 0 .3em; border-top: 1px solid #ddd; padding-top: .8em } h4 ~ p { margin: "
    ".3em "
    "0 }\n"
    "pre { font: 13px/1.4 ui-monospace, monospace; background: #f6f6f4; padding: .6em; "
    "white-space: pre-wrap }\n"
    "</style></head><body>\n<h1>halfcheck</h1>\n";

static void cell(FILE *out, const char *class, const char *text)
{
    (void)fprintf(out, "<td class=\"%s\">", class);
    hc_text_markup(out, text);
    (void)fputs("</td>", out);
}

/* A table with a row for each member of the environments and a column for each record. */
static void write_environments(FILE *out, const struct hc_page_record *records, int count)
{
    const char *key;
    json_t *value;
    json_t *first = json_object_get(records[0].record.document, "environment");
    (void)fputs("<h2>Where it was measured</h2>\n<table><tr><th></th>", out);
    for (int r = 0; r < count; r++) {
        (void)fputs("<th>", out);
        hc_text_markup(out, records[r].name);
        (void)fputs("</th>", out);
    }
    (void)fputs("</tr>\n", out);
    json_object_foreach(first, key, value)
    {
        (void)fputs("<tr>", out);
        cell(out, "k", key);
        for (int r = 0; r < count; r++) {
            const json_t *member = json_object_get(records[r].record.environment, key);
            bool none = !member || json_is_null(member);
            char *text =
                none || json_is_string(member) ? NULL : json_dumps(member, JSON_ENCODE_ANY);
            cell(out, "c", text ? text : none ? "none" : json_string_value(member));
            free(text);
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table>\n", out);
}

static void write_counts(FILE *out, const struct hc_page_record *records, int count)
{
    (void)fputs("<h2>Verdicts</h2>\n<table><tr><th>record</th><th class=\"n\">results</th>", out);
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        (void)fprintf(out, "<th class=\"n\">%s</th>", hc_verdict_names[v]);
    (void)fputs("</tr>\n", out);
    for (int r = 0; r < count; r++) {
        int counts[HC_VERDICT_COUNT] = {0};
        for (int i = 0; i < records[r].record.count; i++)
            counts[hc_row_verdict(&records[r].record.rows[i])]++;
        (void)fputs("<tr>", out);
        cell(out, "c", records[r].name);
        (void)fprintf(out, "<td class=\"n\">%d</td>", records[r].record.count);
        for (int v = 0; v < HC_VERDICT_COUNT; v++)
            (void)fprintf(out, "<td class=\"n %s\">%d</td>", counts[v] ? hc_verdict_names[v] : "",
                          counts[v]);
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</table>\n", out);
}

static void write_picture(FILE *out, const char *title, const char *words, const char *svg)
{
    if (!svg)
        return;
    (void)fprintf(out, "<h2>%s</h2>\n<p>%s</p>\n%s\n", title, words, svg);
}

static void write_row(FILE *out, const struct hc_row *row)
{
    const char *verdict = hc_verdict_names[hc_row_verdict(row)];
    (void)fputs("<tr>", out);
    cell(out, verdict, verdict);
    cell(out, "c", row->name);
    cell(out, "c", row->backend);
    hc_print(out, "<td class=\"n\">%lld</td><td class=\"n\">%.3g</td><td class=\"n\">%.3g</td>",
             (long long)row->checked, row->error, row->bound);
    cell(out, "", row->unit);
    hc_print(out, "<td class=\"n\">%.3g</td></tr>\n", hc_ratio(row->error, row->bound));
    if (hc_row_verdict(row) == HC_PASS && !row->note[0])
        return;
    (void)fputs("<tr><td></td><td colspan=\"7\">", out);
    hc_text_markup(out, row->note);
    (void)fputs("<br/><code>", out);
    hc_text_markup(out, row->repro);
    (void)fputs("</code></td></tr>\n", out);
}

static void write_rows(FILE *out, const struct hc_record *record, bool passed)
{
    (void)fputs(
        "<table><tr><th>verdict</th><th>case</th><th>backend</th><th class=\"n\">checked</th>"
        "<th class=\"n\">error</th><th class=\"n\">bound</th><th>unit</th>"
        "<th class=\"n\">error/bound</th></tr>\n",
        out);
    for (int i = 0; i < record->count; i++)
        if ((hc_row_verdict(&record->rows[i]) == HC_PASS) == passed)
            write_row(out, &record->rows[i]);
    (void)fputs("</table>\n", out);
}

static void write_results(FILE *out, const struct hc_page_record *record)
{
    int passed = 0;
    for (int i = 0; i < record->record.count; i++)
        passed += hc_row_verdict(&record->record.rows[i]) == HC_PASS;
    (void)fputs("<h2>", out);
    hc_text_markup(out, record->name);
    (void)fprintf(out, ": %s</h2>\n",
                  passed == record->record.count ? "everything passed" : "what did not pass");
    if (passed < record->record.count)
        write_rows(out, &record->record, false);
    (void)fprintf(out, "<details><summary>The %d results that passed</summary>\n", passed);
    write_rows(out, &record->record, true);
    (void)fputs("</details>\n", out);
}

/* The facts of the backends of a record: device, libraries, chosen plans. */
static void write_facts(FILE *out, const struct hc_page_record *record)
{
    const char *backend;
    const char *name;
    json_t *facts;
    json_t *fact;
    json_object_foreach((json_t *)record->record.backends, backend, facts)
    {
        (void)fputs("<details><summary>", out);
        hc_text_markup(out, record->name);
        (void)fputs(": what the backend ", out);
        hc_text_markup(out, backend);
        (void)fputs(" says about itself</summary>\n<table>", out);
        json_object_foreach(facts, name, fact)
        {
            (void)fputs("<tr>", out);
            cell(out, "k", name);
            cell(out, "c", json_string_value(fact));
            (void)fputs("</tr>\n", out);
        }
        (void)fputs("</table></details>\n", out);
    }
}

void hc_page_write(FILE *out, const struct hc_page_record *records, int count,
                   const struct hc_page_pictures *pictures)
{
    (void)fputs(head, out);
    hc_page_warn(out, records, count);
    write_counts(out, records, count);
    write_picture(
        out, "Headroom",
        "Each point is one result: its largest error divided by the bound that its contract"
        " allows. Right of 1 a claim is broken; at 0 the bits are equal.",
        pictures->headroom);
    write_picture(out, "Whose error it is",
                  "Largest errors divided by the bound. The implementation's is the distance of the"
                  " result from the format-exact value; the format's is the distance of the"
                  " format-exact value from the real one.",
                  pictures->answers);
    hc_page_write_museum(out, records, count, pictures->cases);
    hc_page_write_catches(out, records, count);
    hc_page_write_quotes(out, records, count);
    hc_page_write_cases(out, pictures->cases);
    if (pictures->why_not[0]) {
        (void)fputs("<p>No pictures: ", out);
        hc_text_markup(out, pictures->why_not);
        (void)fputs(".</p>\n", out);
    }
    for (int r = 0; r < count; r++)
        write_results(out, &records[r]);
    hc_page_write_runs(out, records, count);
    write_environments(out, records, count);
    for (int r = 0; r < count; r++)
        write_facts(out, &records[r]);
    (void)fputs("</body></html>\n", out);
}
