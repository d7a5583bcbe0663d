/* Names that cases had in the version before. They are understood for one version: in patterns of
   `run`, by `explain`, and in records, so that a baseline that was taken before goes on serving. */
#ifndef HC_CHECK_RECORD_FORMER_H
#define HC_CHECK_RECORD_FORMER_H

#include <stdbool.h>

#include "op/typed.h"

typedef char hc_case_name[HC_LONGEST_NAME + 1];

/* The name that the case `name` had before; false where it had the same. */
bool hc_former_name(const char *name, hc_case_name former);

/* The name that a case has now which was called `former`; false where no case was called so, or
   it still is. */
bool hc_current_name(const char *former, hc_case_name name);

#endif
