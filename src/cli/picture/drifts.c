/* What records of `compare --drift` say: how far gradients drift from those of fp64, layer by
   layer, and which roundings make the drift. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/picture/families.h"
#include "cli/picture/frames.h"

/* A member of an object: a number, which may be written as text, or NaN; and a text, or "". */
static double real_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (json_is_number(value))
        return json_number_value(value);
    return text ? strtod(text, NULL) : (double)NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The recipes of a record of `compare --drift`; an empty list in other records. */
static const json_t *recipes_of(const struct hc_page_record *record)
{
    const json_t *all = json_object_get(record->record.document, "drift");
    return json_is_array(all) ? all : NULL;
}

/* Whether a recipe was measured with several seeds. */
static bool has_seeds(const json_t *recipes)
{
    const char *first = text_of(json_array_get(recipes, 0), "seed");
    for (size_t i = 1; i < json_array_size(recipes); i++)
        if (strcmp(first, text_of(json_array_get(recipes, i), "seed")) != 0)
            return true;
    return false;
}

/* The number of ranks that a recipe was measured over, or 0. */
static long long ranks_of(const json_t *recipe)
{
    return json_integer_value(json_object_get(recipe, "ranks"));
}

/* The largest number of ranks that a recipe was measured over, or 0. */
static long long most_ranks(const struct hc_drawing *d)
{
    size_t i;
    json_t *recipe;
    long long most = 0;
    for (int r = 0; r < d->count; r++)
        json_array_foreach((json_t *)recipes_of(&d->records[r]), i, recipe) most =
            ranks_of(recipe) > most ? ranks_of(recipe) : most;
    return most;
}

/* amp-ranks8 is "8x amp" here: labels are cut in their middle, and keep what tells recipes apart
   at both ends. */
static const char *over_ranks(char text[256], const json_t *recipe)
{
    char end[32];
    const char *name = text_of(recipe, "recipe");
    (void)snprintf(end, sizeof end, "-ranks%lld", ranks_of(recipe));
    size_t length = strlen(name);
    size_t cut = strlen(end);
    if (ranks_of(recipe) <= 0 || length <= cut || strcmp(name + length - cut, end) != 0)
        return name;
    (void)snprintf(text, 256, "%lldx %.*s", ranks_of(recipe), (int)(length - cut), name);
    return text;
}

/* What the answer says of ranks in names. */
static void answer_ranks(const struct hc_drawing *d)
{
    long long most = most_ranks(d);
    if (most > 0)
        hc_drawing_say(d->answer, " %lldx stands before a recipe over %lld rank%s.", most, most,
                       most == 1 ? "" : "s");
}

/* The recipe, after the record if several have drift, and before the seed if there are several. */
static const char *name_of(char text[512], const struct hc_drawing *d, int record,
                           const json_t *recipe)
{
    int with_drift = 0;
    char over[256];
    const char *seed = text_of(recipe, "seed");
    for (int r = 0; r < d->count; r++)
        with_drift += recipes_of(&d->records[r]) != NULL;
    bool several = has_seeds(recipes_of(&d->records[record]));
    (void)snprintf(text, 512, "%.200s%s%.200s%s%.20s",
                   with_drift > 1 ? hc_drawing_record(d, record) : "", with_drift > 1 ? ": " : "",
                   over_ranks(over, recipe), several ? " " : "", several ? seed : "");
    return text;
}

/* The relative error of all gradients of a recipe. */
static double error_of(const json_t *recipe)
{
    return real_of(json_object_get(recipe, "all"), "error");
}

/* What one walk over the recipes finds. */
struct summary {
    int recipes;
    int nans;
    const json_t *most; /* the recipe that drifts the most, of those whose gradients are finite */
    const json_t *least;
};

static void add_recipe(struct summary *s, const json_t *recipe)
{
    double error = error_of(recipe);
    s->recipes++;
    s->nans += !isfinite(error);
    if (!isfinite(error))
        return;
    s->most = !s->most || error > error_of(s->most) ? recipe : s->most;
    s->least = !s->least || error < error_of(s->least) ? recipe : s->least;
}

static struct summary sum_up(const struct hc_drawing *d)
{
    size_t i;
    json_t *recipe;
    struct summary s = {0};
    for (int r = 0; r < d->count; r++)
        json_array_foreach((json_t *)recipes_of(&d->records[r]), i, recipe) add_recipe(&s, recipe);
    return s;
}

static void put_layers(struct hc_frames *f, int series, const json_t *recipe)
{
    const json_t *layers = json_object_get(recipe, "layers");
    for (size_t l = 0; l < json_array_size(layers); l++) {
        double error = real_of(json_array_get(layers, l), "error");
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
        if (!worst || real_of(layer, "error") > real_of(worst, "error"))
            worst = layer;
    }
    return worst;
}

