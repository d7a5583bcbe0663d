/* How errors are spread: a small frame for each group of results. In ulp, a histogram for each
   family of cases; over the range of the inputs, a curve for each conversion and function. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/spread.h"
#include "cli/lines.h"
#include "cli/picture/families.h"
#include "cli/picture/frames.h"
#include "cli/report/template.h"

/* The spread of all results of one frame, by series. */
struct group {
    char name[128];
    struct hc_spread spread[HC_MAX_FRAME_SERIES];
    double weight; /* the larger, the earlier its frame stands */
};

/* Frames that a page has room for. Those of the largest errors are drawn. */
enum { MOST_FRAMES = 18 };

struct spreads {
    struct group *all;
    int count;
    int room;
    bool no_memory;
    char series_name[HC_MAX_FRAME_SERIES][512];
    int series;
    int left_out; /* results of backends that there is no series for */
};

/* One picture: how its frames are called and filled, and what it says. */
struct kind {
    void (*name)(char name[128], const char *what); /* of a case's frame */
    const char *member;                             /* of a result's spread */
    void (*put)(struct hc_frames *f, int series, const struct hc_spread *spread);
    double (*weight)(const struct hc_spread *spread); /* how large its errors are */
    void (*answer)(const struct spreads *g, FILE *out);
};

/* Results come in the order of their names. */
static struct group *group_of(struct spreads *g, const char *name)
{
    for (int i = g->count - 1; i >= 0; i--)
        if (strcmp(g->all[i].name, name) == 0)
            return &g->all[i];
    if (g->count == g->room) {
        int room = g->room ? 2 * g->room : 64;
        struct group *all = realloc(g->all, (size_t)room * sizeof *all);
        g->no_memory |= !all;
        if (!all)
            return NULL;
        g->all = all;
        g->room = room;
    }
    g->all[g->count] = (struct group){0};
    (void)snprintf(g->all[g->count].name, sizeof g->all->name, "%.120s", name);
    return &g->all[g->count++];
}

/* The number of a series, or -1: a frame has no room for more. */
static int series_of(struct spreads *g, const char *name)
{
    int s = 0;
    while (s < g->series && strcmp(g->series_name[s], name) != 0)
        s++;
    if (s == HC_MAX_FRAME_SERIES)
        return -1;
    if (s == g->series)
        (void)snprintf(g->series_name[g->series++], sizeof g->series_name[0], "%s", name);
    return s;
}

static void collect(struct spreads *g, const struct hc_drawing *d, const struct kind *kind)
{
    char name[128];
    char text[512];
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *row = &d->records[r].record.rows[i];
            if (!json_object_get(row->spread, kind->member))
                continue;
            kind->name(name, row->name);
            struct group *group = group_of(g, name);
            int series = series_of(g, hc_series_name(text, d, r, row->backend));
            if (group && series >= 0)
                hc_spread_add(&group->spread[series], row->spread);
            else
                g->left_out++;
        }
}

static int by_weight(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;
    int order = (x->weight < y->weight) - (x->weight > y->weight);
    return order ? order : strcmp(x->name, y->name);
}

static void sort(struct spreads *g, const struct kind *kind)
{
    for (int i = 0; i < g->count; i++)
        for (int s = 0; s < g->series; s++)
            g->all[i].weight = fmax(g->all[i].weight, kind->weight(&g->all[i].spread[s]));
    qsort(g->all, (size_t)g->count, sizeof *g->all, by_weight);
}

static void make_spreads(struct hc_drawing *d, const struct hc_frames_axes *axes,
                         const struct kind *kind)
{
    struct spreads g = {0};
    struct hc_frames f;
    collect(&g, d, kind);
    if (g.count == 0 || g.no_memory)
        hc_drawing_why_not(d, g.no_memory ? "there is no memory"
                                          : "no result says how its errors are spread");
    else {
        sort(&g, kind);
        hc_frames_begin(&f, d, axes);
        for (int s = 0; s < g.series; s++)
            hc_frames_series(&f, g.series_name[s]);
        for (int i = 0; i < g.count && hc_frames_next(&f, g.all[i].name, ""); i++)
            for (int s = 0; s < g.series; s++)
                kind->put(&f, s + 1, &g.all[i].spread[s]);
        hc_frames_end(&f);
        kind->answer(&g, d->answer);
        if (g.left_out > 0)
            hc_drawing_say(d->answer, " %s of other backends %s not shown.",
                           hc_count(g.left_out, "result").text, g.left_out == 1 ? "is" : "are");
        if (g.count > MOST_FRAMES)
            hc_drawing_say(d->answer,
                           " The %d with the largest errors have a frame; the other %d are in the "
                           "data.",
                           MOST_FRAMES, g.count - MOST_FRAMES);
    }
    free(g.all);
}

/* op/gemm of op/gemm/fp16-fp32/... */
static void by_family(char name[128], const char *what)
{
    (void)snprintf(name, 128, "%.*s", hc_family_length(what), what);
}

static int64_t total_of(const struct hc_spread *s)
{
    int64_t total = 0;
    for (int b = 0; b < HC_ULP_BINS; b++)
        total += s->ulps[b];
    return total;
}

/* Shares in %, up to an empty bin behind the last one. */
static void put_ulps(struct hc_frames *f, int series, const struct hc_spread *s)
{
    int64_t total = total_of(s);
    int last = HC_ULP_BINS - 1;
    while (last > 0 && s->ulps[last] == 0)
        last--;
    for (int b = 0; total > 0 && b <= last + 1 && b < HC_ULP_BINS; b++)
        hc_frames_point(f, series, b, 100 * (double)s->ulps[b] / (double)total);
    hc_frames_break(f);
}

