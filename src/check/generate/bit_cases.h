/* The generated cases bits/<op>/<formats>: the same bits as the backend `exact`. */
#ifndef HC_CHECK_GENERATE_BIT_CASES_H
#define HC_CHECK_GENERATE_BIT_CASES_H

#include "check/check.h"

/* One case for each op of the classes whose results are settled to the bit, each set of formats and
   each set of parameters. Made on the first call, kept until the program ends. */
const struct hc_case_table *hc_bit_cases(void);

#endif
