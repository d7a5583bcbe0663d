/* The top of the page: the verdict in a word, and what was run. */
#ifndef HC_CLI_REPORT_PAGE_HEAD_H
#define HC_CLI_REPORT_PAGE_HEAD_H

#include "cli/report/page_baseline.h"
#include "cli/report/page_out.h"
#include "cli/report/page_results.h"

/* PASS or FAIL, as a run of all this would end; NOTHING where nothing was checked. A record that
   was cut short or has a planted fault is evidence of nothing, and FAIL. */
struct hc_page_word {
    const char *word;
    char reason[512];
};

/* `baseline` may be NULL. */
struct hc_page_word hc_page_judge(const struct hc_page_record *records, int count,
                                  const struct hc_page_results *results,
                                  const struct hc_page_baseline *baseline);

/* Everything before the first section. `css` are rules beside the page's own. */
void hc_page_write_head(struct hc_page_out *out, const struct hc_page_word *word, const char *css);

/* The section with the facts and the counts. */
void hc_page_write_what_was_run(struct hc_page_out *out, const struct hc_page_record *records,
                                int count, const struct hc_page_results *results);

void hc_page_write_foot(struct hc_page_out *out);

#endif