/* The end of a bin, as the axis says it. */
static const char *bin_name(char text[32], int bin)
{
    if (bin <= 1)
        return bin == 0 ? "0" : "1/2";
    if (bin == HC_ULP_BINS - 1)
        return "more than 2^21";
    (void)snprintf(text, 32, "%.0f", ldexp(1, bin - 2));
    return text;
}

/* The last bin that has any, and which part of all lies beyond half an ulp. */
static double weigh_ulps(const struct hc_spread *s)
{
    int64_t total = total_of(s);
    int last = HC_ULP_BINS - 1;
    while (last > 0 && s->ulps[last] == 0)
        last--;
    return total > 0 ? last + (double)(total - s->ulps[0] - s->ulps[1]) / (double)(2 * total) : 0;
}

static void answer_ulps(const struct spreads *g, FILE *out)
{
    int64_t total = 0;
    int64_t half = 0;
    int64_t one = 0;
    int worst_bin = -1;
    const struct group *worst = NULL;
    char text[32];
    char count[HC_LONGEST_COUNT];
    for (int i = 0; i < g->count; i++)
        for (int s = 0; s < g->series; s++) {
            const struct hc_spread *spread = &g->all[i].spread[s];
            total += total_of(spread);
            half += spread->ulps[0] + spread->ulps[1];
            one += spread->ulps[0] + spread->ulps[1] + spread->ulps[2];
            for (int b = worst_bin + 1; b < HC_ULP_BINS; b++)
                if (spread->ulps[b] > 0) {
                    worst_bin = b;
                    worst = &g->all[i];
                }
        }
    hc_drawing_say(out,
                   "Of %s elements compared with real numbers, %.4g %% are within half an ulp, as "
                   "the correctly rounded result is, and %.4g %% within one.",
                   hc_page_count(total, count), 100 * (double)half / (double)total,
                   100 * (double)one / (double)total);
    if (worst_bin > 2)
        hc_drawing_say(out,
                       " The longest tail is that of %s, up to %s ulp: where terms nearly cancel, "
                       "an ulp of the result is small beside them, and the bound is theirs.",
                       worst->name, bin_name(text, worst_bin));
}

static void make_ulps(struct hc_drawing *d)
{
    static const struct hc_frame_tick ticks[] = {{0, "0"},     {2, "1"},       {7, "32"},
                                                 {12, "1024"}, {19, "131072"}, {0, NULL}};
    static const struct hc_frames_axes axes = {.x = "error in ulp, up to",
                                               .y = "share of the elements, %",
                                               .log_y = 10,
                                               .y_least = 1e-3,
                                               .y_most = 100,
                                               .style = HC_FRAME_STEPS,
                                               .most = MOST_FRAMES,
                                               .ticks = ticks};
    make_spreads(d, &axes, &(struct kind){by_family, "ulps", put_ulps, weigh_ulps, answer_ulps});
}

const struct hc_picture_kind hc_picture_ulps = {
    .id = "ulps",
    .question = "How many ulp are elements from the real numbers?",
    .script = "frames.gp",
    .alt = "Histograms of errors in ulp by family, on logarithmic axes, in small frames (%d).",
    .make = make_ulps,
};

/* cast fp32-fp16 of op/cast/fp32-fp16/... */
static void by_formats(char name[128], const char *what)
{
    const char *op = strchr(what, '/');
    op = op ? op + 1 : what;
    int length = (int)strcspn(op, "/");
    const char *formats = op[length] ? op + length + 1 : "";
    (void)snprintf(name, 128, "%.*s%s%.*s", length, op, *formats ? " " : "",
                   (int)strcspn(formats, "/"), formats);
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

static double weigh_inputs(const struct hc_spread *s)
{
    double most = 0;
    for (int b = 0; b < HC_INPUT_BINS; b++)
        most = s->input[b].seen ? fmax(most, s->input[b].ulps) : most;
    return most;
}

static void answer_inputs(const struct spreads *g, FILE *out)
{
    int within = 0;
    const struct group *worst = NULL;
    double most = 0;
    int at = 0;
    char number[32];
    for (int i = 0; i < g->count; i++) {
        double own = 0;
        for (int s = 0; s < g->series; s++)
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
        hc_drawing_say(out, "Every conversion and function is");
    else if (within == 0)
        hc_drawing_say(out, "No conversion or function is");
    else
        hc_drawing_say(out, "%d of %d conversions and functions %s", within, g->count,
                       within == 1 ? "is" : "are");
    hc_drawing_say(out, " within half an ulp over the whole range of inputs; where a case rounds "
                        "in a given direction, less than 1 ulp is right, too.");
    if (worst && most > 0.5)
        hc_drawing_say(out,
                       " The largest error is that of %s, %s ulp, at inputs from 2^%d to 2^%d.",
                       worst->name, hc_drawing_number(number, most), at, at + HC_INPUT_STEP);
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
                                               .most = MOST_FRAMES,
                                               .ticks = ticks,
                                               .near_ticks = near_ticks};
    make_spreads(d, &axes,
                 &(struct kind){by_formats, "inputs", put_inputs, weigh_inputs, answer_inputs});
}

const struct hc_picture_kind hc_picture_inputs = {
    .id = "inputs",
    .question = "Where in the range of the inputs do conversions and functions err?",
    .script = "frames.gp",
    .alt = "Largest error in ulp over the exponent of the input, by conversion and function, on "
           "logarithmic axes, in small frames (%d).",
    .make = make_inputs,
};
