/* Pictures of the cases: points in a file of columns, drawn by reports/series.gp. */
#include "cli/page_cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/picture.h"
#include "cli/script.h"
#include "train/plot.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* As gnuplot quotes it, when nothing in it shall be replaced. */
static void quote(FILE *out, const char *text)
{
    (void)fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            (void)fputc('\'', out);
        (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    (void)fputc('\'', out);
}

static void define_text(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "%s = ", name);
    quote(out, text);
    (void)fputc('\n', out);
}

/* The points of a series as a block of its own; how many. */
static int put_points(FILE *out, const json_t *series)
{
    const char *xs = text_of(series, "x");
    const char *ys = text_of(series, "y");
    double x;
    double y;
    int count = 0;
    for (; hc_picture_next(&xs, &x) && hc_picture_next(&ys, &y); count++)
        (void)fprintf(out, "%.17g %.17g\n", x, y);
    (void)fputs("\n\n", out);
    return count;
}

static void define_series(FILE *out, FILE *points, const json_t *all)
{
    int n = (int)json_array_size(all);
    (void)fprintf(out, "n = %d\narray name[%d]\narray points[%d]\n", n, n + 1, n + 1);
    for (int i = 0; i < n; i++) {
        const json_t *series = json_array_get(all, (size_t)i);
        (void)fprintf(out, "points[%d] = %d\nname[%d] = ", i + 1, put_points(points, series),
                      i + 1);
        quote(out, text_of(series, "name"));
        (void)fputc('\n', out);
    }
}

static void define_marks(FILE *out, const json_t *all)
{
    int n = (int)json_array_size(all);
    (void)fprintf(out, "marks = %d\narray mark[%d]\narray mark_text[%d]\n", n, n + 1, n + 1);
    for (int i = 0; i < n; i++) {
        const json_t *mark = json_array_get(all, (size_t)i);
        const char *x = text_of(mark, "x");
        double value;
        (void)hc_picture_next(&x, &value);
        (void)fprintf(out, "mark[%d] = %.17g\nmark_text[%d] = ", i + 1, value, i + 1);
        quote(out, text_of(mark, "text"));
        (void)fputc('\n', out);
    }
}

static void define(FILE *out, FILE *points, const json_t *picture)
{
    static const char *const flags[] = {"log_x", "log_y", "bars"};
    define_text(out, "title_text", text_of(picture, "title"));
    define_text(out, "x_text", text_of(picture, "x"));
    define_text(out, "y_text", text_of(picture, "y"));
    for (int i = 0; i < 3; i++)
        (void)fprintf(out, "%s = %d\n", flags[i], json_is_true(json_object_get(picture, flags[i])));
    define_series(out, points, json_object_get(picture, "series"));
    define_marks(out, json_object_get(picture, "marks"));
}

/* The picture as SVG, or NULL. */
static char *draw(const json_t *picture, const char *folder, const char **why_not)
{
    enum { DEFINITIONS, POINTS, PICTURE, FILES };
    static const char *const names[FILES] = {"definitions", "points", "picture"};
    char path[FILES][4096];
    char *svg = NULL;
    for (int i = 0; i < FILES; i++)
        (void)snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    FILE *out = fopen(path[DEFINITIONS], "w");
    FILE *points = fopen(path[POINTS], "w");
    if (out && points)
        define(out, points, picture);
    bool written = points && fclose(points) == 0;
    written = out && fclose(out) == 0 && written;
    if (!written)
        *why_not = "the folder cannot be written";
    else if (hc_plot(hc_script("series.gp"),
                     "definitions = 'definitions'; file = 'points'; output_file = 'picture'",
                     folder) != HC_OK)
        *why_not = hc_message();
    else
        svg = hc_page_read_svg(path[PICTURE]);
    for (int i = 0; i < FILES; i++)
        (void)unlink(path[i]);
    return svg;
}

/* Adds a name to a list of them; as it was where there is no memory. */
static void join(char **list, const char *record, const char *backend)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
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

/* Where the picture of a row is, or is to be: among those of its case. */
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

static void add(struct hc_drawn **first, const struct hc_row *row, const json_t *picture,
                const char *record, const char *folder, const char **why_not)
{
    struct hc_drawn **at = place(first, row, picture);
    if (!*at || strcmp((*at)->row->name, row->name) != 0) {
        struct hc_drawn *fresh = calloc(1, sizeof *fresh);
        if (!fresh)
            return;
        *fresh = (struct hc_drawn){*at, row, picture, NULL, draw(picture, folder, why_not)};
        *at = fresh;
    }
    join(&(*at)->where, record, row->backend);
}

struct hc_drawn *hc_page_draw_cases(const struct hc_page_record *records, int count,
                                    const char *folder, const char **why_not)
{
    struct hc_drawn *first = NULL;
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            for (size_t p = 0; p < json_array_size(row->pictures) && !*why_not; p++)
                add(&first, row, json_array_get(row->pictures, p),
                    count > 1 ? records[r].name : NULL, folder, why_not);
        }
    return first;
}

void hc_page_put_cases(FILE *out, const struct hc_drawn *drawn)
{
    const char *name = "";
    if (drawn)
        (void)fputs("<h2>Pictures of the cases</h2>\n", out);
    for (; drawn; drawn = drawn->next) {
        if (!drawn->svg)
            continue;
        if (strcmp(drawn->row->name, name) != 0) {
            name = drawn->row->name;
            (void)fputs("<h3><code>", out);
            hc_page_escape(out, name);
            (void)fputs("</code></h3>\n", out);
        }
        (void)fputs("<p>On ", out);
        hc_page_escape(out, drawn->where ? drawn->where : "");
        (void)fprintf(out, ":</p>\n%s\n", drawn->svg);
    }
}

void hc_page_free_cases(struct hc_drawn *drawn)
{
    while (drawn) {
        struct hc_drawn *next = drawn->next;
        free(drawn->where);
        free(drawn->svg);
        free(drawn);
        drawn = next;
    }
}
