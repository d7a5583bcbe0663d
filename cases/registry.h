/* All cases there are. */
#ifndef HC_CASES_REGISTRY_H
#define HC_CASES_REGISTRY_H

#include "check/check.h"

/* By name, the generated ones included; the count in *n. NULL with a line, and none, where there is
   no memory. */
const struct hc_case *const *hc_all_cases(int *n);

#endif
