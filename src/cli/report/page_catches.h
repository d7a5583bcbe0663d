/* Who catches what: the bugs in the records, judged by each rule of comparison. */
#ifndef HC_CLI_REPORT_PAGE_CATCHES_H
#define HC_CLI_REPORT_PAGE_CATCHES_H

#include "cli/report/page_out.h"
#include "cli/report/page_record.h"

/* Writes a section, or nothing if no result has a bug's table. A bug that several results show is
   judged once, by its result on the backend `exact` if there is one. The half implementations are
   those of this program's own list of cases. */
void hc_page_write_catches(struct hc_page_out *out, const struct hc_page_record *records,
                           int count);

#endif
