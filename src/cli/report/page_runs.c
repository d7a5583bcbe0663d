#include "cli/report/page_runs.h"

#include "check/record/parts.h"
#include "op/text.h"

/* The record's name, and the part's. */
static void write_name(struct hc_page_out *out, const struct hc_page_record *record,
                       const struct hc_record_part *part)
{
    hc_page_text(out, record->name);
    if (part->name[0])
        hc_page_text(out, ", part ");
    hc_page_text(out, part->name);
}

static void warn(struct hc_page_out *out, const struct hc_page_record *record,
                 const struct hc_record_part *part, const char *what, const char *why)
{
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, "FAIL");
    write_name(out, record, part);
    hc_page_text(out, what);
    hc_page_text(out, why);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
}

void hc_page_warn(struct hc_page_out *out, const struct hc_page_record *records, int count)
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

/* A cell with the words of a list, quoted where they are words of a shell's command; or with `none`
   if it is empty. */
static void write_words(struct hc_page_out *out, const json_t *list, bool shell, const char *none)
{
    char quoted[8192];
    hc_page_begin(out, HC_BLOCK_CELL, "c");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (shell)
            (void)hc_text_shell(quoted, sizeof quoted, word ? word : "");
        hc_page_text(out, i ? " " : "");
        hc_page_text(out, shell ? quoted : word ? word : "");
    }
    hc_page_text(out, json_array_size(list) ? "" : none);
    hc_page_end(out, HC_BLOCK_CELL);
}

static void write_run(struct hc_page_out *out, const struct hc_page_record *record,
                      const struct hc_record_part *part)
{
    const char *seed = json_string_value(json_object_get(part->run, "seed"));
    const char *none = part->run ? "none" : "not known";
    hc_page_begin(out, HC_BLOCK_ROW, NULL);
    hc_page_begin(out, HC_BLOCK_CELL, "c");
    write_name(out, record, part);
    hc_page_end(out, HC_BLOCK_CELL);
    hc_page_cell(out, part->level ? part->level : none);
    hc_page_cell(out, seed ? seed : "not known");
    write_words(out, part->patterns, false, part->run ? "all" : "not known");
    write_words(out, json_object_get(part->run, "backends"), false, none);
    write_words(out, json_object_get(part->run, "command"), true, "not known");
    hc_page_end(out, HC_BLOCK_ROW);
}

/* How many cases of one component were left out, kind by kind, and the first reason. */
static void write_left_out(struct hc_page_out *out, const char *backend, const char *component,
                           const json_t *counts)
{
    static const char *const kinds[] = {"absent", "refused", "order", "unasked"};
    const char *why = json_string_value(json_object_get(counts, "why"));
    hc_page_begin(out, HC_BLOCK_ROW, NULL);
    hc_page_code_cell(out, backend);
    hc_page_code_cell(out, component);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        hc_page_number_cell(out, "%lld",
                            (long long)json_integer_value(json_object_get(counts, kinds[i])));
    hc_page_cell(out, why ? why : "");
    hc_page_end(out, HC_BLOCK_ROW);
}

/* Writes the rows of a part. Without `out` it only tells whether there are any. */
static bool write_all_left_out(struct hc_page_out *out, const struct hc_record_part *part)
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
static void write_omissions(struct hc_page_out *out, const struct hc_page_record *records,
                            int count)
{
    static const char *const titles[] = {
        "backend",           "component",       "#without a kernel", "#refused",
        "#of another order", "#without a call", "the first reason"};
    bool any = false;
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++)
            any |= write_all_left_out(NULL, &records[r].record.parts[p]);
    if (!any)
        return;
    hc_page_heading(out, 3, "left-out");
    hc_page_text(out, "Cases that were left out");
    hc_page_heading_end(out, 3);
    hc_page_table(out, "Cases that were left out", titles, 7);
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++)
            (void)write_all_left_out(out, &records[r].record.parts[p]);
    hc_page_table_end(out);
}

void hc_page_write_runs(struct hc_page_out *out, const struct hc_page_record *records, int count)
{
    static const char *const titles[] = {"record", "level", "seed", "cases", "backends", "command"};
    hc_page_heading(out, 2, "runs");
    hc_page_text(out, "How it was run");
    hc_page_heading_end(out, 2);
    hc_page_table(out, "How it was run", titles, 6);
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++)
            write_run(out, &records[r], &records[r].record.parts[p]);
    hc_page_table_end(out);
    write_omissions(out, records, count);
}
