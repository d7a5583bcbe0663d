#include <stdlib.h>

#include "cli/report/page_runs.h"

/* A cell with a member of an environment, which is a text, a number or null. */
static void write_member(struct hc_page_out *out, const json_t *member)
{
    char *text = !member || json_is_string(member) ? NULL : json_dumps(member, JSON_ENCODE_ANY);
    bool none = !member || json_is_null(member);
    const char *said = text ? text : json_string_value(member);
    hc_page_code_cell(out, none ? "none" : said ? said : ""); /* "": no memory, which is told */
    free(text);
}

/* A table with a row for each member of the environments and a column for each record. */
static void write_table(struct hc_page_out *out, const struct hc_page_record *records, int count)
{
    const char *key;
    json_t *value;
    json_t *first = json_object_get(records[0].record.document, "environment");
    const char **titles = calloc((size_t)count + 1, sizeof *titles);
    if (!titles)
        return;
    titles[0] = "";
    for (int r = 0; r < count; r++)
        titles[r + 1] = records[r].name;
    hc_page_table(out, "Where it was measured", titles, count + 1);
    json_object_foreach(first, key, value)
    {
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_cell(out, key);
        for (int r = 0; r < count; r++)
            write_member(out, json_object_get(records[r].record.environment, key));
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
    free(titles);
}

/* The facts of the backends of a record: device, libraries, chosen plans. */
static void write_facts(struct hc_page_out *out, const struct hc_page_record *record)
{
    static const char *const titles[] = {"fact", "value"};
    const char *backend;
    const char *name;
    json_t *facts;
    json_t *fact;
    json_object_foreach((json_t *)record->record.backends, backend, facts)
    {
        hc_page_fold(out, false);
        hc_page_text(out, record->name);
        hc_page_text(out, ": what the backend ");
        hc_page_text(out, backend);
        hc_page_text(out, " says about itself");
        hc_page_fold_body(out);
        hc_page_table(out, "What a backend says about itself", titles, 2);
        json_object_foreach(facts, name, fact)
        {
            hc_page_begin(out, HC_BLOCK_ROW, NULL);
            hc_page_cell(out, name);
            hc_page_code_cell(out, json_string_value(fact));
            hc_page_end(out, HC_BLOCK_ROW);
        }
        hc_page_table_end(out);
        hc_page_fold_end(out);
    }
}

void hc_page_write_environments(struct hc_page_out *out, const struct hc_page_record *records,
                                int count)
{
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "environment");
    hc_page_text(out, "Where it was measured");
    hc_page_heading_end(out, 2);
    write_table(out, records, count);
    for (int r = 0; r < count; r++)
        write_facts(out, &records[r]);
    hc_page_close(out, "section");
}
