#include "cli/picture/families.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "op/text.h"

enum { LONGEST_LABEL = 26, LABEL_LINES = 4, LONGEST_SERIES = 60 };

/* Rows of a chart: as many as stand beside each other on a screen, more where they are beyond the
   limit, and a few more rather than a row for these. */
enum { MOST_ROWS = 20, MOST_BEYOND = 60, FEW_ROWS = 3 };

int hc_family_length(const char *name)
{
    size_t length = strcspn(name, "/");
    size_t second = name[length] ? 1 + strcspn(name + length + 1, "/") : 0;
    return (int)(name[length + second] ? length + second : length);
}

const char *hc_series_name(char text[512], const struct hc_drawing *drawing, int record,
                           const char *backend)
{
    bool several = drawing->count > 1;
    (void)snprintf(text, 512, "%.240s%s%.240s", several ? hc_drawing_record(drawing, record) : "",
                   several ? ": " : "", strcmp(backend, "-") == 0 ? "once" : backend);
    return text;
}

/* Room for one more of `count` things of `size` bytes; NULL without memory. */
static void *grow(void *all, int count, int *room, size_t size)
{
    if (count < *room)
        return all;
    int more = *room ? 2 * *room : 64;
    void *grown = realloc(all, (size_t)more * size);
    if (grown)
        *room = more;
    return grown;
}

/* The number of a name, which is added if it is new; -1 without memory. The search begins with
   the last name: results come in the order of their names. */
static int number_of(struct hc_names *names, const char *name, size_t length)
{
    for (int i = names->count - 1; i >= 0; i--)
        if (strlen(names->text[i]) == length && memcmp(names->text[i], name, length) == 0)
            return i;
    char **text = grow(names->text, names->count, &names->room, sizeof *text);
    if (!text)
        return -1;
    names->text = text;
    names->text[names->count] = strndup(name, length);
    return names->text[names->count] ? names->count++ : -1;
}

void hc_families_add(struct hc_families *f, const char *name, const char *series, double value)
{
    struct hc_family_value one = {.family =
                                      number_of(&f->family, name, (size_t)hc_family_length(name)),
                                  .series = number_of(&f->series, series, strlen(series)),
                                  .value = value};
    struct hc_family_value *all = grow(f->value, f->count, &f->room, sizeof *all);
    if (all)
        f->value = all;
    f->no_memory |= !all || one.family < 0 || one.series < 0;
    if (!f->no_memory)
        f->value[f->count++] = one;
}

/* Less than, equal to or greater than 0, with NaN as the largest. */
static int compare(double x, double y)
{
    if (isnan(x) || isnan(y))
        return (isnan(x) != 0) - (isnan(y) != 0);
    return (x > y) - (x < y);
}

static int by_cell(const void *a, const void *b)
{
    const struct hc_family_value *x = a;
    const struct hc_family_value *y = b;
    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return compare(x->value, y->value);
}

/* A place in the order while it is made. */
struct place {
    const char *name;
    double worst;
    int family;
    bool keep;
};

static int by_worst(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    int order = compare(y->worst, x->worst);
    if (x->keep)
        return x->family - y->family;
    return order ? order : strcmp(x->name, y->name);
}

static void make_cells(struct hc_families *f)
{
    for (int i = 0, end; i < f->count; i = end) {
        for (end = i; end < f->count && f->value[end].family == f->value[i].family &&
                      f->value[end].series == f->value[i].series;)
            end++;
        f->cell[f->value[i].family * f->series.count + f->value[i].series] =
            (struct hc_family_cell){.count = end - i,
                                    .median = f->value[(i + end - 1) / 2].value,
                                    .worst = f->value[end - 1].value};
    }
}

/* Makes the cells and the order. */
static void sort(struct hc_families *f)
{
    size_t n = (size_t)f->family.count;
    struct place *place = calloc(n + 1, sizeof *place);
    f->order = calloc(n + 1, sizeof *f->order);
    f->cell = calloc(n * (size_t)f->series.count + 1, sizeof *f->cell);
    f->no_memory |= !place || !f->order || !f->cell;
    if (!f->no_memory && f->count > 0) {
        qsort(f->value, (size_t)f->count, sizeof *f->value, by_cell);
        make_cells(f);
        for (int i = 0; i < (int)n; i++) {
            f->order[i] = i;
            place[i] = (struct place){f->family.text[i], hc_families_worst(f, i), i, f->as_added};
        }
        qsort(place, n, sizeof *place, by_worst);
        for (int i = 0; i < (int)n; i++)
            f->order[i] = place[i].family;
    }
    free(place);
}

const char *hc_families_name(const struct hc_families *f, int i)
{
    return f->family.text[f->order[i]];
}

const struct hc_family_cell *hc_families_cell(const struct hc_families *f, int i, int series)
{
    return &f->cell[f->order[i] * f->series.count + series];
}

double hc_families_worst(const struct hc_families *f, int i)
{
    double worst = -(double)INFINITY;
    for (int s = 0; s < f->series.count; s++) {
        const struct hc_family_cell *cell = hc_families_cell(f, i, s);
        if (cell->count > 0 && compare(cell->worst, worst) > 0)
            worst = cell->worst;
    }
    return worst;
}

