#include "cli/calc/calc.h"

#include "check/record/json.h"
#include "cli/calc/number.h"
#include "formula/event.h"

static const char *const kinds[HC_EVENT_KIND_COUNT] = {[HC_EVENT_LITERAL_ZERO] = "literal_zero",
                                                       [HC_EVENT_LITERAL_ONE] = "literal_one",
                                                       [HC_EVENT_LITERAL_INF] = "literal_inf",
                                                       [HC_EVENT_ABSORBED] = "absorbed",
                                                       [HC_EVENT_VANISHED] = "vanished",
                                                       [HC_EVENT_OVERFLOWED] = "overflowed",
                                                       [HC_EVENT_NAN] = "nan",
                                                       [HC_EVENT_DIVIDED_BY_0] = "divided_by_0",
                                                       [HC_EVENT_SATURATED] = "saturated",
                                                       [HC_EVENT_SIGN_LOST] = "sign_lost",
                                                       [HC_EVENT_CANCELLED] = "cancelled",
                                                       [HC_EVENT_REFORMATTED] = "reformatted"};

static void set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, text ? hc_json_text(text) : json_null());
}

static void set_integer(json_t *object, const char *key, int64_t value)
{
    (void)json_object_set_new(object, key, json_integer(value));
}

/* The number of a step, or null. */
static void set_step(json_t *object, const char *key, int64_t step)
{
    (void)json_object_set_new(object, key, step >= 0 ? json_integer(step) : json_null());
}

static const char *format_name(enum hc_format format)
{
    return format == HC_FORMAT_COUNT ? NULL : hc_formats[format].name;
}

static json_t *cell_document(const struct hc_calc *calc, const struct hc_calc_cell *cell)
{
    json_t *object = json_object();
    char text[HC_NUMBER_TEXT];
    hc_number_text(text, cell->format, cell->want, 0);
    set_text(object, "format", format_name(cell->format));
    set_text(object, "text", text);
    (void)json_object_set_new(object, "value", hc_json_real(cell->want));
    hc_bits_text(text, cell->format, cell->want);
    set_text(object, "bits", text[0] ? text : NULL);
    (void)json_object_set_new(object, "bound", hc_json_real(cell->rad));
    if (calc->backend) {
        hc_bits_text(text, cell->format, cell->got);
        (void)json_object_set_new(object, "got", hc_json_real(cell->got));
        set_text(object, "got_bits", text[0] ? text : NULL);
    }
    return object;
}

static json_t *row_document(const struct hc_calc_run *run, const struct hc_calc_row *row)
{
    json_t *object = json_object();
    json_t *shown = json_array();
    if (run->calc->loop)
        set_integer(object, "step", row->step);
    for (int i = 0; i < run->items; i++) {
        json_t *item = json_object();
        json_t *arms = json_array();
        char text[HC_NUMBER_TEXT];
        hc_calc_name(run, i, HC_CALC_NAME - 1, text);
        set_text(item, "name", text);
        for (int a = 0; a < run->calc->arms; a++)
            (void)json_array_append_new(arms, cell_document(run->calc, &row->cell[i][a]));
        (void)json_object_set_new(item, "arms", arms);
        hc_calc_real_text(run, row, i, text, sizeof text);
        set_text(item, "real", text);
        (void)json_object_set_new(item, "real_value", hc_json_real(row->real[i].value.hi));
        (void)json_object_set_new(item, "real_error", hc_json_real(row->real[i].rad));
        (void)json_array_append_new(shown, item);
    }
    (void)json_object_set_new(object, "shown", shown);
    return object;
}

static json_t *event_document(const struct hc_event *event)
{
    json_t *object = json_object();
    char text[256];
    char formula[128];
    hc_event_text(event, text, sizeof text);
    (void)snprintf(formula, sizeof formula, "%.*s", event->node->length, event->node->at);
    set_text(object, "kind", kinds[event->kind]);
    set_text(object, "text", text);
    set_text(object, "formula", formula);
    set_text(object, "format", format_name(event->format));
    set_integer(object, "first", event->first);
    set_integer(object, "last", event->last);
    set_integer(object, "times", event->times);
    return object;
}

static json_t *trajectories_document(const struct hc_calc_run *run, int arm)
{
    json_t *courses = json_array();
    for (int i = 0; i < run->items; i++) {
        const struct hc_calc_trajectory *trajectory = &run->trajectory[i * HC_CALC_ARMS + arm];
        json_t *object = json_object();
        char name[HC_CALC_NAME];
        hc_calc_name(run, i, HC_CALC_NAME - 1, name);
        set_text(object, "name", name);
        set_step(object, "parts", trajectory->parts);
        set_step(object, "stands_from",
                 hc_calc_stalls(run, i, arm) ? trajectory->changed.step : -1);
        (void)json_array_append_new(courses, object);
    }
    return courses;
}

static json_t *arm_document(const struct hc_calc_run *run, int arm)
{
    const struct hc_arm *a = &run->calc->arm[arm];
    const struct hc_event *event;
    char sentence[HC_CALC_MAX_SENTENCES][HC_CALC_SENTENCE];
    json_t *object = json_object();
    json_t *sentences = json_array();
    json_t *events = json_array();
    set_text(object, "arm", a->text);
    set_text(object, "arithmetic", hc_formats[a->arithmetic].name);
    set_text(object, "storage", hc_formats[a->storage].name);
    (void)json_object_set_new(object, "shown", trajectories_document(run, arm));
    int count = hc_calc_sentences(run, arm, sentence);
    for (int i = 0; i < count; i++)
        (void)json_array_append_new(sentences, hc_json_text(sentence[i]));
    (void)json_object_set_new(object, "sentences", sentences);
    count = hc_evaluation_events(run->arm[arm], &event);
    for (int i = 0; i < count; i++)
        (void)json_array_append_new(events, event_document(&event[i]));
    (void)json_object_set_new(object, "events", events);
    if (run->calc->backend) {
        const struct hc_evaluation_difference *d = hc_evaluation_difference(run->arm[arm]);
        set_integer(object, "compared", d->compared);
        set_integer(object, "differed", d->differed);
    }
    return object;
}

json_t *hc_calc_document(const struct hc_calc_run *run)
{
    const struct hc_calc *calc = run->calc;
    json_t *object = json_object();
    json_t *arms = json_array();
    json_t *rows = json_array();
    set_integer(object, "schema", 1);
    set_text(object, "formula", calc->start ? calc->start->text : NULL);
    set_text(object, "each", calc->loop ? calc->loop->text : NULL);
    set_text(object, "show", calc->shown->text);
    set_integer(object, "steps", calc->steps);
    set_integer(object, "done", run->last.step);
    set_step(object, "still_from", run->last_change);
    set_integer(object, "precision", run->precision);
    set_step(object, "real_uncertain_from", run->unsettled);
    set_text(object, "backend", calc->backend ? calc->backend->name : NULL);
    for (int a = 0; a < calc->arms; a++)
        (void)json_array_append_new(arms, arm_document(run, a));
    (void)json_object_set_new(object, "arms", arms);
    for (int r = 0; r < run->rows.count; r++)
        (void)json_array_append_new(rows, row_document(run, &run->rows.row[r]));
    (void)json_object_set_new(object, "rows", rows);
    return object;
}
