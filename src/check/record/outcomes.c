/* Trainings and drift into records and baselines. */
#include "check/record/outcomes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "op/text.h"

/* The list that is being read, and what is wrong with it. */
struct reader {
    const char *path;
    const char *list;
    size_t index;
    enum hc_status status;
};

static void refuse(struct reader *r, const char *key, const char *wrong)
{
    if (r->status == HC_OK)
        r->status = hc_fail(HC_INVALID, "%s: \"%s\" %zu: \"%s\" %s", r->path, r->list, r->index + 1,
                            key, wrong);
}

static const char *text_of(struct reader *r, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text)
        refuse(r, key, "is not a string");
    return text ? text : "";
}

static double number_in(struct reader *r, const json_t *value, const char *key)
{
    char *end;
    const char *text = json_string_value(value);
    double number = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end)
        refuse(r, key, "is not a number in a string");
    return number;
}

static double number_of(struct reader *r, const json_t *object, const char *key)
{
    return number_in(r, json_object_get(object, key), key);
}

static double accuracy_in(struct reader *r, const json_t *value, const char *key)
{
    double accuracy = number_in(r, value, key);
    if (accuracy < 0 || accuracy > 1)
        refuse(r, key, "is no accuracy");
    return accuracy;
}

static uint64_t seed_of(struct reader *r, const json_t *object)
{
    char *end;
    const char *text = text_of(r, object, "seed");
    unsigned long long seed = strtoull(text, &end, 10);
    if (end == text || *end || text[0] == '-')
        refuse(r, "seed", "is not a seed");
    return seed;
}

static void *allocate(struct reader *r, size_t count, size_t bytes)
{
    void *memory = calloc(count ? count : 1, bytes);
    if (!memory && r->status == HC_OK)
        r->status = hc_fail(HC_NO_MEMORY, "no memory for the trainings of %s", r->path);
    return memory;
}

static void read_epochs(struct reader *r, const json_t *list, struct hc_outcome *outcome)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > HC_MAX_OUTCOME_EPOCHS) {
        refuse(r, "accuracy_by_epoch", "is not a list of accuracies");
        return;
    }
    double *by_epoch = allocate(r, count, sizeof *by_epoch);
    for (size_t i = 0; by_epoch && i < count; i++)
        by_epoch[i] = accuracy_in(r, json_array_get(list, i), "accuracy_by_epoch");
    outcome->accuracy_by_epoch = by_epoch;
    outcome->epochs = by_epoch ? (int)count : 0;
}

static void read_training(struct reader *r, const json_t *o, struct hc_outcome *outcome)
{
    const json_t *learned = json_object_get(o, "learned");
    const json_t *images = json_object_get(o, "test_images");
    bool says_cpu = json_object_get(o, "cpu") != NULL;
    *outcome =
        (struct hc_outcome){.recipe = text_of(r, o, "recipe"),
                            .backend = text_of(r, o, "backend"),
                            .seed = seed_of(r, o),
                            .settings = text_of(r, o, "settings"),
                            .cpu = says_cpu ? text_of(r, o, "cpu") : "",
                            .test_images = json_integer_value(images),
                            .learned = json_is_true(learned),
                            .reason = text_of(r, o, "reason"),
                            .accuracy = accuracy_in(r, json_object_get(o, "accuracy"), "accuracy"),
                            .test_loss = number_of(r, o, "test_loss"),
                            .train_loss = number_of(r, o, "train_loss")};
    /* An older or another program's word is not taken for a run that has no numbers. */
    if (outcome->learned && !(isfinite(outcome->accuracy) && isfinite(outcome->train_loss))) {
        outcome->learned = false;
        outcome->reason = "its accuracy or its loss is not finite";
    }
    if (!json_is_boolean(learned))
        refuse(r, "learned", "is neither true nor false");
    if (!json_is_integer(images) || outcome->test_images < 1)
        refuse(r, "test_images", "is not a number of images");
    read_epochs(r, json_object_get(o, "accuracy_by_epoch"), outcome);
}

static void add_number(struct reader *r, struct hc_drift_outcome *drift, const char *name,
                       const char *before, double value)
{
    char whole[160];
    (void)hc_text_write(whole, sizeof whole, "%s%s", before, name);
    if (value < 0)
        refuse(r, whole, "is below 0");
    char *copy = strdup(whole);
    if (!copy && r->status == HC_OK)
        r->status = hc_fail(HC_NO_MEMORY, "no memory for the drift of %s", r->path);
    if (copy)
        drift->numbers[drift->count++] = (struct hc_drift_number){copy, value};
}

/* The numbers of a list of layers or sources. */
static void add_list(struct reader *r, struct hc_drift_outcome *drift, const json_t *list,
                     const char *name, const char *value, const char *before)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        add_number(r, drift, text_of(r, o, name), before, number_of(r, o, value));
    }
}

