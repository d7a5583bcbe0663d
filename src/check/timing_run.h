/* The inside of a bench run, for `halfcheck bench`. */
#ifndef HC_CHECK_TIMING_RUN_H
#define HC_CHECK_TIMING_RUN_H

#include "check/timing.h"

struct hc_bench_run {
    const struct hc_bench *bench;
    const struct hc_backend *backend;
    void (*row)(struct hc_bench_run *run, const struct hc_rate *rate);
    void (*skipped)(struct hc_bench_run *run, const char *why);
    void *context;
};

#endif
