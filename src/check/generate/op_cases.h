/* The generated cases op/<name>/<format>/<shape>/<distribution>. */
#ifndef HC_CHECK_GENERATE_OP_CASES_H
#define HC_CHECK_GENERATE_OP_CASES_H

#include "check/check.h"

/* Made on the first call, kept until the program ends. NULL, with a line, if there is no memory. */
const struct hc_case_table *hc_op_cases(void);

#endif
