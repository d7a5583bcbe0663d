#include "cli/picture/frames.h"

#include <math.h>
#include <string.h>

#include "op/text.h"

enum {
    LONGEST_NAME = 20, /* of a line of it */
    NAME_LINES = 6,
    LONGEST_TROUBLE = 24,
    LONGEST_KEY = 60,
    LONGEST_AXIS = 70,
    CROSS = 9
};

void hc_frames_begin(struct hc_frames *f, struct hc_drawing *d, const struct hc_frames_axes *axes)
{
    static const char *const arrays[] = {"frame_name", "frame_lines", "frame_trouble",
                                         "frame_x_low", "frame_x_high"};
    *f = (struct hc_frames){.d = d,
                            .axes = *axes,
                            .x_low = (double)INFINITY,
                            .x_high = -(double)INFINITY,
                            .y_low = (double)INFINITY,
                            .y_high = -(double)INFINITY};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        hc_plot_array(d->values, arrays[i], HC_MAX_FRAMES);
    hc_plot_array(d->values, "series_name", HC_MAX_FRAME_SERIES);
    hc_plot_text(d->values, "behind_name", 0, "", LONGEST_NAME);
    hc_plot_text(d->values, "x_text", 0, axes->x, LONGEST_AXIS);
    hc_plot_text(d->values, "y_text", 0, axes->y, LONGEST_AXIS);
    (void)fputs("frame\tseries\tx\ty\tname\tseries name\n", d->data);
}

void hc_frames_series(struct hc_frames *f, const char *name)
{
    (void)snprintf(f->series_name[f->series], sizeof *f->series_name, "%.60s", name);
    hc_plot_text(f->d->values, "series_name", ++f->series, name, LONGEST_KEY);
}

void hc_frames_behind(struct hc_frames *f, const char *name)
{
    hc_plot_text(f->d->values, "behind_name", 0, name, LONGEST_KEY);
}

/* A range that has a middle: two different numbers. */
static void widen(double *low, double *high, bool logarithmic)
{
    if (*low > *high) {
        *low = logarithmic ? 1 : 0;
        *high = *low;
    }
    if (*low == *high && logarithmic) {
        *low /= 2;
        *high *= 2;
    } else if (*low == *high) {
        double half = fmax(0.5, 0.05 * fabs(*low));
        *low -= half;
        *high += half;
    }
}

static void end_frame(struct hc_frames *f)
{
    if (f->frames == 0)
        return;
    widen(&f->frame_x_low, &f->frame_x_high, false);
    hc_plot_real(f->d->values, "frame_x_low", f->frames, f->frame_x_low);
    hc_plot_real(f->d->values, "frame_x_high", f->frames, f->frame_x_high);
}

bool hc_frames_next(struct hc_frames *f, const char *name, const char *trouble)
{
    if (f->frames == HC_MAX_FRAMES)
        return false;
    end_frame(f);
    f->frames++;
    f->frame_x_low = (double)INFINITY;
    f->frame_x_high = -(double)INFINITY;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    int lines = hc_plot_folded(f->d->values, "frame_name", f->frames, name,
                               f->axes.wide ? 3 * LONGEST_NAME / 2 : LONGEST_NAME, NAME_LINES);
    hc_plot_integer(f->d->values, "frame_lines", f->frames, lines);
    hc_plot_text(f->d->values, "frame_trouble", f->frames, trouble, LONGEST_TROUBLE);
    return true;
}

static void write(struct hc_frames *f, int series, double x, double y, const char *name)
{
    hc_print(f->d->data, "%d\t%d\t%.7g\t%.7g\t", f->frames, series, x, y);
    hc_drawing_names(f->d->data, f->name, name);
}

/* gnuplot's own arithmetic must not overflow between the ends of a range. */
#define MOST_LINEAR 1e250
#define MOST_POWER  1e100

static bool can_draw(const struct hc_frames *f, double x, double y)
{
    return fabs(x) < MOST_LINEAR && fabs(y) < (f->axes.log_y ? MOST_POWER : MOST_LINEAR);
}

static void stretch(struct hc_frames *f, double x, double y)
{
    f->x_low = fmin(f->x_low, x);
    f->x_high = fmax(f->x_high, x);
    f->frame_x_low = fmin(f->frame_x_low, x);
    f->frame_x_high = fmax(f->frame_x_high, x);
    if (isnan(y) || (f->axes.log_y && !(y > 0)))
        return;
    f->y_low = fmin(f->y_low, y);
    f->y_high = fmax(f->y_high, y);
}

void hc_frames_point(struct hc_frames *f, int series, double x, double y)
{
    if (!can_draw(f, x, y)) {
        hc_frames_break(f);
        return;
    }
    if (f->axes.log_y && y < 1 / MOST_POWER)
        y = 0;
    stretch(f, x, y);
    f->d->points += series > 0;
    write(f, series, x, y, series > 0 ? f->series_name[series - 1] : "behind");
}

void hc_frames_cross(struct hc_frames *f, double x, double y)
{
    if (!can_draw(f, x, isnan(y) ? 0 : y))
        return;
    stretch(f, x, y);
    f->d->points++;
    write(f, CROSS, x, y, "cross");
}

void hc_frames_break(struct hc_frames *f)
{
    (void)fputc('\n', f->d->data);
}

static void put_ticks(const struct hc_frames *f)
{
    struct hc_plot_values *v = f->d->values;
    bool near = f->axes.near_ticks && f->x_high - f->x_low < 120;
    const struct hc_frame_tick *ticks = near ? f->axes.near_ticks : f->axes.ticks;
    int n = 0;
    while (ticks && ticks[n].text)
        n++;
    hc_plot_integer(v, "ticks", 0, n);
    hc_plot_array(v, "tick_at", n);
    hc_plot_array(v, "tick_text", n);
    for (int i = 0; i < n; i++) {
        hc_plot_real(v, "tick_at", i + 1, ticks[i].at);
        hc_plot_tic(v, "tick_text", i + 1, ticks[i].text, 16);
    }
}

void hc_frames_end(struct hc_frames *f)
{
    end_frame(f);
    if (!isnan(f->axes.y_least))
        f->y_low = fmin(f->y_low, f->axes.y_least);
    if (!isnan(f->axes.y_most))
        f->y_high = fmax(f->y_high, f->axes.y_most);
    widen(&f->x_low, &f->x_high, false);
    widen(&f->y_low, &f->y_high, f->axes.log_y);
    struct hc_plot_values *v = f->d->values;
    f->d->shown = f->axes.most && f->frames > f->axes.most ? f->axes.most : f->frames;
    hc_plot_integer(v, "frames", 0, f->d->shown);
    hc_plot_integer(v, "series", 0, f->series);
    hc_plot_integer(v, "log_y", 0, f->axes.log_y);
    hc_plot_integer(v, "frame_style", 0, f->axes.style);
    put_ticks(f);
    hc_plot_integer(v, "most_columns", 0, f->axes.wide ? 2 : 3);
    hc_plot_integer(v, "own_x", 0, f->axes.own_x);
    hc_plot_integer(v, "half_windows", 0, f->axes.half_windows);
    hc_plot_real(v, "x_low", 0, f->x_low);
    hc_plot_real(v, "x_high", 0, f->x_high);
    hc_plot_real(v, "y_low", 0, f->y_low);
    hc_plot_real(v, "y_high", 0, f->y_high);
}
