/* The generated cases size/: calls as large as models make them. */
#ifndef HC_CHECK_GENERATE_SIZE_CASES_H
#define HC_CHECK_GENERATE_SIZE_CASES_H

#include "check/check.h"

/* The same table each time. */
const struct hc_case_table *hc_size_cases(void);

#endif
