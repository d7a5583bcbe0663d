#include "cli/training/progress.h"

#include <stdio.h>

#include "check/timing.h"
#include "cli/colour.h"
#include "cli/stop.h"
#include "op/text.h"

enum { CELLS = 16 };

struct hc_progress_bar hc_progress_bar(const char *recipe, uint64_t seed)
{
    return (struct hc_progress_bar){
        .recipe = recipe, .seed = seed, .terminal = hc_terminal_draws(stderr), .first = -1};
}

void hc_progress_end(struct hc_progress_bar *bar)
{
    if (bar->terminal && bar->drawn > 0)
        hc_terminal_clear(stderr);
    bar->drawn = 0;
}

static void draw(struct hc_progress_bar *bar, const struct hc_progress *p)
{
    double now = hc_clock();
    char cells[CELLS + 1];
    char left[32] = "";
    if (bar->first < 0) {
        bar->first = p->step;
        bar->started = now;
    }
    if (now - bar->drawn < 0.1)
        return;
    int full = (int)(CELLS * p->step / p->steps);
    for (int i = 0; i < CELLS; i++)
        cells[i] = i < full ? '#' : '.';
    cells[CELLS] = '\0';
    if (now - bar->started > 2 && p->step > bar->first) {
        double each = (now - bar->started) / (double)(p->step - bar->first);
        int seconds = (int)(each * (double)(p->steps - p->step));
        (void)snprintf(left, sizeof left, " %d:%02d left", seconds / 60, seconds % 60);
    }
    char line[256];
    (void)hc_text_write(line, sizeof line, "%s [%s] %d/%d%s loss %.3f scale %g %.0f images/s",
                        bar->recipe, cells, p->epoch + 1, p->epochs, left, p->smooth, p->scale,
                        p->images_per_second);
    hc_terminal_redraw(stderr, line);
    bar->drawn = now;
}

bool hc_progress_show(const struct hc_progress *p, void *context)
{
    struct hc_progress_bar *bar = context;
    if (bar->terminal)
        draw(bar, p);
    if (!p->evaluated)
        return hc_stop_signal() == 0;
    hc_progress_end(bar);
    hc_print(stdout,
             "%-22s seed %-3llu epoch %d/%d  loss %.4f  test loss %.4f  accuracy %6.2f %%  "
             "scale %g  skipped %lld  %.0f images/s\n",
             bar->recipe, (unsigned long long)bar->seed, p->epoch + 1, p->epochs, p->smooth,
             p->test_loss, 100 * p->accuracy, p->scale, (long long)p->skipped,
             p->images_per_second);
    (void)fflush(stdout);
    return hc_stop_signal() == 0;
}
