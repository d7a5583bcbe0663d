/* The section with the pictures. */
#ifndef HC_CLI_REPORT_PAGE_FIGURES_H
#define HC_CLI_REPORT_PAGE_FIGURES_H

#include "cli/report/page_draw.h"
#include "cli/report/page_out.h"

/* Each picture below its question, with the answer beneath, and its data and command to be opened.
   Markdown has the questions and answers. */
void hc_page_write_figures(struct hc_page_out *out, const struct hc_page_pictures *pictures);

#endif
