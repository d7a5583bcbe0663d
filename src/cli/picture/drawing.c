/* Draws the pictures of a page, one after the other. */
#include "cli/picture/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/picture/svg.h"
#include "cli/report/script.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "op/text.h"

void hc_drawing_text(FILE *out, const char *text)
{
    char character[5];
    while (hc_text_next(&text, character) > 0)
        (void)fputs(character, out);
}

/* The last `parts` parts of a path. */
static const char *end_of(const char *path, int parts)
{
    const char *at = path + strlen(path);
    while (at > path && (at[-1] != '/' || --parts > 0))
        at--;
    return at;
}

const char *hc_drawing_record(const struct hc_drawing *d, int record)
{
    const char *name = end_of(d->records[record].name, 1);
    for (int r = 0; r < d->count; r++)
        if (r != record && strcmp(end_of(d->records[r].name, 1), name) == 0)
            return end_of(d->records[record].name, 2);
    return name;
}

const char *hc_drawing_number(char text[32], double value)
{
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return value > 0 ? "infinite" : "-infinite";
    (void)snprintf(text, 32, "%.3g", value);
    return text;
}

/* The first rows of a file of columns, whole lines; NULL without memory. */
static char *read_data(const char *path)
{
    enum { SAID = 80 };
    char *text = calloc(1, HC_PICTURE_DATA + 1);
    FILE *file = fopen(path, "r");
    size_t n = file && text ? fread(text, 1, HC_PICTURE_DATA, file) : 0;
    if (n == HC_PICTURE_DATA) {
        size_t end = n - SAID;
        while (end > 0 && text[end - 1] != '\n')
            end--;
        (void)snprintf(text + end, n - end, "(the first rows; the record has the others)\n");
    }
    if (file)
        (void)fclose(file);
    return text;
}

/* Opens what a picture is made of. */
static bool begin(struct hc_drawing *d, struct hc_page_picture *picture, const char *points,
                  size_t size[2])
{
    d->data = fopen(points, "w");
    d->answer = hc_memory_stream(&picture->answer, &size[0]);
    d->alt = hc_memory_stream(&picture->alt, &size[1]);
    d->values = hc_plot_values();
    return d->data && d->answer && d->alt && d->values;
}

static bool end(struct hc_drawing *d)
{
    bool good = !d->data || fclose(d->data) == 0;
    good &= !d->answer || fclose(d->answer) == 0;
    good &= !d->alt || fclose(d->alt) == 0;
    return good;
}

static void give_up(struct hc_page_picture *picture, const char *why)
{
    free(picture->why_not);
    picture->why_not = strdup(why);
}

