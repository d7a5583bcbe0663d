/* Trainings and drift into records and baselines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "check/record/outcomes.h"
#include "op/text.h"

json_t *hc_json_decimal(double value)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        (void)hc_text_write(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, (char **)0) == value)
            break;
    }
    return json_string(isnan(value) ? "nan" : text);
}

static json_t *seed_json(uint64_t seed)
{
    return json_sprintf("%llu", (unsigned long long)seed);
}

/* The list of the document, which is made if there is none. */
static json_t *list_of(json_t *document, const char *name)
{
    json_t *list = json_object_get(document, name);
    if (!json_is_array(list)) {
        list = json_array();
        (void)json_object_set_new(document, name, list);
    }
    return list;
}

static json_t *training_json(const struct hc_outcome *o)
{
    json_t *by_epoch = json_array();
    for (int i = 0; i < o->epochs; i++)
        (void)json_array_append_new(by_epoch, hc_json_decimal(o->accuracy_by_epoch[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "recipe",
                     hc_json_text(o->recipe), "backend", hc_json_text(o->backend), "seed",
                     seed_json(o->seed), "settings", hc_json_text(o->settings), "test_images",
                     (json_int_t)o->test_images, "learned", o->learned, "reason",
                     hc_json_text(o->reason), "accuracy", hc_json_decimal(o->accuracy), "test_loss",
                     hc_json_decimal(o->test_loss), "train_loss", hc_json_decimal(o->train_loss),
                     "accuracy_by_epoch", by_epoch);
}

void hc_outcomes_add(json_t *document, const struct hc_outcome *outcome)
{
    (void)json_array_append_new(list_of(document, "trainings"), training_json(outcome));
}

/* Nine digits tell more than any spread over seeds. */
static json_t *drift_json(const struct hc_drift_outcome *d)
{
    json_t *measures = json_object();
    for (int i = 0; i < d->count; i++) {
        char text[40];
        (void)hc_text_write(text, sizeof text, "%.9g", d->numbers[i].value);
        (void)json_object_set_new(measures, d->numbers[i].name, json_string(text));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "recipe", hc_json_text(d->recipe), "backend",
                     hc_json_text(d->backend), "seed", seed_json(d->seed), "settings",
                     hc_json_text(d->settings), "measures", measures);
}

enum hc_status hc_outcomes_reduced(const struct hc_record *record, json_t **trainings,
                                   json_t **drift)
{
    struct hc_outcomes all;
    enum hc_status status = hc_outcomes_read("the record", record, &all);
    *trainings = all.training_count ? json_array() : NULL;
    *drift = all.drift_count ? json_array() : NULL;
    for (int i = 0; i < all.training_count; i++)
        (void)json_array_append_new(*trainings, training_json(&all.trainings[i]));
    for (int i = 0; i < all.drift_count; i++)
        (void)json_array_append_new(*drift, drift_json(&all.drifts[i]));
    hc_outcomes_free(&all);
    return status;
}
