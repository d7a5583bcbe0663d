/* Pictures in records. */
#include "check/record/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_inner.h"

struct hc_picture *hc_picture_new(struct hc_check *check, const struct hc_frame *frame)
{
    struct hc_picture **end = &check->result.pictures;
    while (*end)
        end = &(*end)->next;
    *end = hc_check_memory(check, sizeof **end);
    (*end)->frame = *frame;
    return *end;
}

static struct hc_series *series_of(struct hc_check *check, struct hc_picture *picture,
                                   const char *name)
{
    struct hc_series **at = &picture->series;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (!*at) {
        *at = hc_check_memory(check, sizeof **at);
        (*at)->name = name;
        (*at)->stride = 1;
    }
    return *at;
}

/* Removes every other point. */
static void thin_out(struct hc_series *s)
{
    for (int i = 0; 2 * i < s->count; i++) {
        s->x[i] = s->x[2 * i];
        s->y[i] = s->y[2 * i];
    }
    s->count = (s->count + 1) / 2;
    s->stride *= 2;
}

void hc_point(struct hc_check *check, struct hc_picture *picture, const char *series, double x,
              double y)
{
    struct hc_series *s = series_of(check, picture, series);
    s->last_x = x;
    s->last_y = y;
    if (s->count == HC_SERIES_POINTS)
        thin_out(s);
    if (s->offered++ % s->stride)
        return;
    s->x[s->count] = x;
    s->y[s->count] = y;
    s->count++;
}

/* Pictures in records. */

enum { HEX = 32 }; /* bytes that "%a " needs at most */

/* The values, and after them the last one if it is missing there. */
static json_t *coordinates(const double *values, int count, double last, bool missing)
{
    char text[(HC_SERIES_POINTS + 1) * HEX];
    size_t used = 0;
    for (int i = 0; i < count + missing; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i ? " %a" : "%a",
                                 i < count ? values[i] : last);
    return json_stringn(text, used);
}

static json_t *write_series(const struct hc_series *s)
{
    bool missing = (s->offered - 1) % s->stride != 0;
    return json_pack("{s:s, s:o, s:o}", "name", s->name, "x",
                     coordinates(s->x, s->count, s->last_x, missing), "y",
                     coordinates(s->y, s->count, s->last_y, missing));
}

static json_t *write_picture(const struct hc_picture *p)
{
    const struct hc_frame *f = &p->frame;
    json_t *marks = json_array();
    json_t *series = json_array();
    for (int i = 0; i < HC_MARKS && f->marks[i].text; i++)
        (void)json_array_append_new(marks,
                                    json_pack("{s:o, s:s}", "x", json_sprintf("%a", f->marks[i].x),
                                              "text", f->marks[i].text));
    for (const struct hc_series *s = p->series; s; s = s->next)
        (void)json_array_append_new(series, write_series(s));
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:o, s:o}", "title", f->title, "x", f->x, "y",
                     f->y, "log_x", f->log_x, "log_y", f->log_y, "bars", f->bars, "marks", marks,
                     "series", series);
}

json_t *hc_pictures_write(const struct hc_picture *pictures)
{
    json_t *array = NULL;
    for (const struct hc_picture *p = pictures; p; p = p->next) {
        if (!p->series)
            continue;
        if (!array)
            array = json_array();
        (void)json_array_append_new(array, write_picture(p));
    }
    return array;
}

bool hc_picture_next(const char **text, double *value)
{
    char *end;
    *value = strtod(*text, &end);
    bool found = end != *text && (*end == ' ' || *end == '\0');
    *text = end;
    return found;
}

/* How many coordinates there are; -1 if one is not a number. */
static int count_of(const json_t *series, const char *key)
{
    const char *text = json_string_value(json_object_get(series, key));
    double value;
    int count = 0;
    if (!text)
        return -1;
    while (hc_picture_next(&text, &value))
        count++;
    return *text ? -1 : count;
}

static const char *wrong_series(const json_t *series)
{
    if (!json_is_string(json_object_get(series, "name")))
        return "a picture's series has no name";
    int count = count_of(series, "x");
    if (count < 0 || count_of(series, "y") < 0)
        return "a picture's coordinate is not a number";
    return count == count_of(series, "y") ? NULL : "a picture's series has an x without its y";
}

static const char *wrong_picture(const json_t *p)
{
    static const char *const texts[] = {"title", "x", "y"};
    static const char *const flags[] = {"log_x", "log_y", "bars"};
    const json_t *marks = json_object_get(p, "marks");
    const json_t *series = json_object_get(p, "series");
    for (int i = 0; i < 3; i++)
        if (!json_is_string(json_object_get(p, texts[i])) ||
            !json_is_boolean(json_object_get(p, flags[i])))
            return "a picture lacks a title, an axis or how it is drawn";
    if (!json_is_array(marks) || !json_is_array(series))
        return "a picture has no \"marks\" or no \"series\"";
    for (size_t i = 0; i < json_array_size(marks); i++)
        if (count_of(json_array_get(marks, i), "x") != 1 ||
            !json_is_string(json_object_get(json_array_get(marks, i), "text")))
            return "a picture's mark is not a number and a text";
    for (size_t i = 0; i < json_array_size(series); i++) {
        const char *wrong = wrong_series(json_array_get(series, i));
        if (wrong)
            return wrong;
    }
    return NULL;
}

const char *hc_pictures_wrong(const json_t *pictures)
{
    if (!json_is_array(pictures))
        return "\"pictures\" is not an array";
    for (size_t i = 0; i < json_array_size(pictures); i++) {
        const char *wrong = wrong_picture(json_array_get(pictures, i));
        if (wrong)
            return wrong;
    }
    return NULL;
}
