/* Cases from plug-ins: --plugin FILE. */
#ifndef HC_CASES_PLUGIN_H
#define HC_CASES_PLUGIN_H

#include "op/status.h"

/* Adds the cases of the plug-in that was added last (plugins.h), if it has any, to hc_all_cases.
   HC_INVALID, with a line that begins with `file`, if it was built with other headers than this
   program, or if a case is incomplete, has an odd name, or one of a component that is there. */
enum hc_status hc_cases_of_plugin(const char *file);

#endif
