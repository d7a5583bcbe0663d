/* The inside of the runner: units of work, run by one worker or by several. */
#ifndef HC_CHECK_WORKERS_H
#define HC_CHECK_WORKERS_H

#include "check/case_run.h"

/* Runs the units on as many workers as the options and the backends allow, and reports them in
   their order. What a backend's open returned, or HC_NO_MEMORY. */
enum hc_status hc_run_units(const struct hc_run_options *options, const struct hc_case_run *units,
                            int count);

#endif
