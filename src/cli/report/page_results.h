/* The results of all records, in the order in which the page lists them. */
#ifndef HC_CLI_REPORT_PAGE_RESULTS_H
#define HC_CLI_REPORT_PAGE_RESULTS_H

#include <stdbool.h>

#include "cli/report/page_record.h"

/* What a verdict means for who owns a CI. */
enum hc_page_kind {
    HC_PAGE_FAILED,      /* FAIL, ERROR: a run of it ends with a status of its own */
    HC_PAGE_NOT_CHECKED, /* SKIPPED, UNIMPLEMENTED, MISTRUSTED */
    HC_PAGE_PASSED,
    HC_PAGE_KINDS
};

struct hc_page_result {
    const struct hc_row *row;
    int record; /* its index */
    enum hc_page_kind kind;
    double ratio; /* error/bound */
    int family;   /* the length of the family's name at the beginning of the case's */
};

/* All results: by family ("op/gemm" of op/gemm/fp16/7x9, "eps" of eps/claim), record and backend,
   failures first, and among those of a kind the one that is furthest off. */
struct hc_page_results {
    struct hc_page_result *all;
    int count;
    int kinds[HC_PAGE_KINDS]; /* how many are of each */
    int of_verdict[HC_VERDICT_COUNT];
};

/* HC_NO_MEMORY, with nothing to free. */
enum hc_status hc_page_results_sort(const struct hc_page_record *records, int count,
                                    struct hc_page_results *results);
void hc_page_results_free(struct hc_page_results *results);

/* The results of one family in one record on one backend. */
struct hc_page_group {
    const struct hc_page_result *first;
    int count;
    const struct hc_page_result *of_kind[HC_PAGE_KINDS]; /* where those of each kind begin */
    int kinds[HC_PAGE_KINDS];                            /* and how many there are */
    char name[512];                                      /* of the family */
};

/* The next group; the first one after (struct hc_page_group){0}. Returns false behind the last. */
bool hc_page_group_next(const struct hc_page_results *results, struct hc_page_group *group);

#endif
