/* Draws the pictures of a page, one after the other. */
#include "cli/picture/drawing.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report/script.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "op/text.h"

void hc_drawing_names(FILE *out, const char *first, const char *second)
{
    hc_text_line(out, first);
    (void)fputc('\t', out);
    hc_text_line(out, second);
    (void)fputc('\n', out);
}

void hc_drawing_say(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hc_vprint_text(out, format, arguments);
    va_end(arguments);
}

void hc_drawing_why_not(struct hc_drawing *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(d->why_not, sizeof d->why_not, format, arguments);
    va_end(arguments);
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

enum hc_status hc_drawing_plot(const char *script, struct hc_plot_values *values,
                               const char *folder, const char *id, const char *alt, char **svg)
{
    char path[HC_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s/picture", folder);
    enum hc_status status = hc_plot(hc_script(script), values, folder);
    char *raw = status == HC_OK ? hc_plot_read_svg(path) : NULL;
    *svg = raw ? hc_picture_svg(raw, id, alt) : NULL;
    if (status == HC_OK && !*svg)
        status = hc_fail(HC_IO, "gnuplot drew nothing");
    free(raw);
    (void)unlink(path);
    return status;
}

/* Draws one of the records in `what`. HC_NO_MEMORY, HC_IO or HC_UNSUPPORTED, with a line. */
static enum hc_status make(const struct hc_picture_kind *kind, const struct hc_drawing *what,
                           const char *folder, struct hc_page_picture *picture)
{
    char points[HC_MAX_PATH];
    size_t size;
    struct hc_drawing d = *what;
    enum hc_status status = HC_OK;
    *picture = (struct hc_page_picture){.id = kind->id, .question = kind->question};
    (void)snprintf(picture->command, sizeof picture->command,
                   "halfcheck report %s --out DIR (reports/%s)",
                   kind->records ? kind->records : "RECORD", kind->script);
    (void)snprintf(points, sizeof points, "%s/points", folder);
    d.data = fopen(points, "w");
    d.answer = hc_memory_stream(&picture->answer, &size);
    d.values = hc_plot_values();
    bool good = d.data && d.answer && d.values;
    if (good)
        kind->make(&d);
    good &= !d.data || fclose(d.data) == 0;
    good &= !d.answer || fclose(d.answer) == 0;
    if (!good)
        status = hc_fail(HC_IO, "the folder of the pictures cannot be written");
    if (good && d.points > 0) {
        const char *number = strstr(kind->alt, "%d");
        (void)snprintf(picture->alt, sizeof picture->alt, "%.*s%d%s", (int)(number - kind->alt),
                       kind->alt, d.shown, number + strlen("%d"));
        picture->data = read_data(points);
        status =
            hc_drawing_plot(kind->script, d.values, folder, kind->id, picture->alt, &picture->svg);
    } else
        hc_plot_free(d.values);
    if (!picture->svg)
        picture->why_not = strdup(status != HC_OK ? hc_message()
                                  : d.why_not[0]  ? d.why_not
                                                  : "there are no data");
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
