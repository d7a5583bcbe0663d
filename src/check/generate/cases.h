/* The generated cases. Each table is made on the first call and kept until the program ends. */
#ifndef HC_CHECK_GENERATE_CASES_H
#define HC_CHECK_GENERATE_CASES_H

#include "check/check.h"
#include "check/generate/op_space.h"
#include "check/repeats.h"

/* op/<name>/<format>/<shape>/<distribution>. NULL, with a line, if there is no memory. */
const struct hc_case_table *hc_op_cases(void);

/* bits/<op>/<formats>: the same bits as the backend `exact`. One case for each op of the classes
   whose results are settled to the bit, each set of formats and each set of parameters. */
const struct hc_case_table *hc_bit_cases(void);

/* border/<op>/<formats>/<extent>: sizes past every border, on integers. One case for each op, set
   of formats and extent that the op has. The name does not depend on the borders, so that it is the
   same whatever the backends are. */
const struct hc_case_table *hc_border_cases(void);

/* size/: calls as large as models make them. */
const struct hc_case_table *hc_size_cases(void);

#endif
