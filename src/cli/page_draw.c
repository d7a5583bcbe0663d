/* The pictures of the page: points in a file of columns, drawn by reports/headroom.gp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/page.h"
#include "cli/page_cases.h"
#include "cli/script.h"
#include "train/plot.h"

enum { MOST_WORDS = 64 };

/* Names in the order of their numbers, from 1 on. */
struct words {
    char text[MOST_WORDS][64];
    int count;
};

static int number_of(struct words *words, const char *name, size_t length)
{
    if (length >= sizeof words->text[0])
        length = sizeof words->text[0] - 1;
    for (int i = 0; i < words->count; i++)
        if (strlen(words->text[i]) == length && strncmp(words->text[i], name, length) == 0)
            return i + 1;
    if (words->count == MOST_WORDS)
        return MOST_WORDS;
    (void)snprintf(words->text[words->count++], sizeof words->text[0], "%.*s", (int)length, name);
    return words->count;
}

/* eps/claim belongs to eps, op/conv2d/fp16/... to op/conv2d. */
static int group_of(struct words *groups, const char *name)
{
    size_t length = strcspn(name, "/");
    size_t second = name[length] ? 1 + strcspn(name + length + 1, "/") : 0;
    return number_of(groups, name, name[length + second] ? length + second : length);
}

static int series_of(struct words *series, const struct hc_page_record *record, int records,
                     const char *backend)
{
    char name[64];
    if (strcmp(backend, "-") == 0)
        backend = "once";
    (void)snprintf(name, sizeof name, records > 1 ? "%s:%s" : "%s",
                   records > 1 ? record->name : backend, backend);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '\'' || *c == '"')
            *c = '_';
    return number_of(series, name, strlen(name));
}

static void point(FILE *out, int group, int series, double ratio)
{
    (void)fprintf(out, "%d %d %.6g\n", group, series, ratio < 1e6 ? ratio : 1e6);
}

static void put_headroom(FILE *out, const struct hc_page_record *records, int count,
                         struct words *groups, struct words *series)
{
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            if (row->checked > 0)
                point(out, group_of(groups, row->name),
                      series_of(series, &records[r], count, row->backend),
                      hc_ratio(row->error, row->bound));
        }
}

static void put_answers(FILE *out, const struct hc_page_record *records, int count,
                        struct words *groups, struct words *series)
{
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            if (isnan(row->implementation) || isnan(row->format))
                continue;
            int group = group_of(groups, row->name);
            point(out, group, number_of(series, "implementation", 14), row->implementation);
            point(out, group, number_of(series, "format", 6), row->format);
        }
}

static void join(char *text, size_t size, const struct words *words)
{
    text[0] = '\0';
    for (int i = 0; i < words->count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, size - used, "%s%s", i ? " " : "", words->text[i]);
    }
}

char *hc_page_read_svg(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    if (file && getdelim(&text, &size, '\0', file) > 0) {
        const char *start = strstr(text, "<svg");
        if (start)
            memmove(text, start, strlen(start) + 1);
    }
    if (file)
        (void)fclose(file);
    return text;
}

typedef void put_points(FILE *out, const struct hc_page_record *records, int count,
                        struct words *groups, struct words *series);

static char *draw(const struct hc_page_record *records, int count, const char *folder,
                  put_points *put, const char **why_not)
{
    struct words groups = {0};
    struct words series = {0};
    char path[4096];
    char names[MOST_WORDS * 64];
    char titles[MOST_WORDS * 64];
    char definitions[2 * MOST_WORDS * 64 + 256];
    (void)snprintf(path, sizeof path, "%s/points", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return NULL;
    put(file, records, count, &groups, &series);
    bool written = fclose(file) == 0;
    char *svg = NULL;
    join(names, sizeof names, &groups);
    join(titles, sizeof titles, &series);
    (void)snprintf(definitions, sizeof definitions,
                   "file='points'; output='picture'; groups=%d; series=%d; names='%s'; titles='%s'",
                   groups.count, series.count, names, titles);
    if (written && groups.count > 0) {
        if (hc_plot(hc_script("headroom.gp"), definitions, folder) != HC_OK)
            *why_not = hc_message();
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/picture", folder);
        if (!*why_not)
            svg = hc_page_read_svg(path);
    }
    (void)unlink(path);
    return svg;
}

void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures)
{
    *pictures = (struct hc_page_pictures){0};
    pictures->headroom = draw(records, count, folder, put_headroom, &pictures->why_not);
    if (!pictures->why_not)
        pictures->answers = draw(records, count, folder, put_answers, &pictures->why_not);
    if (!pictures->why_not)
        pictures->cases = hc_page_draw_cases(records, count, folder, &pictures->why_not);
}
