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
    json_t *training = json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "recipe",
        hc_json_text(o->recipe), "backend", hc_json_text(o->backend), "seed", seed_json(o->seed),
        "settings", hc_json_text(o->settings), "test_images", (json_int_t)o->test_images, "learned",
        o->learned, "reason", hc_json_text(o->reason), "accuracy", hc_json_decimal(o->accuracy),
        "test_loss", hc_json_decimal(o->test_loss), "train_loss", hc_json_decimal(o->train_loss),
        "accuracy_by_epoch", by_epoch);
    if (o->cpu && o->cpu[0])
        (void)json_object_set_new(training, "cpu", hc_json_text(o->cpu));
    return training;
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

/* Takes the reference. */
static enum hc_status print_line(const char *word, json_t *object, FILE *out)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(object);
    if (!text)
        return hc_fail(HC_NO_MEMORY, "no memory for the lines of a baseline");
    (void)fprintf(out, "%s %s\n", word, text);
    free(text);
    return HC_OK;
}

enum hc_status hc_outcomes_print(const struct hc_record *record, FILE *out, int *lines)
{
    struct hc_outcomes all;
    enum hc_status status = hc_outcomes_read("the record", record, &all);
    *lines = 0;
    for (int i = 0; i < all.drift_count && status == HC_OK; i++, ++*lines)
        status = print_line("drift", drift_json(&all.drifts[i]), out);
    for (int i = 0; i < all.training_count && status == HC_OK; i++, ++*lines)
        status = print_line("training", training_json(&all.trainings[i]), out);
    hc_outcomes_free(&all);
    return status;
}

uint64_t hc_outcome_seed(const char *name, uint64_t run)
{
    static const char mark[] = "-seed";
    const char *last = NULL;
    if (strncmp(name, "train/", 6) != 0 && strncmp(name, "drift/", 6) != 0)
        return run;
    for (const char *at = strstr(name, mark); at; at = strstr(at + 1, mark))
        if (at[sizeof mark - 1] >= '0' && at[sizeof mark - 1] <= '9')
            last = at + sizeof mark - 1;
    return last ? strtoull(last, NULL, 10) : run;
}

bool hc_outcomes_take_line(json_t *document, const char *line, const char **wrong)
{
    static const struct {
        const char *word;
        const char *list;
    } kinds[] = {{"training ", "trainings"}, {"drift ", "drift"}};
    for (int k = 0; k < 2; k++) {
        size_t length = strlen(kinds[k].word);
        if (strncmp(line, kinds[k].word, length) != 0)
            continue;
        json_t *object = json_loads(line + length, JSON_REJECT_DUPLICATES, (json_error_t *)0);
        *wrong = json_is_object(object) ? NULL : "is no JSON object";
        if (json_is_object(object))
            (void)json_array_append(list_of(document, kinds[k].list), object);
        json_decref(object);
        return true;
    }
    return false;
}
