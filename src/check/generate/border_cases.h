/* The generated cases border/<op>/<formats>/<extent>: sizes past every border, on integers. */
#ifndef HC_CHECK_GENERATE_BORDER_CASES_H
#define HC_CHECK_GENERATE_BORDER_CASES_H

#include "check/check.h"

/* One case for each op, set of formats and extent that the op has. The name does not depend on the
   borders, so that it is the same whatever the backends are. Made on the first call, kept until the
   program ends. */
const struct hc_case_table *hc_border_cases(void);

#endif
