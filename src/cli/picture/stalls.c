/* Sums and averages that stop moving although they should not, from the cases' pictures. */
#include <math.h>
#include <string.h>

#include "check/record/picture.h"
#include "cli/picture/frames.h"

enum { REAL, STALLS, HOLDS, OTHER };

/* What a series of such a picture is, by its name. */
static int role_of(const char *name)
{
    static const struct {
        const char *name;
        int role;
    } roles[] = {{"real", REAL},   {"real sum", REAL}, {"buggy", STALLS},      {"fp16", STALLS},
                 {"bf16", STALLS}, {"fixed", HOLDS},   {"fp32 master", HOLDS}, {"fp32", HOLDS}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    return OTHER;
}

static const json_t *series_of(const json_t *picture, int role)
{
    size_t i;
    json_t *series;
    json_array_foreach(json_object_get(picture, "series"), i, series)
    {
        if (role_of(json_string_value(json_object_get(series, "name"))) == role)
            return series;
    }
    return NULL;
}

/* The way of a series: where it begins and ends, and since when it has stood still. */
struct way {
    double begin;
    double end;
    double since; /* x of the first point that has the last one's y */
    double last;  /* x of the last point */
    int points;
};

static struct way way_of(const json_t *series)
{
    struct way w = {0};
    const char *xs = json_string_value(json_object_get(series, "x"));
    const char *ys = json_string_value(json_object_get(series, "y"));
    double x;
    double y;
    while (xs && ys && hc_picture_next(&xs, &x) && hc_picture_next(&ys, &y)) {
        if (w.points++ == 0)
            w.begin = y;
        if (y != w.end || w.points == 1)
            w.since = x;
        w.end = y;
        w.last = x;
    }
    return w;
}

/* Whether the series stands still for the last tenth of the steps, while the real one goes on. */
static bool stalls(const struct way *real, const struct way *got)
{
    double way = real->end - real->begin;
    return real->points > 2 && got->points > 2 && isfinite(way) && way != 0 && isfinite(got->end) &&
           got->since < 0.9 * got->last && fabs(got->end - real->end) > 0.01 * fabs(way);
}

/* Draws at most so many points of a series, in % of the way that the real number makes. */
enum { MOST_POINTS = 40 };

static void put(struct hc_frames *f, int series, const json_t *points, const struct way *real)
{
    const char *xs = json_string_value(json_object_get(points, "x"));
    const char *ys = json_string_value(json_object_get(points, "y"));
    struct way own = way_of(points);
    int block = (own.points + MOST_POINTS - 1) / MOST_POINTS;
    double x;
    double y;
    for (int i = 0; xs && ys && hc_picture_next(&xs, &x) && hc_picture_next(&ys, &y); i++)
        if (i % block == 0 || i == own.points - 1)
            hc_frames_point(f, series, x, 100 * (y - own.begin) / (real->end - real->begin));
    hc_frames_break(f);
}

struct summary {
    int stalled;
    const struct hc_row *least;
    double way;   /* of it, in % */
    double since; /* from this step on */
};

static void add_stall(struct hc_frames *f, struct summary *s, const struct hc_row *row,
                      const json_t *picture)
{
    const json_t *real_series = series_of(picture, REAL);
    const json_t *got_series = series_of(picture, STALLS);
    struct way real = way_of(real_series);
    struct way got = way_of(got_series);
    if (!stalls(&real, &got))
        return;
    const char *slash = strrchr(row->name, '/');
    if (!hc_frames_next(f, slash ? slash + 1 : row->name, ""))
        return;
    put(f, 0, real_series, &real);
    put(f, 1, got_series, &real);
    put(f, 2, series_of(picture, HOLDS), &real);
    double way = 100 * (got.end - got.begin) / (real.end - real.begin) + 0.0;
    if (s->stalled++ == 0 || way < s->way)
        *s = (struct summary){s->stalled, row, way, got.since};
}

/* Whether an earlier row has the case, too: another backend's, or another record's, which stalls
   alike. */
static bool is_known(const struct hc_drawing *d, int record, int row)
{
    const char *name = d->records[record].record.rows[row].name;
    if (row > 0 && strcmp(name, d->records[record].record.rows[row - 1].name) == 0)
        return true;
    for (int r = 0; r < record; r++)
        for (int i = 0; i < d->records[r].record.count; i++)
            if (strcmp(name, d->records[r].record.rows[i].name) == 0)
                return true;
    return false;
}

static void add_all(struct hc_frames *f, struct summary *s, const struct hc_drawing *d)
{
    for (int r = 0; r < d->count; r++) {
        const struct hc_record *record = &d->records[r].record;
        for (int i = 0; i < record->count; i++) {
            const struct hc_row *row = &record->rows[i];
            if (!row->pictures || is_known(d, r, i))
                continue;
            for (size_t p = 0; p < json_array_size(row->pictures); p++)
                add_stall(f, s, row, json_array_get(row->pictures, p));
        }
    }
}

static void make(struct hc_drawing *d)
{
    static const struct hc_frames_axes axes = {.x = "step",
                                               .y = "way made, % of the real number's",
                                               .y_least = 0,
                                               .y_most = 100,
                                               .style = HC_FRAME_LINES,
                                               .wide = true,
                                               .own_x = true};
    struct hc_frames f;
    struct summary s = {0};
    hc_frames_begin(&f, d, &axes);
    hc_frames_series(&f, "in half or bf16, or the buggy arm");
    hc_frames_series(&f, "with fp32, or the fixed arm");
    hc_frames_behind(&f, "the real number");
    add_all(&f, &s, d);
    hc_frames_end(&f);
    if (!s.least) {
        hc_drawing_why_not(d, "no result has a picture of a number that stops moving");
        return;
    }
    hc_drawing_say(
        d->answer,
        "Cases in which a number stops moving although its updates go on: %d. The least way is "
        "made in "
        "%s: from step %g on it stands still at %.3g %% of what the real number reaches.",
        s.stalled, s.least->name, s.since, s.way);
}

const struct hc_picture_kind hc_picture_stalls = {
    .id = "stalls",
    .question = "Which updates stall?",
    .script = "frames.gp",
    .alt = "Way made by the step, a small frame for each case that stalls (%d).",
    .make = make,
};