/* A baseline has only the measures; a record has all that was measured. */
static void read_drift(struct reader *r, const json_t *o, struct hc_drift_outcome *drift)
{
    const json_t *measures = json_object_get(o, "measures");
    const json_t *layers = json_object_get(o, "layers");
    const json_t *sources = json_object_get(o, "sources");
    const char *key;
    json_t *value;
    *drift = (struct hc_drift_outcome){.recipe = text_of(r, o, "recipe"),
                                       .backend = text_of(r, o, "backend"),
                                       .seed = seed_of(r, o),
                                       .settings = text_of(r, o, "settings")};
    size_t count =
        json_object_size(measures) + json_array_size(layers) + 2 * json_array_size(sources) + 2;
    drift->numbers = allocate(r, count, sizeof *drift->numbers);
    if (!drift->numbers)
        return;
    if (measures) {
        json_object_foreach((json_t *)measures, key, value)
            add_number(r, drift, key, "", number_in(r, value, key));
        return;
    }
    add_number(r, drift, "gradient", "", number_of(r, json_object_get(o, "all"), "error"));
    add_number(r, drift, "weights", "", number_of(r, o, "free"));
    add_list(r, drift, layers, "layer", "error", "gradient of ");
    add_list(r, drift, sources, "source", "gradient_alone", "gradient by ");
    add_list(r, drift, sources, "source", "free_alone", "weights by ");
}

static int compare(const char *recipe, const char *other_recipe, const char *backend,
                   const char *other_backend, uint64_t seed, uint64_t other_seed)
{
    int order = strcmp(recipe, other_recipe);
    if (!order)
        order = strcmp(backend, other_backend);
    return order ? order : (seed > other_seed) - (seed < other_seed);
}

static int by_training(const void *a, const void *b)
{
    const struct hc_outcome *x = a;
    const struct hc_outcome *y = b;
    return compare(x->recipe, y->recipe, x->backend, y->backend, x->seed, y->seed);
}

static int by_drift(const void *a, const void *b)
{
    const struct hc_drift_outcome *x = a;
    const struct hc_drift_outcome *y = b;
    return compare(x->recipe, y->recipe, x->backend, y->backend, x->seed, y->seed);
}

static int by_name(const void *a, const void *b)
{
    const struct hc_drift_number *x = a;
    const struct hc_drift_number *y = b;
    return strcmp(x->name, y->name);
}

static void read_trainings(struct reader *r, const json_t *list, struct hc_outcomes *outcomes)
{
    size_t count = json_array_size(list);
    outcomes->trainings = allocate(r, count, sizeof *outcomes->trainings);
    for (r->index = 0; r->status == HC_OK && r->index < count; r->index++)
        read_training(r, json_array_get(list, r->index),
                      &outcomes->trainings[outcomes->training_count++]);
    if (r->status != HC_OK)
        return;
    struct hc_outcome *all = outcomes->trainings;
    qsort(all, count, sizeof *all, by_training);
    for (size_t i = 1; i < count && r->status == HC_OK; i++)
        if (by_training(&all[i - 1], &all[i]) == 0)
            r->status = hc_fail(HC_INVALID, "%s: the training of %s, seed %llu, is there twice",
                                r->path, all[i].recipe, (unsigned long long)all[i].seed);
}

/* Entries of an older halfcheck do not say how they were made, and are left out. */
static void read_drifts(struct reader *r, const json_t *list, struct hc_outcomes *outcomes)
{
    size_t count = json_array_size(list);
    outcomes->drifts = allocate(r, count, sizeof *outcomes->drifts);
    for (r->index = 0; r->status == HC_OK && r->index < count; r->index++) {
        const json_t *o = json_array_get(list, r->index);
        if (json_object_get(o, "settings"))
            read_drift(r, o, &outcomes->drifts[outcomes->drift_count++]);
    }
    if (r->status != HC_OK)
        return;
    struct hc_drift_outcome *all = outcomes->drifts;
    for (int i = 0; i < outcomes->drift_count; i++)
        if (all[i].count > 0)
            qsort(all[i].numbers, (size_t)all[i].count, sizeof *all[i].numbers, by_name);
    qsort(all, (size_t)outcomes->drift_count, sizeof *all, by_drift);
    for (int i = 1; i < outcomes->drift_count && r->status == HC_OK; i++)
        if (by_drift(&all[i - 1], &all[i]) == 0)
            r->status = hc_fail(HC_INVALID, "%s: the drift of %s, seed %llu, is there twice",
                                r->path, all[i].recipe, (unsigned long long)all[i].seed);
}

enum hc_status hc_outcomes_read(const char *path, const struct hc_record *record,
                                struct hc_outcomes *outcomes)
{
    struct reader r = {.path = path, .list = "trainings"};
    *outcomes = (struct hc_outcomes){0};
    read_trainings(&r, json_object_get(record->document, "trainings"), outcomes);
    r.list = "drift";
    if (r.status == HC_OK)
        read_drifts(&r, json_object_get(record->document, "drift"), outcomes);
    if (r.status != HC_OK)
        hc_outcomes_free(outcomes);
    return r.status;
}

void hc_outcomes_free(struct hc_outcomes *outcomes)
{
    for (int i = 0; i < outcomes->training_count; i++)
        free((void *)outcomes->trainings[i].accuracy_by_epoch);
    for (int i = 0; i < outcomes->drift_count; i++) {
        for (int k = 0; k < outcomes->drifts[i].count; k++)
            free(outcomes->drifts[i].numbers[k].name);
        free(outcomes->drifts[i].numbers);
    }
    free(outcomes->trainings);
    free(outcomes->drifts);
    *outcomes = (struct hc_outcomes){0};
}

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
