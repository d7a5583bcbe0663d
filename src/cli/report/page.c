#include "cli/report/page.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/page_catches.h"
#include "cli/report/page_figures.h"
#include "cli/report/page_head.h"
#include "cli/report/page_lists.h"
#include "cli/report/page_museum.h"
#include "cli/report/page_quotes.h"
#include "cli/report/page_rates.h"
#include "cli/report/page_runs.h"
#include "op/memory_stream.h"
#include "op/text.h"

/* The links at the top, to the sections that there are. */
static const struct {
    const char *id;
    const char *title;
} links[] = {
    {"failures", "failures"},
    {"baseline", "baseline"},
    {"not-checked", "not checked"},
    {"pictures", "pictures"},
    {"bugs", "bugs"},
    {"catches", "who catches what"},
    {"texts", "texts"},
    {"passed", "what passed"},
    {"rates", "rates"},
    {"runs", "runs"},
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

static void write_body(struct hc_page_out *out, const struct hc_page *page,
                       const struct hc_page_results *results)
{
    const struct hc_page_record *records = page->records;
    int count = page->count;
    hc_page_write_what_was_run(out, records, count, results);
    hc_page_warn(out, records, count);
    hc_page_write_failures(out, records, count, results);
    if (page->baseline)
        hc_page_write_baseline(out, page->baseline);
    hc_page_write_not_checked(out, records, count, results);
    hc_page_write_figures(out, page->pictures);
    hc_page_write_museum(out, records, count, page->pictures->cases);
    hc_page_write_catches(out, records, count);
    if (!out->markdown)
        hc_page_write_quotes(out, records, count);
    hc_page_write_passes(out, records, count, results);
    hc_page_write_rates(out, records, count);
    hc_page_write_runs(out, records, count);
    hc_page_write_environments(out, records, count);
}

/* The body, which the links at its top are made from; NULL without memory. */
static char *make_body(const struct hc_page *page, bool markdown,
                       const struct hc_page_results *results)
{
    char *text = NULL;
    size_t size = 0;
    struct hc_page_out out = {.file = hc_memory_stream(&text, &size), .markdown = markdown};
    if (!out.file)
        return NULL;
    write_body(&out, page, results);
    if (fclose(out.file) == 0)
        return text;
    free(text);
    return NULL;
}

enum hc_status hc_page_write(FILE *file, bool markdown, const struct hc_page *page)
{
    struct hc_page_results results;
    struct hc_page_out out = {.file = file, .markdown = markdown};
    enum hc_status status = hc_page_results_sort(page->records, page->count, &results);
    if (status != HC_OK)
        return status;
    char *body = make_body(page, markdown, &results);
    if (body) {
        struct hc_page_word word =
            hc_page_judge(page->records, page->count, &results, page->baseline);
        hc_page_write_head(&out, &word, hc_page_picture_colours);
        write_links(&out, body);
        (void)fputs(body, file);
        hc_page_write_foot(&out);
    } else
        status = hc_fail(HC_NO_MEMORY, "no memory for the page");
    hc_page_results_free(&results);
    free(body);
    return status;
}
