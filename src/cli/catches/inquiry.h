/* An inquiry: all bugs that were run for the table, and the fate of every report. */
#ifndef HC_CLI_CATCHES_INQUIRY_H
#define HC_CLI_CATCHES_INQUIRY_H

#include <jansson.h>
#include <stdio.h>

#include "check/runner.h"
#include "cli/catches/catches.h"

struct hc_inquiry {
    const char *backend;
    struct hc_catch *row; /* sorted; hc_catch_sort */
    int count;
    const struct hc_case **without; /* bugs that have no table here: their run failed */
    int without_count;
    enum hc_status status; /* of what was done with the results */
    bool all;              /* all bugs were asked for, so the fate of the reports is known */
};

/* Runs the bugs whose names match one of the patterns, or all. HC_INVALID if there is none, and
   what the run or the half implementations returned. */
enum hc_status hc_inquire(const struct hc_backend *backend, const char *const *patterns,
                          int pattern_count, struct hc_inquiry *inquiry);
void hc_inquiry_free(struct hc_inquiry *inquiry);

/* The table for a terminal; the page docs/who-catches-what.md; and a JSON document. */
void hc_inquiry_print(FILE *out, const struct hc_inquiry *inquiry);
void hc_inquiry_print_page(FILE *out, const struct hc_inquiry *inquiry);
json_t *hc_inquiry_document(const struct hc_inquiry *inquiry);

/* What halfcheck itself misses or cannot judge, item by item, each a line of sentences. Returns
   false after the last one. */
bool hc_inquiry_own(FILE *out, const struct hc_inquiry *inquiry, int item);

#endif
