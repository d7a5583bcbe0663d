/* Where in the range of the inputs errors are: the largest error over the input's exponent. */
#include <string.h>

#include "cli/picture/spreads.h"
#include "op/text.h"

/* cast fp32-fp16 of op/cast/fp32-fp16/... */
static void by_formats(char name[128], const char *what)
{
    const char *op = strchr(what, '/');
    op = op ? op + 1 : what;
    int length = (int)strcspn(op, "/");
    const char *formats = op[length] ? op + length + 1 : "";
    (void)snprintf(name, 128, "%.*s %.*s", length, op, (int)strcspn(formats, "/"), formats);
}

/* Errors below this are drawn as none. */
#define LEAST_ULPS 0x1p-6

/* A step for each bin, without the points between equal ones; a gap where no input was. */
static void put_inputs(struct hc_frames *f, int series, const struct hc_spread *s)
{
    double last = -1; /* none */
    for (int b = 0; b <= HC_INPUT_BINS; b++) {
        bool seen = b < HC_INPUT_BINS && s->input[b].seen;
        double ulps = seen ? s->input[b].ulps : -1;
        double at = HC_INPUT_LEAST + b * HC_INPUT_STEP;
        ulps = seen && ulps < LEAST_ULPS ? 0 : ulps;
        if (last >= 0 && ulps != last)
            hc_frames_point(f, series, at, last);
        if (last >= 0 && !seen)
            hc_frames_break(f);
        if (seen && ulps != last)
            hc_frames_point(f, series, at, ulps);
        last = ulps;
    }
    hc_frames_break(f);
}

static void answer_inputs(const struct hc_spreads *g, FILE *out)
{
    int within = 0;
    const struct hc_spread_group *worst = NULL;
    double most = 0;
    int at = 0;
    char number[32];
    for (int i = 0; i < g->count; i++) {
        double own = 0;
        for (int s = 0; s < g->series.count; s++)
            for (int b = 0; b < HC_INPUT_BINS; b++)
                if (g->all[i].spread[s].input[b].ulps > own) {
                    own = g->all[i].spread[s].input[b].ulps;
                    if (own > most) {
                        most = own;
                        worst = &g->all[i];
                        at = HC_INPUT_LEAST + b * HC_INPUT_STEP;
                    }
                }
        within += own <= 0.5;
    }
    if (within == g->count)
        (void)fputs("Every conversion and function is", out);
    else if (within == 0)
        (void)fputs("No conversion or function is", out);
    else
        (void)fprintf(out, "%d of %d conversions and functions %s", within, g->count,
                      within == 1 ? "is" : "are");
    (void)fputs(" within half an ulp over the whole range of inputs; where a case rounds in a"
                " given direction, less than 1 ulp is right, too.",
                out);
    if (worst && most > 0.5) {
        (void)fputs(" The largest error is that of ", out);
        hc_drawing_text(out, worst->name);
        (void)fprintf(out, ", %s ulp, at inputs from 2^%d to 2^%d.",
                      hc_drawing_number(number, most), at, at + HC_INPUT_STEP);
    }
}

static void make_inputs(struct hc_drawing *d)
{
    static const struct hc_frame_tick ticks[] = {{-120, "-120"}, {-60, "-60"}, {0, "0"},
                                                 {60, "60"},     {120, "120"}, {0, NULL}};
    static const struct hc_frame_tick near_ticks[] = {
        {-60, "-60"}, {-40, "-40"}, {-20, "-20"}, {0, "0"}, {20, "20"}, {40, "40"}, {0, NULL}};
    static const struct hc_frames_axes axes = {.x = "exponent of 2 of the input",
                                               .y = "largest error, ulp",
                                               .log_y = 2,
                                               .y_least = LEAST_ULPS,
                                               .y_most = 2,
                                               .style = HC_FRAME_LINES,
                                               .ticks = ticks,
                                               .near_ticks = near_ticks};
    hc_spreads_make(
        d, &axes,
        &(struct hc_spread_kind){
            by_formats, "inputs", put_inputs, answer_inputs,
            "Largest error in ulp over the exponent of the input, by conversion and function"});
}

const struct hc_picture_kind hc_picture_inputs = {
    .id = "inputs",
    .question = "Where in the range of the inputs do conversions and functions err?",
    .script = "frames.gp",
    .command = "halfcheck report RECORD --out DIR (reports/frames.gp)",
    .make = make_inputs,
};
