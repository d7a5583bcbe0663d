#include "cli/picture/drifts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double hc_drifts_real(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    if (json_is_number(value))
        return json_number_value(value);
    return text ? strtod(text, NULL) : (double)NAN;
}

const char *hc_drifts_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

const json_t *hc_drifts_recipes(const struct hc_page_record *record)
{
    const json_t *all = json_object_get(record->record.document, "drift");
    return json_is_array(all) ? all : NULL;
}

/* Whether a recipe was measured with several seeds. */
static bool has_seeds(const json_t *recipes)
{
    const char *first = hc_drifts_text(json_array_get(recipes, 0), "seed");
    for (size_t i = 1; i < json_array_size(recipes); i++)
        if (strcmp(first, hc_drifts_text(json_array_get(recipes, i), "seed")) != 0)
            return true;
    return false;
}

/* The number of ranks that a recipe was measured over, or 0. */
static long long ranks_of(const json_t *recipe)
{
    return json_integer_value(json_object_get(recipe, "ranks"));
}

long long hc_drifts_most_ranks(const struct hc_drawing *d)
{
    size_t i;
    json_t *recipe;
    long long most = 0;
    for (int r = 0; r < d->count; r++)
        json_array_foreach((json_t *)hc_drifts_recipes(&d->records[r]), i, recipe) most =
            ranks_of(recipe) > most ? ranks_of(recipe) : most;
    return most;
}

/* amp-ranks8 is "8x amp" here: labels are cut in their middle, and keep what tells recipes apart
   at both ends. */
static const char *over_ranks(char text[256], const json_t *recipe)
{
    char end[32];
    const char *name = hc_drifts_text(recipe, "recipe");
    (void)snprintf(end, sizeof end, "-ranks%lld", ranks_of(recipe));
    size_t length = strlen(name);
    size_t cut = strlen(end);
    if (ranks_of(recipe) <= 0 || length <= cut || strcmp(name + length - cut, end) != 0)
        return name;
    (void)snprintf(text, 256, "%lldx %.*s", ranks_of(recipe), (int)(length - cut), name);
    return text;
}

void hc_drifts_answer_ranks(const struct hc_drawing *d)
{
    long long most = hc_drifts_most_ranks(d);
    if (most > 0)
        (void)fprintf(d->answer, " %lldx stands before a recipe over %lld rank%s.", most, most,
                      most == 1 ? "" : "s");
}

const char *hc_drifts_name(char text[512], const struct hc_drawing *d, int record,
                           const json_t *recipe)
{
    int with_drift = 0;
    char over[256];
    const char *seed = hc_drifts_text(recipe, "seed");
    for (int r = 0; r < d->count; r++)
        with_drift += hc_drifts_recipes(&d->records[r]) != NULL;
    bool several = has_seeds(hc_drifts_recipes(&d->records[record]));
    (void)snprintf(text, 512, "%.200s%s%.200s%s%.20s",
                   with_drift > 1 ? hc_drawing_record(d, record) : "", with_drift > 1 ? ": " : "",
                   over_ranks(over, recipe), several ? " " : "", several ? seed : "");
    return text;
}

double hc_drifts_error(const json_t *recipe)
{
    return hc_drifts_real(json_object_get(recipe, "all"), "error");
}

static void sum_up(struct hc_drifts_summary *s, const json_t *recipe)
{
    double error = hc_drifts_error(recipe);
    s->recipes++;
    s->nans += !isfinite(error);
    if (!isfinite(error))
        return;
    s->most = !s->most || error > hc_drifts_error(s->most) ? recipe : s->most;
    s->least = !s->least || error < hc_drifts_error(s->least) ? recipe : s->least;
}

struct hc_drifts_summary hc_drifts_sum_up(const struct hc_drawing *d)
{
    size_t i;
    json_t *recipe;
    struct hc_drifts_summary s = {0};
    for (int r = 0; r < d->count; r++)
        json_array_foreach((json_t *)hc_drifts_recipes(&d->records[r]), i, recipe)
            sum_up(&s, recipe);
    return s;
}
