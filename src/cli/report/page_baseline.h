/* What is otherwise than in a baseline, on the page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_BASELINE_H
#define HC_CLI_REPORT_PAGE_BASELINE_H

#include "cli/gate/gate.h"
#include "cli/report/page_out.h"

/* A comparison that was made. */
struct hc_page_baseline {
    const char *path; /* of the baseline */
    const struct hc_gate *gate;
};

/* Writes a section: a table of families for each group of findings, and what is another machine or
   other software. Of what is worse, the heaviest findings have their commands. */
void hc_page_write_baseline(struct hc_page_out *out, const struct hc_page_baseline *baseline);

#endif
