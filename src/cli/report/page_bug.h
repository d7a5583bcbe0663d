/* One bug from the field, as the museum shows it. */
#ifndef HC_CLI_REPORT_PAGE_BUG_H
#define HC_CLI_REPORT_PAGE_BUG_H

#include "cli/report/page_cases.h"
#include "cli/report/page_out.h"

/* A result that has a table. */
struct hc_page_entry {
    const struct hc_row *row;
    const char *record; /* NULL: there is one record alone */
    int place;          /* in all records */
};

/* Writes the bug that these entries show, each on its backend. */
void hc_page_write_bug(struct hc_page_out *out, const struct hc_page_entry *entry, int count,
                       const struct hc_drawn *drawn);

#endif
