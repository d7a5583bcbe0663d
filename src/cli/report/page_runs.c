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

/* A word of a command as the shell takes it. */
static void write_shell(FILE *out, const char *word)
{
    char quoted[8192];
    (void)hc_text_shell(quoted, sizeof quoted, word);
    hc_text_markup(out, quoted);
}

static void write_command(FILE *out, const json_t *words)
{
    (void)fputs("<td class=\"c\">", out);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        (void)fputs(i ? " " : "", out);
        write_shell(out, word ? word : "");
    }
    hc_text_markup(out, json_array_size(words) ? "" : "not known");
    (void)fputs("</td>", out);
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
    write_command(out, json_object_get(part->run, "command"));
    (void)fputs("</tr>\n", out);
}

/* How many cases of one component were left out, kind by kind, and the first reason. */
static void write_left_out(FILE *out, const char *backend, const char *component,
                           const json_t *counts)
{
    static const char *const kinds[] = {"absent", "refused", "order", "unasked"};
    (void)fputs("<tr><td class=\"c\">", out);
    hc_text_markup(out, backend);
    (void)fputs("</td><td class=\"c\">", out);
    hc_text_markup(out, component);
    (void)fputs("</td>", out);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        (void)fprintf(out, "<td class=\"n\">%lld</td>",
                      (long long)json_integer_value(json_object_get(counts, kinds[i])));
    const char *why = json_string_value(json_object_get(counts, "why"));
    (void)fputs("<td>", out);
    hc_text_markup(out, why ? why : "");
    (void)fputs("</td></tr>\n", out);
}

/* Writes the rows of a part. Without `out` it only tells whether there are any. */
static bool write_all_left_out(FILE *out, const struct hc_record_part *part)
{
    const char *backend;
    const char *component;
    json_t *of_backend;
    json_t *counts;
    bool any = false;
    json_object_foreach((json_t *)part->left_out, backend, of_backend)
    {
        if (!json_is_object(of_backend)) /* a reason why it did not run at all */
            continue;
        json_object_foreach(of_backend, component, counts)
        {
            any = true;
            if (out)
                write_left_out(out, backend, component, counts);
        }
    }
    return any;
}

/* Green is only what has run. */
static void write_omissions(FILE *out, const struct hc_page_record *records, int count)
{
    bool any = false;
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++)
            any |= write_all_left_out(NULL, &records[r].record.parts[p]);
    if (!any)
        return;
    (void)fputs("<h3>Cases that were left out</h3>\n<table><tr><th>backend</th><th>component</th>"
                "<th class=\"n\">without a kernel</th><th class=\"n\">refused</th>"
                "<th class=\"n\">of another order</th><th class=\"n\">without a call</th>"
                "<th>the first reason</th></tr>\n",
                out);
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++)
            (void)write_all_left_out(out, &records[r].record.parts[p]);
    (void)fputs("</table>\n", out);
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
    write_omissions(out, records, count);
}
