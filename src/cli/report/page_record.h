/* A record and its name on the page of `halfcheck report`. */
#ifndef HC_CLI_REPORT_PAGE_RECORD_H
#define HC_CLI_REPORT_PAGE_RECORD_H

#include "check/record/record.h"

struct hc_page_record {
    const char *name;
    struct hc_record record;
    bool baseline; /* the others are compared with it, and it is not shown by itself */
};

/* Why a picture could not be drawn; "" if it was. */
enum { HC_WHY_NOT = 512 };

#endif