static int rows_shown(const struct hc_families *f, const struct hc_families_axis *axis)
{
    int all = f->family.count;
    int shown = 0;
    while (shown < all && axis->limit && !(hc_families_worst(f, shown) <= 1))
        shown++;
    shown = shown > MOST_BEYOND ? MOST_BEYOND : shown < MOST_ROWS ? MOST_ROWS : shown;
    return f->as_added || all <= shown + FEW_ROWS ? all : shown;
}

/* Three digits, rounded up, so that no other is above. */
static double round_up(double x)
{
    if (!(x > 0) || isinf(x))
        return x;
    double unit = pow(10, floor(log10(x)) - 2);
    return ceil(x / unit * (1 - 1e-12)) * unit;
}

/* "12 others at or below 0.98". */
static void others_text(const struct hc_families *f, char *text, size_t size)
{
    char number[32];
    double most = hc_families_worst(f, f->shown);
    (void)snprintf(text, size, "%s %s%s", hc_count(f->family.count - f->shown, "other").text,
                   most == 0     ? "at "
                   : isnan(most) ? "with "
                                 : "at or below ",
                   hc_drawing_number(number, round_up(most)));
}

void hc_families_say_others(const struct hc_families *f, FILE *out)
{
    char text[96];
    if (f->shown == f->family.count)
        return;
    others_text(f, text, sizeof text);
    hc_drawing_say(out, " %s %s no row.", text, f->family.count - f->shown == 1 ? "has" : "have");
}

/* The place of each series in the key, from 0, those with a mark first. Returns how many these are.
 */
static int number_series(const struct hc_families *f, int *place)
{
    int marked = 0;
    int rest;
    for (int s = 0; s < f->series.count; s++) {
        bool mark = false;
        for (int i = 0; i < f->shown && !mark; i++)
            mark = hc_families_cell(f, i, s)->count > 0;
        place[s] = mark ? marked++ : -1;
    }
    rest = marked;
    for (int s = 0; s < f->series.count; s++)
        place[s] = place[s] < 0 ? rest++ : place[s];
    return marked;
}

static void put_names(const struct hc_families *f, struct hc_drawing *d, const int *place,
                      int marked)
{
    char others[96] = "";
    int lines = 1;
    int longest = f->longest > 0 ? f->longest : LONGEST_LABEL;
    if (f->shown < f->family.count)
        others_text(f, others, sizeof others);
    hc_plot_integer(d->values, "more_letters", 0, longest - LONGEST_LABEL);
    hc_plot_text(d->values, "others", 0, others, 80);
    hc_plot_integer(d->values, "families", 0, f->shown);
    hc_plot_array(d->values, "family_tic", f->shown);
    for (int i = 0; i < f->shown; i++) {
        int n = hc_plot_folded_tic(d->values, "family_tic", i + 1, hc_families_name(f, i), longest,
                                   LABEL_LINES);
        lines = n > lines ? n : lines;
    }
    hc_plot_integer(d->values, "tic_lines", 0, lines);
    hc_plot_integer(d->values, "series", 0, marked);
    hc_plot_array(d->values, "series_name", marked);
    for (int s = 0; s < f->series.count; s++)
        if (place[s] < marked)
            hc_plot_text(d->values, "series_name", place[s] + 1, f->series.text[s], LONGEST_SERIES);
}

bool hc_families_draw(struct hc_families *f, struct hc_drawing *d,
                      const struct hc_families_axis *axis, const char *none)
{
    bool nans = false;
    int *place = calloc((size_t)f->series.count + 1, sizeof *place);
    f->no_memory |= !place;
    sort(f);
    if (!d->why_not[0] && (f->no_memory || f->count == 0))
        hc_drawing_why_not(d, "%s", f->no_memory ? "there is no memory" : none);
    if (d->why_not[0] || !place) {
        free(place);
        return false;
    }
    f->shown = rows_shown(f, axis);
    put_names(f, d, place, number_series(f, place));
    hc_plot_integer(d->values, "limit", 0, axis->limit);
    hc_plot_text(d->values, "axis_text", 0, axis->text, 80);
    hc_plot_real(d->values, "low", 0, axis->low);
    hc_plot_real(d->values, "over", 0, axis->over);
    (void)fputs("row\tseries\tworst\tmedian\tresults\tfamily\tseries name\n", d->data);
    for (int i = 0; i < f->family.count; i++) {
        for (int s = 0; s < f->series.count; s++) {
            const struct hc_family_cell *cell = hc_families_cell(f, i, s);
            if (cell->count == 0)
                continue;
            nans |= isnan(cell->worst);
            hc_print(d->data, "%d\t%d\t%.6g\t%.6g\t%d\t", i + 1, place[s] + 1, cell->worst,
                     cell->median, cell->count);
            hc_drawing_names(d->data, hc_families_name(f, i), f->series.text[s]);
            d->points++;
        }
    }
    hc_plot_integer(d->values, "nans", 0, nans);
    d->shown = f->shown;
    free(place);
    return true;
}

static void forget(struct hc_names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->text[i]);
    free(names->text);
}

void hc_families_free(struct hc_families *f)
{
    forget(&f->family);
    forget(&f->series);
    free(f->value);
    free(f->order);
    free(f->cell);
}
