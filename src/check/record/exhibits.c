#include "check/record/exhibits.h"

#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"

enum { NUMBERS = 4 };

static const char *const numbers[NUMBERS] = {"buggy", "fixed", "real", "rad"};

static json_t *format_name(enum hc_format format)
{
    return json_string(format < HC_FORMAT_COUNT ? hc_formats[format].name : "-");
}

json_t *hc_exhibits_write(const struct hc_exhibits *shown)
{
    json_t *array = NULL;
    for (int i = 0; shown && i < shown->count; i++) {
        const struct hc_exhibit *e = &shown->exhibit[i];
        const double value[NUMBERS] = {e->buggy, e->fixed, e->real, e->rad};
        json_t *o = json_object();
        (void)json_object_set_new(o, "name", hc_json_text(e->name));
        (void)json_object_set_new(o, "buggy_format", format_name(e->buggy_format));
        (void)json_object_set_new(o, "format", format_name(e->format));
        for (int n = 0; n < NUMBERS; n++)
            (void)json_object_set_new(o, numbers[n], hc_json_real(value[n]));
        if (!array)
            array = json_array();
        (void)json_array_append_new(array, o);
    }
    return array;
}

/* False if the member is no number. */
static bool read_number(const json_t *o, const char *key, double *value)
{
    char *end;
    const char *text = json_string_value(json_object_get(o, key));
    if (!text)
        return false;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

const char *hc_exhibits_wrong(const json_t *exhibits)
{
    static const char *const texts[] = {"name", "buggy_format", "format"};
    double value;
    if (!json_is_array(exhibits))
        return "\"exhibits\" is not an array";
    for (size_t i = 0; i < json_array_size(exhibits); i++) {
        const json_t *o = json_array_get(exhibits, i);
        for (int t = 0; t < 3; t++)
            if (!json_is_string(json_object_get(o, texts[t])))
                return "an exhibit lacks its name or a format";
        for (int n = 0; n < NUMBERS; n++)
            if (!read_number(o, numbers[n], &value))
                return "an exhibit's value is not a number";
    }
    return NULL;
}

void hc_exhibits_read(const json_t *exhibits, struct hc_exhibits *shown)
{
    *shown = (struct hc_exhibits){0};
    for (size_t i = 0; i < json_array_size(exhibits) && i < HC_MAX_EXHIBITS; i++) {
        const json_t *o = json_array_get(exhibits, i);
        double value[NUMBERS] = {0};
        for (int n = 0; n < NUMBERS; n++)
            (void)read_number(o, numbers[n], &value[n]);
        hc_exhibits_add(shown, json_string_value(json_object_get(o, "name")),
                        hc_format_by_name(json_string_value(json_object_get(o, "format"))),
                        value[0], value[1], value[2], value[3]);
        shown->exhibit[i].buggy_format =
            hc_format_by_name(json_string_value(json_object_get(o, "buggy_format")));
    }
}
