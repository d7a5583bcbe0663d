/* How far gradients drift from fp64's, layer by layer. */
#include <math.h>

#include "cli/picture/drifts.h"
#include "cli/picture/frames.h"
#include "op/text.h"

static void put_layers(struct hc_frames *f, int series, const json_t *recipe)
{
    const json_t *layers = json_object_get(recipe, "layers");
    for (size_t l = 0; l < json_array_size(layers); l++) {
        double error = hc_drifts_real(json_array_get(layers, l), "error");
        if (isfinite(error))
            hc_frames_point(f, series, (double)l + 1, error);
        else if (series > 0)
            hc_frames_cross(f, (double)l + 1, (double)NAN);
    }
    hc_frames_break(f);
}

static const json_t *worst_layer(const json_t *recipe)
{
    const json_t *layers = json_object_get(recipe, "layers");
    const json_t *worst = NULL;
    for (size_t l = 0; l < json_array_size(layers); l++) {
        const json_t *layer = json_array_get(layers, l);
        if (!worst || hc_drifts_real(layer, "error") > hc_drifts_real(worst, "error"))
            worst = layer;
    }
    return worst;
}

static void answer_layers(const struct hc_drifts_summary *s, FILE *out)
{
    if (s->most) {
        (void)fputs("The gradients of ", out);
        hc_drawing_text(out, hc_drifts_text(s->most, "recipe"));
        hc_print(out, " are the farthest from those of fp64: %.3g of their length, and %.3g in ",
                 hc_drifts_error(s->most), hc_drifts_real(worst_layer(s->most), "error"));
        hc_drawing_text(out, hc_drifts_text(worst_layer(s->most), "layer"));
        (void)fputs(", its worst layer. The closest are those of ", out);
        hc_drawing_text(out, hc_drifts_text(s->least, "recipe"));
        hc_print(out, " (%.3g).", hc_drifts_error(s->least));
    }
    if (s->nans > 0)
        (void)fprintf(out, " %d of %d recipes have gradients that are not finite.", s->nans,
                      s->recipes);
}

static void make_layers(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "layer, from the input on",
                                               .y = "|g - g64| / |g64|",
                                               .log_y = 10,
                                               .y_least = (double)NAN,
                                               .y_most = (double)NAN,
                                               .style = HC_FRAME_DOTTED_LINES};
    char name[512];
    struct hc_frames f;
    struct hc_drifts_summary s = hc_drifts_sum_up(d);
    if (s.recipes == 0) {
        (void)snprintf(d->why_not, sizeof d->why_not, "no record is one of compare --drift");
        return;
    }
    hc_frames_begin(&f, d, &axes);
    hc_frames_series(&f, "the recipe's gradients against fp64's");
    if (s.recipes > 1 && s.least)
        hc_frames_behind(&f, hc_drifts_text(s.least, "recipe"));
    for (int r = 0; r < d->count; r++) {
        size_t i;
        json_t *recipe;
        json_array_foreach((json_t *)hc_drifts_recipes(&d->records[r]), i, recipe)
        {
            if (!hc_frames_next(&f, hc_drifts_name(name, d, r, recipe),
                                isfinite(hc_drifts_error(recipe)) ? "" : "NaN"))
                break;
            if (s.least && recipe != s.least)
                put_layers(&f, 0, s.least);
            put_layers(&f, 1, recipe);
        }
    }
    hc_frames_end(&f);
    answer_layers(&s, d->answer);
    hc_drifts_answer_ranks(d);
    (void)fprintf(d->alt,
                  "Relative error of the gradients by layer, on a logarithmic axis, a small frame"
                  " for each of %d recipes.",
                  s.recipes);
}

const struct hc_picture_kind hc_picture_drift_layers = {
    .id = "drift-layers",
    .question = "How far are the gradients from those of fp64, layer by layer?",
    .script = "frames.gp",
    .command = "halfcheck report RECORD --out DIR (reports/frames.gp)",
    .make = make_layers,
};