static void answer_layers(const struct summary *s, FILE *out)
{
    if (s->most)
        hc_drawing_say(
            out,
            "The gradients of %s are the farthest from those of fp64: %.3g of their length, and "
            "%.3g in %s, its worst layer. The closest are those of %s (%.3g).",
            text_of(s->most, "recipe"), error_of(s->most), real_of(worst_layer(s->most), "error"),
            text_of(worst_layer(s->most), "layer"), text_of(s->least, "recipe"),
            error_of(s->least));
    if (s->nans > 0)
        hc_drawing_say(out, " %d of %d recipes have gradients that are not finite.", s->nans,
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
    struct summary s = sum_up(d);
    if (s.recipes == 0) {
        hc_drawing_why_not(d, "no record is one of compare --drift");
        return;
    }
    hc_frames_begin(&f, d, &axes);
    hc_frames_series(&f, "the recipe's gradients against fp64's");
    if (s.recipes > 1 && s.least)
        hc_frames_behind(&f, text_of(s.least, "recipe"));
    for (int r = 0; r < d->count; r++) {
        size_t i;
        json_t *recipe;
        json_array_foreach((json_t *)recipes_of(&d->records[r]), i, recipe)
        {
            if (!hc_frames_next(&f, name_of(name, d, r, recipe),
                                isfinite(error_of(recipe)) ? "" : "NaN"))
                break;
            if (s.least && recipe != s.least)
                put_layers(&f, 0, s.least);
            put_layers(&f, 1, recipe);
        }
    }
    hc_frames_end(&f);
    answer_layers(&s, d->answer);
    answer_ranks(d);
}

const struct hc_picture_kind hc_picture_drift_layers = {
    .id = "drift-layers",
    .question = "How far are the gradients from those of fp64, layer by layer?",
    .script = "frames.gp",
    .alt = "Relative error of the gradients by layer, on a logarithmic axis, a small frame "
           "for each recipe (%d).",
    .make = make_layers,
};

/* A source that makes less than this of both drifts has no row. */
#define LEAST_SHARE 0.01

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* The largest source of the gradients' drift that acts alone. */
struct largest {
    const json_t *source;
    double share;
};

static struct largest add_sources(struct hc_families *f, const char *name, const json_t *recipe,
                                  int *left_out)
{
    size_t i;
    json_t *source;
    struct largest largest = {0};
    json_array_foreach(json_object_get(recipe, "sources"), i, source)
    {
        char row[1024];
        double gradients = share(real_of(source, "gradient_alone"), error_of(recipe));
        double weights = share(real_of(source, "free_alone"), real_of(recipe, "free"));
        if (strcmp(text_of(source, "format"), "-") == 0) /* all of them together */
            continue;
        if (gradients > largest.share)
            largest = (struct largest){source, gradients};
        if (gradients < LEAST_SHARE && weights < LEAST_SHARE) {
            ++*left_out;
            continue;
        }
        (void)snprintf(row, sizeof row, "%s: %.200s", name, text_of(source, "source"));
        for (char *at = row; *at; at++)
            *at = *at == '/' ? '-' : *at; /* a slash would end the name of a family */
        hc_families_add(f, row, "gradients, at fp64's weights", gradients);
        hc_families_add(f, row, "weights, after a free run", weights);
    }
    return largest;
}

static void make_sources(struct hc_drawing *d)
{
    static const struct hc_families_axis axis = {1e-4, 10, false,
                                                 "drift of this rounding alone / drift measured"};
    char name[512];
    int left_out = 0;
    /* Over ranks there is room for "reduction over ranks". */
    struct hc_families f = {.as_added = true, .longest = most_ranks(d) > 0 ? 34 : 0};
    struct summary s = sum_up(d);
    struct largest largest = {0};
    for (int r = 0; r < d->count; r++) {
        size_t i;
        json_t *recipe;
        json_array_foreach((json_t *)recipes_of(&d->records[r]), i, recipe)
        {
            struct largest own = add_sources(&f, name_of(name, d, r, recipe), recipe, &left_out);
            if (recipe == s.most)
                largest = own;
        }
    }
    if (s.recipes == 0)
        hc_drawing_why_not(d, "no record is one of compare --drift");
    if (hc_families_draw(&f, d, &axis, "no source makes a share of the drift")) {
        if (largest.source)
            hc_drawing_say(d->answer,
                           "In %s, which drifts the most, the largest source of the gradients' "
                           "drift is %s in %s: alone it makes %.3g of it. ",
                           text_of(s.most, "recipe"), text_of(largest.source, "source"),
                           text_of(largest.source, "format"), largest.share);
        hc_drawing_say(d->answer, "Each rounding acts alone in a run of fp64; shares do not add up "
                                  "to 1, because independent errors add in squares.");
        if (left_out > 0)
            hc_drawing_say(d->answer, " %d source%s less than %g of both drifts %s no row.",
                           left_out, left_out == 1 ? " that makes" : "s that make", LEAST_SHARE,
                           left_out == 1 ? "has" : "have");
        answer_ranks(d);
    }
    hc_families_free(&f);
}

const struct hc_picture_kind hc_picture_drift_sources = {
    .id = "drift-sources",
    .question = "Which roundings make the drift?",
    .script = "headroom.gp",
    .alt = "Dot chart on a logarithmic axis with a row for each recipe and source (%d): "
           "its share of the drift of gradients and of weights.",
    .make = make_sources,
};
