/* A record and its name on the page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_RECORD_H
#define HC_CLI_REPORT_PAGE_RECORD_H

#include "check/record/record.h"

struct hc_page_record {
    const char *name;
    struct hc_record record;
};

/* Why a picture could not be drawn; "" if it was. */
enum { HC_WHY_NOT = 512 };

#endif
