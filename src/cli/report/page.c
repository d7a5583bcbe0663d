#include "cli/report/page.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/page_catches.h"
#include "cli/report/page_figures.h"
#include "cli/report/page_head.h"
#include "cli/report/page_lists.h"
#include "cli/report/page_museum.h"
#include "cli/report/page_quotes.h"
#include "cli/report/page_runs.h"
#include "op/text.h"

/* The links at the top, to the sections that there are. */
static const struct {
    const char *id;
    const char *title;
} links[] = {
    {"failures", "failures"},        {"not-checked", "not checked"},
    {"pictures", "pictures"},        {"bugs", "bugs"},
    {"catches", "who catches what"}, {"texts", "texts"},
    {"passed", "what passed"},       {"runs", "runs"},
    {"environment", "environment"},
};

static void write_links(struct hc_page_out *out, const char *body)
{
    char id[64];
    hc_page_open(out, "nav", NULL);
    for (size_t i = 0; i < sizeof links / sizeof links[0] && !out->markdown; i++) {
        (void)snprintf(id, sizeof id, "<h2 id=\"%s\">", links[i].id);
        if (strstr(body, id))
            (void)fprintf(out->file, "<a href=\"#%s\">%s</a>\n", links[i].id, links[i].title);
    }
    hc_page_close(out, "nav");
}

static void write_body(struct hc_page_out *out, const struct hc_page_record *records, int count,
                       const struct hc_page_results *results,
                       const struct hc_page_pictures *pictures)
{
    hc_page_write_what_was_run(out, records, count, results);
    hc_page_warn(out, records, count);
    hc_page_write_failures(out, records, count, results);
    hc_page_write_not_checked(out, records, count, results);
    hc_page_write_figures(out, pictures);
    hc_page_write_museum(out, records, count, pictures->cases);
    hc_page_write_catches(out, records, count);
    if (!out->markdown)
        hc_page_write_quotes(out, records, count);
    hc_page_write_passes(out, records, count, results);
    hc_page_write_runs(out, records, count);
    hc_page_write_environments(out, records, count);
}

enum hc_status hc_page_write(FILE *file, bool markdown, const struct hc_page_record *records,
                             int count, const struct hc_page_pictures *pictures)
{
    struct hc_page_results results;
    struct hc_page_out out = {.file = file, .markdown = markdown};
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return hc_fail(HC_NO_MEMORY, "no memory for the page");
    enum hc_status status = hc_page_results_sort(records, count, &results);
    if (status == HC_OK) {
        struct hc_page_out body = {.file = memory, .markdown = markdown};
        write_body(&body, records, count, &results, pictures);
    }
    if (fclose(memory) != 0)
        status = hc_fail(HC_NO_MEMORY, "no memory for the page");
    if (status == HC_OK) {
        struct hc_page_word word = hc_page_judge(records, count, &results);
        hc_page_write_head(&out, &word, hc_page_picture_colours);
        write_links(&out, text);
        (void)fputs(text, file);
        hc_page_write_foot(&out);
        hc_page_results_free(&results);
    }
    free(text);
    return status;
}
