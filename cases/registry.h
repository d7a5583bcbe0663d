/* All cases. */
#ifndef HC_CASES_REGISTRY_H
#define HC_CASES_REGISTRY_H

#include "check/check.h"

/* All cases sorted by name, the generated ones included; *n becomes their number. NULL, with a line
   and *n = 0, if there is no memory. */
const struct hc_case *const *hc_all_cases(int *n);

/* Adds the cases of a plug-in (plugin.h), whose names have been checked. HC_INVALID, with a line,
   if there are too many plug-ins. */
enum hc_status hc_cases_add(const struct hc_case_table *table);

/* The case of that name, or NULL. */
const struct hc_case *hc_case_by_name(const char *name);

#endif
