/* All cases. */
#ifndef HC_CASES_REGISTRY_H
#define HC_CASES_REGISTRY_H

#include "check/check.h"

/* All cases sorted by name, the generated ones included; *n becomes their number. NULL, with a line
   and *n = 0, if there is no memory. */
const struct hc_case *const *hc_all_cases(int *n);

#endif
