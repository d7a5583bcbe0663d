/* The inside of the runner: units of work on one thread or on several. */
#ifndef HC_CHECK_WORKERS_H
#define HC_CHECK_WORKERS_H

#include "check/runner.h"

/* A case on the backend of that number, or once (-1). */
struct hc_case_run {
    const struct hc_case *what;
    int backend;
};

/* Runs the units and reports them in their order, on as many threads as the options and the
   backends allow. What a backend's open returned, or HC_NO_MEMORY. */
enum hc_status hc_run_units(const struct hc_run_options *options, const struct hc_case_run *units,
                            int count);

#endif
