/* Pictures of the cases: points in a file of columns, drawn by reports/series.gp. */
#include "cli/picture/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/picture.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "op/text.h"

enum { LONGEST_NAME = 48, LONGEST_TITLE = 110 };

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A picture, and how many of its points can be drawn. */
struct drawable {
    const json_t *picture;
    int points; /* in all series */
};

static bool flag_of(const json_t *picture, const char *key)
{
    return json_is_true(json_object_get(picture, key));
}

static bool can_draw(const json_t *picture, double x, double y)
{
    return isfinite(x) && isfinite(y) && (x > 0 || !flag_of(picture, "log_x")) &&
           (y > 0 || !flag_of(picture, "log_y"));
}

/* Writes the points of a series as a block, and returns how many there are. `missing` says where
   they are not finite; it is put behind the name of the series. */
static int write_points(FILE *out, const json_t *series, struct drawable *all, char *missing,
                        size_t size)
{
    const char *xs = text_of(series, "x");
    const char *ys = text_of(series, "y");
    double x;
    double y;
    int count = 0;
    int lost = 0;
    for (; hc_picture_next(&xs, &x) && hc_picture_next(&ys, &y); count++) {
        bool finite = isfinite(x) && isfinite(y);
        if (!finite && lost++ == 0)
            (void)hc_text_write(missing, size, " (not finite from %g on)", x);
        all->points += can_draw(all->picture, x, y);
        (void)fprintf(out, finite ? "%.17g %.17g\n" : "NaN NaN\n", x, y);
        if (finite && lost > 0)
            (void)snprintf(missing, size, " (not finite in places)");
    }
    (void)fputs("\n\n", out);
    return count;
}

static void set_series(struct hc_plot_values *values, FILE *points, struct drawable *all)
{
    const json_t *series = json_object_get(all->picture, "series");
    int n = (int)json_array_size(series);
    hc_plot_integer(values, "n", 0, n);
    hc_plot_array(values, "name", n);
    hc_plot_array(values, "points", n);
    for (int i = 0; i < n; i++) {
        const json_t *one = json_array_get(series, (size_t)i);
        char missing[80] = "";
        char name[256];
        hc_plot_integer(values, "points", i + 1,
                        write_points(points, one, all, missing, sizeof missing));
        (void)snprintf(name, sizeof name, "%.*s%s", 160, text_of(one, "name"), missing);
        hc_plot_text(values, "name", i + 1, name, LONGEST_NAME);
    }
    const char *first = n > 0 ? text_of(json_array_get(series, 0), "name") : "";
    hc_plot_integer(values, "first_is_real", 0, strncmp(first, "real", 4) == 0);
}

static void set_marks(struct hc_plot_values *values, const json_t *picture)
{
    const json_t *all = json_object_get(picture, "marks");
    int n = (int)json_array_size(all);
    int finite = 0;
    hc_plot_array(values, "mark", n);
    hc_plot_array(values, "mark_text", n);
    for (int i = 0; i < n; i++) {
        const json_t *mark = json_array_get(all, (size_t)i);
        const char *x = text_of(mark, "x");
        double value;
        if (!hc_picture_next(&x, &value) || !can_draw(picture, value, 1))
            continue;
        hc_plot_real(values, "mark", ++finite, value);
        hc_plot_text(values, "mark_text", finite, text_of(mark, "text"), LONGEST_NAME);
    }
    hc_plot_integer(values, "marks", 0, finite);
}

static void set_values(struct hc_plot_values *values, FILE *points, struct drawable *all)
{
    static const char *const flags[] = {"log_x", "log_y", "bars"};
    hc_plot_text(values, "title_text", 0, text_of(all->picture, "title"), LONGEST_TITLE);
    hc_plot_text(values, "x_text", 0, text_of(all->picture, "x"), LONGEST_TITLE);
    hc_plot_text(values, "y_text", 0, text_of(all->picture, "y"), LONGEST_NAME);
    for (int i = 0; i < 3; i++)
        hc_plot_integer(values, flags[i], 0, flag_of(all->picture, flags[i]));
    set_series(values, points, all);
    set_marks(values, all->picture);
}

/* Draws picture `number` as SVG. HC_UNSUPPORTED and HC_IO as hc_plot, with a line. */
static enum hc_status draw(struct hc_drawn *drawn, int number, const char *folder)
{
    char id[32];
    char points[HC_MAX_PATH];
    struct drawable all = {.picture = drawn->picture};
    enum hc_status status = HC_OK;
    (void)snprintf(id, sizeof id, "case-%d", number);
    (void)snprintf(points, sizeof points, "%s/points", folder);
    FILE *out = fopen(points, "w");
    struct hc_plot_values *values = hc_plot_values();
    if (out)
        set_values(values, out, &all);
    if (!out || fclose(out) != 0)
        status = hc_fail(HC_IO, "the folder cannot be written");
    else if (all.points == 0)
        status = hc_fail(HC_INVALID, "none of its points is a number that its axes can show");
    if (status == HC_OK)
        status = hc_drawing_plot("series.gp", values, folder, id, text_of(drawn->picture, "title"),
                                 &drawn->svg);
    else
        hc_plot_free(values);
    if (!drawn->svg)
        (void)snprintf(drawn->why_not, sizeof drawn->why_not, "%s", hc_message());
    (void)unlink(points);
    return status;
}

/* Adds a name to a list of names; without memory the list stays as it was. */
static void join(char **list, const char *record, const char *backend)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = hc_memory_stream(&text, &size);
    if (!out)
        return;
    (void)fprintf(out, "%s%s%s%s%s", *list ? *list : "", *list ? ", " : "", record ? record : "",
                  record ? ": " : "", strcmp(backend, "-") == 0 ? "no backend" : backend);
    (void)fclose(out);
    if (text) {
        free(*list);
        *list = text;
    }
}

/* The place of a picture among those of its case: where it is, or where it must be inserted. */
static struct hc_drawn **place(struct hc_drawn **first, const struct hc_row *row,
                               const json_t *picture)
{
    struct hc_drawn **end = first;
    while (*end && strcmp((*end)->row->name, row->name) != 0)
        end = &(*end)->next;
    while (*end && strcmp((*end)->row->name, row->name) == 0 &&
           !json_equal((*end)->picture, picture))
        end = &(*end)->next;
    return end;
}

static void add_picture(struct hc_drawn **first, const struct hc_row *row, const json_t *picture,
                        const char *record, const char *folder, char why_not[HC_WHY_NOT])
{
    struct hc_drawn **at = place(first, row, picture);
    if (!*at || strcmp((*at)->row->name, row->name) != 0) {
        struct hc_drawn *fresh = calloc(1, sizeof *fresh);
        if (!fresh)
            return;
        *fresh = (struct hc_drawn){.next = *at, .row = row, .picture = picture};
        *at = fresh;
        int number = 0;
        for (const struct hc_drawn *one = *first; one; one = one->next)
            number++;
        if (draw(fresh, number, folder) == HC_UNSUPPORTED)
            (void)snprintf(why_not, HC_WHY_NOT, "%s", fresh->why_not);
    }
    join(&(*at)->where, record, row->backend);
}

struct hc_drawn *hc_picture_draw_cases(const struct hc_page_record *records, int count,
                                       const char *folder, char why_not[HC_WHY_NOT])
{
    struct hc_drawn *first = NULL;
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            for (size_t p = 0; p < json_array_size(row->pictures) && !why_not[0]; p++)
                add_picture(&first, row, json_array_get(row->pictures, p),
                            count > 1 ? records[r].name : NULL, folder, why_not);
        }
    return first;
}
