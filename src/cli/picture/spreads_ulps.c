/* How far elements are from the real numbers, in ulp: a histogram for each family of cases. */
#include <math.h>

#include "cli/picture/spreads.h"
#include "cli/report/page_out.h"
#include "op/text.h"

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

static void answer_ulps(const struct hc_spreads *g, FILE *out)
{
    int64_t total = 0;
    int64_t half = 0;
    int64_t one = 0;
    int worst_bin = -1;
    const struct hc_spread_group *worst = NULL;
    char text[32];
    char count[HC_LONGEST_COUNT];
    for (int i = 0; i < g->count; i++)
        for (int s = 0; s < g->series.count; s++) {
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
    hc_print(out,
             "Of %s elements compared with real numbers, %.4g %% are within half an ulp, as the"
             " correctly rounded result is, and %.4g %% within one.",
             hc_page_count(total, count), 100 * (double)half / (double)total,
             100 * (double)one / (double)total);
    if (worst_bin > 2) {
        (void)fputs(" The longest tail is that of ", out);
        hc_drawing_text(out, worst->name);
        (void)fprintf(out,
                      ", up to %s ulp: where terms nearly cancel, an ulp of the result is"
                      " small beside them, and the bound is theirs.",
                      bin_name(text, worst_bin));
    }
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
                                               .ticks = ticks};
    hc_spreads_make(d, &axes,
                    &(struct hc_spread_kind){by_family, "ulps", put_ulps, answer_ulps,
                                             "Histograms of errors in ulp by family"});
}

const struct hc_picture_kind hc_picture_ulps = {
    .id = "ulps",
    .question = "How many ulp are elements from the real numbers?",
    .script = "frames.gp",
    .command = "halfcheck report RECORD --out DIR (reports/frames.gp)",
    .make = make_ulps,
};
