/* The page of `halfcheck report`: what records say becomes the data that reports/page.html, or
   reports/page.markdown, is filled in with.

     page       the whole: the verdict in a word, the pictures, and the sections in one object
     sections   what each section is called, and what it sets
     results    what failed, what was not checked, and what passed, by family
     baseline   what is otherwise than in a baseline
     field      bugs from the field, who catches them, and the numbers of texts
     runs       how and where the records were made, and rates
     watch      another page: what a watch of a training has seen
     template   a template filled in with an object; the only place that escapes texts
     script     the files of reports/ that stand in the program
     plot       gnuplot, for these pictures (cli/picture) and for those of training and calc
     pdf        the page printed by a browser
     wellformed for tests: whether a page is well-formed */
#ifndef HC_CLI_REPORT_PAGE_H
#define HC_CLI_REPORT_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/gate/gate.h"
#include "cli/picture/pictures.h"

/* A comparison with a baseline that was made. */
struct hc_page_baseline {
    const char *path; /* of the baseline */
    const struct hc_gate *gate;
};

/* What the page shows. */
struct hc_page {
    const struct hc_page_record *records;
    int count;
    const struct hc_page_pictures *pictures;
    const struct hc_page_baseline *baseline; /* NULL: none */
};

/* Writes the page, as HTML or as Markdown, which has no pictures. HC_NO_MEMORY. */
enum hc_status hc_page_write(FILE *file, bool markdown, const struct hc_page *page);

/* Writes the page of what halfcheck.torch.watch has seen, from the seen.json of its report.
   HC_INVALID, with a line, if it is none; HC_NO_MEMORY. */
enum hc_status hc_page_write_watch(FILE *file, const char *path);

#endif
