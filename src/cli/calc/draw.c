#include "cli/calc/calc.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/plot.h"
#include "cli/report/script.h"
#include "op/memory_stream.h"
#include "op/output.h"

enum { LONGEST_LABEL = 48, LONGEST_TITLE = 90 };

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path);
    return length > strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

enum hc_status hc_calc_draw_probe(const char *path)
{
    char folder[HC_MAX_TEMPORARY];
    if (!ends_with(path, ".png") && !ends_with(path, ".svg"))
        return hc_fail(HC_INVALID, "--plot draws FILE.png or FILE.svg, not '%s'", path);
    enum hc_status status = hc_output_probe(path);
    if (status == HC_OK)
        status = hc_output_folder(folder, "halfcheck-calc");
    if (status != HC_OK)
        return status;
    status = hc_plot("", hc_plot_values(), folder); /* is there a gnuplot? */
    hc_output_folder_remove(folder);
    return status;
}

/* The value of a series: 0 is the real number. */
static double value_of(const struct hc_calc_row *row, int item, int series)
{
    return series == 0 ? row->real[item].value.hi : row->cell[item][series - 1].want;
}

static enum hc_status write_points(const struct hc_calc_run *run, const char *path)
{
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < run->items; i++)
        for (int s = 0; s <= run->calc->arms; s++) {
            for (int r = 0; r < run->samples.count; r++) {
                double value = value_of(&run->samples.row[r], i, s);
                if (isfinite(value))
                    (void)fprintf(file, "%" PRId64 " %.16e\n", run->samples.row[r].step, value);
            }
            (void)fputs("# end\n0 NaN\n\n\n", file);
        }
    bool written = file && !ferror(file);
    if (file && fclose(file) != 0)
        written = false;
    return written ? HC_OK : hc_fail(HC_IO, "cannot write %s: %s", path, strerror(errno));
}

/* The axis of a frame: logarithmic if all numbers are positive and span three decades. Where no
   number is finite, gnuplot finds no range by itself. */
enum axis { LINEAR, LOGARITHMIC, EMPTY };

static enum axis axis_of(const struct hc_calc_run *run, int item)
{
    double least = INFINITY;
    double most = -INFINITY;
    for (int r = 0; r < run->samples.count; r++)
        for (int s = 0; s <= run->calc->arms; s++) {
            double value = value_of(&run->samples.row[r], item, s);
            if (isfinite(value)) {
                least = fmin(least, value);
                most = fmax(most, value);
            }
        }
    if (least > most)
        return EMPTY;
    return least > 0 && most / least > 1000 ? LOGARITHMIC : LINEAR;
}

static struct hc_plot_values *values_of(const struct hc_calc_run *run, bool png)
{
    const struct hc_calc *calc = run->calc;
    struct hc_plot_values *values = hc_plot_values();
    char name[HC_CALC_NAME];
    char title[LONGEST_TITLE + 16];
    (void)snprintf(title, sizeof title, "each step: %.*s", LONGEST_TITLE, calc->loop->text);
    hc_plot_integer(values, "png", 0, png);
    hc_plot_text(values, "title_text", 0, title, LONGEST_TITLE);
    hc_plot_integer(values, "frames", 0, run->items);
    hc_plot_array(values, "frame_name", run->items);
    hc_plot_array(values, "axis", run->items);
    for (int i = 0; i < run->items; i++) {
        hc_calc_name(run, i, HC_CALC_NAME - 1, name);
        hc_plot_text(values, "frame_name", i + 1, name, LONGEST_LABEL);
        hc_plot_integer(values, "axis", i + 1, axis_of(run, i));
    }
    hc_plot_integer(values, "n", 0, calc->arms + 1);
    hc_plot_array(values, "name", calc->arms + 1);
    hc_plot_text(values, "name", 1, "real", LONGEST_LABEL);
    for (int a = 0; a < calc->arms; a++)
        hc_plot_text(values, "name", a + 2, calc->arm[a].text, LONGEST_LABEL);
    return values;
}

static enum hc_status copy_picture(const char *from, const char *to)
{
    char *data = NULL;
    size_t size = 0;
    char part[4096];
    FILE *file = fopen(from, "r");
    FILE *memory = hc_memory_stream(&data, &size);
    size_t n;
    while (file && memory && (n = fread(part, 1, sizeof part, file)) > 0)
        (void)fwrite(part, 1, n, memory);
    bool read = file && memory && !ferror(file) && !ferror(memory);
    if (file)
        (void)fclose(file);
    if (memory && fclose(memory) != 0)
        read = false;
    enum hc_status status =
        read && size > 0 ? hc_output_write(to, data, size) : hc_fail(HC_IO, "gnuplot drew nothing");
    free(data);
    return status;
}

enum hc_status hc_calc_draw(const struct hc_calc_run *run, const char *path)
{
    char folder[HC_MAX_TEMPORARY];
    char points[HC_MAX_TEMPORARY + 16];
    char picture[HC_MAX_TEMPORARY + 16];
    enum hc_status status = hc_output_folder(folder, "halfcheck-calc");
    if (status != HC_OK)
        return status;
    (void)snprintf(points, sizeof points, "%s/points", folder);
    (void)snprintf(picture, sizeof picture, "%s/picture", folder);
    status = write_points(run, points);
    if (status == HC_OK)
        status = hc_plot(hc_script("calc.gp"), values_of(run, ends_with(path, ".png")), folder);
    if (status == HC_OK)
        status = copy_picture(picture, path);
    hc_output_folder_remove(folder);
    return status;
}
