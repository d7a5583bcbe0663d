#include "cli/report/page_runs.h"

#include "check/record/parts.h"
#include "op/text.h"

static void write_name(FILE *out, const struct hc_page_record *record,
                       const struct hc_record_part *part)
{
    hc_text_markup(out, record->name);
    if (part->name[0])
        (void)fputs(", part ", out);
    hc_text_markup(out, part->name);
}

static void warn(FILE *out, const struct hc_page_record *record, const struct hc_record_part *part,
                 const char *what, const char *why)
{
    (void)fputs("<p class=\"FAIL\">", out);
    write_name(out, record, part);
    (void)fputs(what, out);
    hc_text_markup(out, why);
    (void)fputs("</p>\n", out);
}

void hc_page_warn(FILE *out, const struct hc_page_record *records, int count)
{
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++) {
            const struct hc_record_part *part = &records[r].record.parts[p];
            if (part->cut)
                warn(out, &records[r], part, " was cut short: ", part->cut);
            if (part->fault)
                warn(out, &records[r], part, " has a planted fault: ", part->fault);
        }
}

/* Writes a cell with the words of a list, or with `none` if it is empty. */
static void write_words(FILE *out, const json_t *list, const char *none)
{
    (void)fputs("<td class=\"c\">", out);
    for (size_t i = 0; i < json_array_size(list); i++) {
        (void)fputs(i ? " " : "", out);
        hc_text_markup(out, json_string_value(json_array_get(list, i)));
    }
    hc_text_markup(out, json_array_size(list) ? "" : none);
    (void)fputs("</td>", out);
}

static void write_run(FILE *out, const struct hc_page_record *record,
                      const struct hc_record_part *part)
{
    const char *seed = json_string_value(json_object_get(part->run, "seed"));
    (void)fputs("<tr><td class=\"c\">", out);
    write_name(out, record, part);
    (void)fputs("</td><td>", out);
    hc_text_markup(out, part->level ? part->level : part->run ? "none" : "not known");
    (void)fputs("</td><td class=\"n\">", out);
    hc_text_markup(out, seed ? seed : "not known");
    (void)fputs("</td>", out);
    write_words(out, part->patterns, part->run ? "all" : "not known");
    write_words(out, json_object_get(part->run, "backends"), part->run ? "none" : "not known");
    write_words(out, json_object_get(part->run, "command"), "not known");
    (void)fputs("</tr>\n", out);
}

void hc_page_write_runs(FILE *out, const struct hc_page_record *records, int count)
{
    (void)fputs("<h2>How it was run</h2>\n<table><tr><th>record</th><th>level</th>"
                "<th class=\"n\">seed</th><th>cases</th><th>backends</th><th>command</th></tr>\n",
                out);
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++)
            write_run(out, &records[r], &records[r].record.parts[p]);
    (void)fputs("</table>\n", out);
}
