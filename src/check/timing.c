#include "check/timing.h"

#include <assert.h>
#include <time.h>

double hc_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const struct hc_backend *hc_bench_backend(const struct hc_bench_run *run)
{
    return run->backend;
}

void hc_bench_rate(struct hc_bench_run *run, const struct hc_rate *rate)
{
    assert(rate->what && rate->unit && rate->rate > 0);
    assert(!rate->against || rate->other > 0);
    assert(rate->against || rate->least == 0);
    run->row(run, rate);
}

void hc_bench_skip(struct hc_bench_run *run, const char *why)
{
    run->skipped(run, why);
}

void hc_bench_time(void (*const works[])(void *context), int count, void *context, int times,
                   double least, double seconds[])
{
    assert(times >= 1);
    double start = hc_clock();
    for (int turn = -1; turn < times || hc_clock() - start < least; turn++) {
        for (int w = 0; w < count; w++) {
            double begin = hc_clock();
            works[w](context);
            double took = hc_clock() - begin;
            if (turn <= 0 || took < seconds[w])
                seconds[w] = took;
        }
        if (turn < 0)
            start = hc_clock();
    }
}
