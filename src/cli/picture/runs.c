#include "cli/picture/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ROWS = 1000000, MOST_COLUMNS = 4096 };

/* train/RECIPE-seedN. The name becomes that of a folder, so it must be one component of a path. */
static bool read_name(struct hc_picture_run *run, const char *name)
{
    const char *recipe = strncmp(name, "train/", 6) == 0 ? name + 6 : "";
    const char *seed = NULL;
    for (const char *at = recipe; (at = strstr(at, "-seed")) != NULL; at++)
        seed = at;
    if (!seed || seed == recipe || recipe[0] == '.' || strchr(recipe, '/') ||
        (size_t)(seed - recipe) >= sizeof run->recipe)
        return false;
    (void)snprintf(run->recipe, sizeof run->recipe, "%.*s", (int)(seed - recipe), recipe);
    return true;
}

static bool has_epochs(const char *folder)
{
    char path[HC_RUN_PATH + 16];
    (void)snprintf(path, sizeof path, "%s/epochs.csv", folder);
    return access(path, R_OK) == 0;
}

/* The run's folder beside the record; or, in a record of one run, the record's own folder. */
static void find_folder(struct hc_picture_run *run, const char *record, bool alone)
{
    const char *slash = strrchr(record, '/');
    int length = slash ? (int)(slash - record) : 1;
    const char *beside = slash ? record : ".";
    int n =
        snprintf(run->folder, sizeof run->folder, "%.*s/%s", length, beside, run->row->name + 6);
    if (n < 0 || (size_t)n >= sizeof run->folder)
        run->folder[0] = '\0';
    if (run->folder[0] && has_epochs(run->folder))
        return;
    (void)snprintf(run->folder, sizeof run->folder, "%.*s", length, beside);
    if (!alone || !has_epochs(run->folder))
        run->folder[0] = '\0';
}

static int runs_in(const struct hc_record *record)
{
    struct hc_picture_run run;
    int n = 0;
    for (int i = 0; i < record->count; i++)
        n += read_name(&run, record->rows[i].name);
    return n;
}

static bool is_base(const struct hc_picture_run *run)
{
    return strcmp(run->recipe, "fp32") == 0;
}

static int by_recipe(const void *a, const void *b)
{
    const struct hc_picture_run *x = a;
    const struct hc_picture_run *y = b;
    if (x->record != y->record)
        return x->record - y->record;
    if (is_base(x) != is_base(y))
        return is_base(y) - is_base(x);
    int order = strcmp(x->recipe, y->recipe);
    return order ? order : (x->row->seed > y->row->seed) - (x->row->seed < y->row->seed);
}

static bool same_recipe(const struct hc_picture_run *x, const struct hc_picture_run *y)
{
    return x->record == y->record && strcmp(x->recipe, y->recipe) == 0;
}

bool hc_picture_runs_find(struct hc_picture_runs *runs, struct hc_drawing *d)
{
    int n = 0;
    *runs = (struct hc_picture_runs){0};
    for (int r = 0; r < d->count; r++)
        n += runs_in(&d->records[r].record);
    runs->run = calloc((size_t)n + 1, sizeof *runs->run);
    if (!runs->run) {
        hc_drawing_why_not(d, "there is no memory");
        return false;
    }
    for (int r = 0; r < d->count; r++) {
        const struct hc_record *record = &d->records[r].record;
        for (int i = 0; i < record->count; i++) {
            struct hc_picture_run *run = &runs->run[runs->count];
            if (!read_name(run, record->rows[i].name))
                continue;
            run->record = r;
            run->row = &record->rows[i];
            run->nan = !isfinite(run->row->error);
            find_folder(run, d->records[r].name, record->count == 1);
            runs->missing += !run->folder[0];
            runs->count++;
        }
    }
    qsort(runs->run, (size_t)runs->count, sizeof *runs->run, by_recipe);
    for (int i = 0; i < runs->count; i++) {
        runs->run[i].first = i == 0 || !same_recipe(&runs->run[i - 1], &runs->run[i]);
        runs->recipes += runs->run[i].first;
    }
    return true;
}

void hc_picture_runs_free(struct hc_picture_runs *runs)
{
    free(runs->run);
}

/* Cuts the line at its commas; returns how many parts it has. */
static int cut(char *line)
{
    int columns = 1;
    line[strcspn(line, "\r\n")] = '\0';
    for (; *line; line++)
        if (*line == ',') {
            *line = '\0';
            columns++;
        }
    return columns;
}

