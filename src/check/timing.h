/* Benches: rates, and ratios between two things that were measured in the same run. */
#ifndef HC_CHECK_TIMING_H
#define HC_CHECK_TIMING_H

#include <stdbool.h>

#include "backend.h"

struct hc_bench_run; /* where the rows go */

struct hc_bench {
    const char *name;  /* what/how, in lower case and dashes: "sweep/cast-fp16" */
    const char *title; /* one sentence: what is measured against what */
    void (*run)(struct hc_bench_run *run);
    bool on_any; /* measures hc_bench_backend(run), whichever that is */
};

struct hc_bench_table {
    const struct hc_bench *benches;
    int count;
};

/* One row of a bench: `rate` in `unit` ("conversions/s", "images/s", "bytes/s": larger is better).
   `what` tells the rows of one bench apart ("host fp16"); it is "" if there is only one. */
struct hc_rate {
    const char *what;
    double rate;
    const char *unit;
    const char *against; /* what else was measured in this run, or NULL */
    double other;        /* its rate, in the same unit */
    double least;        /* rate / other that is claimed; 0: nothing is */
};

/* The backend that was asked for, which is able to run here; host if none was. */
const struct hc_backend *hc_bench_backend(const struct hc_bench_run *run);

/* The strings are used before the call returns. */
void hc_bench_rate(struct hc_bench_run *run, const struct hc_rate *rate);

/* Says in one line why nothing can be measured here. */
void hc_bench_skip(struct hc_bench_run *run, const char *why);

/* Runs works[0], works[1], ... in turn, each at least `times` times and all for at least `least`
   seconds together, after one round that is not counted. The shortest time of each, in seconds,
   goes to seconds[]. Turns and minima keep the ratios even if the machine is not quiet. */
void hc_bench_time(void (*const works[])(void *context), int count, void *context, int times,
                   double least, double seconds[]);

/* Seconds of a monotonic clock. */
double hc_clock(void);

/* The inside of a bench run, for `halfcheck bench`. */

struct hc_bench_run {
    const struct hc_bench *bench;
    const struct hc_backend *backend;
    void (*row)(struct hc_bench_run *run, const struct hc_rate *rate);
    void (*skipped)(struct hc_bench_run *run, const char *why);
    void *context;
};

#endif
