#include "cli/calc/progress.h"

#include <stdio.h>

#include "check/timing.h"
#include "cli/colour.h"

struct hc_calc_progress hc_calc_progress(int64_t steps)
{
    return (struct hc_calc_progress){
        .terminal = hc_terminal_draws(stderr), .steps = steps, .started = hc_clock()};
}

void hc_calc_progress_end(struct hc_calc_progress *progress)
{
    if (progress->drawn > 0)
        hc_terminal_clear(stderr);
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
    char line[160];
    (void)snprintf(line, sizeof line, "step %lld of %lld, %lld:%02lld:%02lld left, %.3g steps/s",
                   (long long)step, (long long)progress->steps, left / 3600, left / 60 % 60,
                   left % 60, rate);
    hc_terminal_redraw(stderr, line);
    progress->drawn = now;
}