static void read_row(const char *line, double *value, int columns)
{
    for (int c = 0; c < columns; c++) {
        char *end = NULL;
        value[c] = line ? strtod(line, &end) : (double)NAN;
        if (end == line)
            value[c] = (double)NAN;
        line = line ? strchr(line, ',') : NULL;
        line = line ? line + 1 : NULL;
    }
}

static bool read_rows(struct hc_csv *csv, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    int room = 0;
    bool good = true;
    while (good && csv->rows < MOST_ROWS && getline(&line, &size, file) > 0) {
        if (csv->rows == room) {
            room = room ? 2 * room : 64;
            double *more = realloc(csv->value, (size_t)room * (size_t)csv->columns * sizeof *more);
            good = more != NULL;
            csv->value = more ? more : csv->value;
        }
        if (good)
            read_row(line, csv->value + (size_t)csv->rows++ * (size_t)csv->columns, csv->columns);
    }
    free(line);
    return good;
}

static bool read_csv(struct hc_csv *csv, const char *path)
{
    size_t size = 0;
    *csv = (struct hc_csv){0};
    FILE *file = fopen(path, "r");
    bool good = file && getline(&csv->names, &size, file) > 0;
    if (good) {
        csv->columns = cut(csv->names);
        good = csv->columns <= MOST_COLUMNS && read_rows(csv, file);
    }
    if (file)
        (void)fclose(file);
    if (!good)
        hc_csv_free(csv);
    return good;
}

bool hc_picture_run_read(const struct hc_picture_run *run, const char *name, struct hc_csv *csv)
{
    char path[HC_RUN_PATH + 64];
    *csv = (struct hc_csv){0};
    (void)snprintf(path, sizeof path, "%s/%s", run->folder, name);
    return run->folder[0] && read_csv(csv, path);
}

const char *hc_picture_run_name(char text[512], const struct hc_drawing *d,
                                const struct hc_picture_runs *runs,
                                const struct hc_picture_run *run)
{
    if (runs->run[0].record == runs->run[runs->count - 1].record)
        return run->recipe;
    (void)snprintf(text, 512, "%.240s: %.240s", hc_drawing_record(d, run->record), run->recipe);
    return text;
}

const char *hc_picture_run_trouble(char text[128], const struct hc_picture_runs *runs,
                                   const struct hc_picture_run *run)
{
    int nans = 0;
    int all = 0;
    const struct hc_picture_run *end = runs->run + runs->count;
    const struct hc_picture_run *lost = NULL;
    for (const struct hc_picture_run *r = run; r < end && same_recipe(r, run); r++) {
        all++;
        nans += r->nan;
        lost = r->nan && !lost ? r : lost;
    }
    text[0] = '\0';
    if (all > 1 && nans > 0)
        (void)snprintf(text, 128, "NaN in %d of %d runs", nans, all);
    else if (lost) {
        const char *note = strncmp(lost->row->note, "NaN", 3) == 0 ? lost->row->note : "NaN";
        (void)snprintf(text, 128, "%.*s", (int)strcspn(note, ";"), note);
    }
    return text;
}

bool hc_picture_run_frame(struct hc_frames *frames, const struct hc_picture_runs *runs,
                          const struct hc_picture_run *run)
{
    char name[512];
    char trouble[128];
    return hc_frames_next(frames, hc_picture_run_name(name, frames->d, runs, run),
                          hc_picture_run_trouble(trouble, runs, run));
}

void hc_picture_runs_why_not(const struct hc_picture_runs *runs, struct hc_drawing *d,
                             const char *files)
{
    if (runs->count == 0)
        hc_drawing_why_not(d, "no record is one of train or compare");
    else
        hc_drawing_why_not(d, "%d of %d runs have no %s in a folder beside the record",
                           runs->missing, runs->count, files);
}

int hc_csv_column(const struct hc_csv *csv, const char *name)
{
    const char *at = csv->names;
    for (int c = 0; c < csv->columns; c++, at += strlen(at) + 1)
        if (strcmp(at, name) == 0)
            return c;
    return -1;
}

double hc_csv_at(const struct hc_csv *csv, int row, int column)
{
    return column < 0 ? (double)NAN
                      : csv->value[(size_t)row * (size_t)csv->columns + (size_t)column];
}

void hc_csv_free(struct hc_csv *csv)
{
    free(csv->names);
    free(csv->value);
    *csv = (struct hc_csv){0};
}
