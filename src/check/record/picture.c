#include "check/record/picture.h"

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
