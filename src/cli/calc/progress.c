#include "cli/calc/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "check/timing.h"

struct hc_calc_progress hc_calc_progress(int64_t steps)
{
    return (struct hc_calc_progress){
        .terminal = isatty(STDERR_FILENO) == 1, .steps = steps, .started = hc_clock()};
}

void hc_calc_progress_end(struct hc_calc_progress *progress)
{
    if (progress->drawn > 0)
        (void)fputs("\r\033[K", stderr);
    progress->drawn = 0;
}

void hc_calc_progress_show(struct hc_calc_progress *progress, int64_t step)
{
    double now = progress->terminal ? hc_clock() : 0;
    double elapsed = now - progress->started;
    if (!progress->terminal || elapsed < 1 || now - progress->drawn < 0.2)
        return;
    double rate = (double)step / elapsed;
    long long left = (long long)((double)(progress->steps - step) / rate);
    (void)fprintf(stderr, "\r\033[Kstep %lld of %lld, %.3g steps/s, %lld:%02lld:%02lld left",
                  (long long)step, (long long)progress->steps, rate, left / 3600, left / 60 % 60,
                  left % 60);
    (void)fflush(stderr);
    progress->drawn = now;
}