/* Runs the script, and takes what it drew. */
static enum hc_status draw(const struct hc_picture_kind *kind, struct hc_plot_values *values,
                           const char *folder, struct hc_page_picture *picture)
{
    char path[HC_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s/picture", folder);
    enum hc_status status = hc_plot(hc_script(kind->script), values, folder);
    char *raw = status == HC_OK ? hc_plot_read_svg(path) : NULL;
    if (status == HC_OK && raw)
        picture->svg = hc_picture_svg(raw, kind->id, picture->alt);
    else
        give_up(picture, status == HC_OK ? "gnuplot drew nothing" : hc_message());
    free(raw);
    (void)unlink(path);
    return status;
}

/* Draws one of the records in `what`. HC_NO_MEMORY, HC_IO or HC_UNSUPPORTED, with a line. */
static enum hc_status make(const struct hc_picture_kind *kind, const struct hc_drawing *what,
                           const char *folder, struct hc_page_picture *picture)
{
    char points[HC_MAX_PATH];
    size_t size[2];
    struct hc_drawing d = *what;
    enum hc_status status = HC_OK;
    *picture = (struct hc_page_picture){.id = kind->id, .question = kind->question};
    (void)snprintf(picture->command, sizeof picture->command,
                   "halfcheck report %s --out DIR (reports/%s)",
                   kind->records ? kind->records : "RECORD", kind->script);
    (void)snprintf(points, sizeof points, "%s/points", folder);
    bool good = begin(&d, picture, points, size);
    if (good)
        kind->make(&d);
    good &= end(&d);
    if (!good)
        status = hc_fail(HC_IO, "the folder of the pictures cannot be written");
    if (good && d.points > 0) {
        picture->data = read_data(points);
        status = draw(kind, d.values, folder, picture);
    } else {
        hc_plot_free(d.values);
        give_up(picture, !good ? hc_message() : d.why_not[0] ? d.why_not : "there are no data");
    }
    (void)unlink(points);
    return status;
}

/* In the order of the page. */
static const struct hc_picture_kind *const kinds[] = {
    &hc_picture_headroom,      &hc_picture_answers,          &hc_picture_ulps,
    &hc_picture_inputs,        &hc_picture_accuracy,         &hc_picture_loss,
    &hc_picture_scale,         &hc_picture_weight_exponents, &hc_picture_output_exponents,
    &hc_picture_losses,        &hc_picture_stalls,           &hc_picture_drift_layers,
    &hc_picture_drift_sources, &hc_picture_baseline,
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* The records but the one that is marked as the baseline. The first of two that are not marked is
   the baseline, too, but is also shown. */
static void part(struct hc_drawing *what, struct hc_page_record *shown,
                 const struct hc_page_record *records, int count)
{
    *what = (struct hc_drawing){.records = shown};
    for (int r = 0; r < count; r++)
        if (records[r].baseline)
            what->baseline = &records[r];
        else
            shown[what->count++] = records[r];
    if (!what->baseline && count == 2)
        what->baseline = &records[0];
}

/* A picture without data is not drawn, and says why. HC_NO_MEMORY, with an empty list;
   HC_UNSUPPORTED if there is no gnuplot, HC_IO if it failed, and no picture could be drawn. */
static enum hc_status draw_all(const struct hc_page_record *records, int count, const char *folder,
                               struct hc_page_pictures *pictures)
{
    struct hc_drawing what;
    bool drawn = false;
    enum hc_status status = HC_OK;
    struct hc_page_record *shown = calloc((size_t)count + 1, sizeof *shown);
    struct hc_page_picture *list = calloc(KINDS, sizeof *list);
    pictures->list = list;
    if (list && shown)
        part(&what, shown, records, count);
    else
        status = hc_fail(HC_NO_MEMORY, "no memory for the pictures");
    for (int n = 0; list && n < KINDS && status != HC_NO_MEMORY; n++) {
        enum hc_status one = make(kinds[n], &what, folder, &list[n]);
        pictures->count++;
        status = status == HC_OK ? one : status;
        drawn |= list[n].svg != NULL;
    }
    free(shown);
    return drawn ? HC_OK : status;
}

void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures)
{
    *pictures = (struct hc_page_pictures){0};
    if (draw_all(records, count, folder, pictures) != HC_OK)
        (void)snprintf(pictures->why_not, HC_WHY_NOT, "%s", hc_message());
    int shown = count;
    while (shown > 0 && records[shown - 1].baseline)
        shown--;
    if (!pictures->why_not[0])
        pictures->cases = hc_picture_draw_cases(records, shown, folder, pictures->why_not);
}

void hc_page_free_pictures(struct hc_page_pictures *pictures)
{
    for (int i = 0; i < pictures->count; i++) {
        const struct hc_page_picture *one = &pictures->list[i];
        free(one->answer);
        free(one->alt);
        free(one->svg);
        free(one->data);
        free(one->why_not);
    }
    free(pictures->list);
    for (struct hc_drawn *drawn = pictures->cases, *next; drawn; drawn = next) {
        next = drawn->next;
        free(drawn->where);
        free(drawn->svg);
        free(drawn);
    }
}
