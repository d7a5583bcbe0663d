/* The two pictures of all results, drawn by reports/headroom.gp from a file of points. */
#include "cli/report/page_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report/script.h"
#include "cli/report/plot.h"

enum { LONGEST_LABEL = 48 };

/* Names, numbered from 1. */
struct names {
    char **text;
    int count;
    int room;
};

/* The number of a name of `length` bytes, which is added if it is new; 0 without memory. The search
   begins with the last name: results come in the order of their names. */
static int number_of(struct names *names, const char *name, size_t length)
{
    for (int i = names->count; i > 0; i--)
        if (strlen(names->text[i - 1]) == length && memcmp(names->text[i - 1], name, length) == 0)
            return i;
    if (names->count == names->room) {
        int room = names->room ? 2 * names->room : 64;
        char **text = realloc(names->text, (size_t)room * sizeof *text);
        if (!text)
            return 0;
        names->text = text;
        names->room = room;
    }
    names->text[names->count] = strndup(name, length);
    return names->text[names->count] ? ++names->count : 0;
}

static void forget(struct names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->text[i]);
    free(names->text);
}

/* The points of a picture. Each belongs to a group, which is a row of the picture, and to a
   series. */
struct drawing {
    FILE *points;
    struct names groups;
    struct names series;
    bool nans;
    bool no_memory;
};

/* eps/claim belongs to eps, op/conv2d/fp16/... to op/conv2d. */
static int group_of(struct names *groups, const char *name)
{
    size_t length = strcspn(name, "/");
    size_t second = name[length] ? 1 + strcspn(name + length + 1, "/") : 0;
    return number_of(groups, name, name[length + second] ? length + second : length);
}

static int series_of(struct names *series, const struct hc_page_record *record, int records,
                     const char *backend)
{
    char name[1024];
    if (strcmp(backend, "-") == 0)
        backend = "once";
    (void)snprintf(name, sizeof name, "%s%s%s", records > 1 ? record->name : "",
                   records > 1 ? ": " : "", backend);
    return number_of(series, name, strlen(name));
}

static void point(struct drawing *drawing, int group, int series, double ratio)
{
    drawing->no_memory |= group == 0 || series == 0;
    drawing->nans |= isnan(ratio);
    if (isnan(ratio))
        ratio = -1;
    else
        ratio = fmin(fmax(ratio, 0), 1e6);
    (void)fprintf(drawing->points, "%d %d %.6g\n", group, series, ratio);
}

static void write_headroom(struct drawing *drawing, const struct hc_page_record *records, int count)
{
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            bool number = !isnan(row->error) && !isnan(row->bound);
            if (row->checked > 0)
                point(drawing, group_of(&drawing->groups, row->name),
                      series_of(&drawing->series, &records[r], count, row->backend),
                      number ? hc_ratio(row->error, row->bound) : (double)NAN);
        }
}

static void write_answers(struct drawing *drawing, const struct hc_page_record *records, int count)
{
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            if (isnan(row->implementation) || isnan(row->format))
                continue;
            int group = group_of(&drawing->groups, row->name);
            point(drawing, group, number_of(&drawing->series, "implementation", 14),
                  row->implementation);
            point(drawing, group, number_of(&drawing->series, "format", 6), row->format);
        }
}

static enum hc_status plot(const struct drawing *drawing, const char *folder)
{
    struct hc_plot_values *values = hc_plot_values();
    hc_plot_integer(values, "groups", 0, drawing->groups.count);
    hc_plot_array(values, "group_tic", drawing->groups.count);
    for (int i = 0; i < drawing->groups.count; i++)
        hc_plot_tic(values, "group_tic", i + 1, drawing->groups.text[i], LONGEST_LABEL);
    hc_plot_integer(values, "series", 0, drawing->series.count);
    hc_plot_array(values, "series_name", drawing->series.count);
    for (int i = 0; i < drawing->series.count; i++)
        hc_plot_text(values, "series_name", i + 1, drawing->series.text[i], LONGEST_LABEL);
    hc_plot_integer(values, "nans", 0, drawing->nans);
    return hc_plot(hc_script("headroom.gp"), values, folder);
}

typedef void write_points(struct drawing *drawing, const struct hc_page_record *records, int count);

/* The picture as SVG; NULL if there is nothing to draw, or with the reason in why_not. */
static char *draw(const struct hc_page_record *records, int count, const char *folder,
                  write_points *put, char why_not[HC_WHY_NOT])
{
    struct drawing drawing = {0};
    char points[4096];
    char picture[4096];
    char *svg = NULL;
    (void)snprintf(points, sizeof points, "%s/points", folder);
    (void)snprintf(picture, sizeof picture, "%s/picture", folder);
    drawing.points = fopen(points, "w");
    if (drawing.points)
        put(&drawing, records, count);
    if (!drawing.points || fclose(drawing.points) != 0)
        (void)snprintf(why_not, HC_WHY_NOT, "the folder cannot be written");
    else if (drawing.no_memory)
        (void)snprintf(why_not, HC_WHY_NOT, "there is no memory");
    else if (drawing.groups.count > 0 && plot(&drawing, folder) != HC_OK)
        (void)snprintf(why_not, HC_WHY_NOT, "%s", hc_message());
    else
        svg = hc_plot_read_svg(picture);
    (void)unlink(points);
    (void)unlink(picture);
    forget(&drawing.groups);
    forget(&drawing.series);
    return svg;
}

void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures)
{
    *pictures = (struct hc_page_pictures){0};
    pictures->headroom = draw(records, count, folder, write_headroom, pictures->why_not);
    if (!pictures->why_not[0])
        pictures->answers = draw(records, count, folder, write_answers, pictures->why_not);
    if (!pictures->why_not[0])
        pictures->cases = hc_page_draw_cases(records, count, folder, pictures->why_not);
}

void hc_page_free_pictures(struct hc_page_pictures *pictures)
{
    free(pictures->headroom);
    free(pictures->answers);
    hc_page_free_cases(pictures->cases);
}
