#include "check/record/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/exhibits.h"
#include "check/record/picture.h"
#include "check/record/spread.h"
#include "op/text.h"
#include "pipe.h"
#include "plugins.h"
#include "settings.h"

/* How --backend spells the backend of a result. */
static const char *spelling(const struct hc_result *result, const struct hc_run_options *options)
{
    for (int b = 0; b < options->backend_count; b++) {
        const struct hc_backend *backend = options->backends[b];
        if (backend->spelled && strcmp(backend->name, result->backend) == 0)
            return backend->spelled;
    }
    return result->backend;
}

/* Appends to the line, which is cut to `size` bytes, and returns its whole length. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static size_t
append(char *line, size_t size, size_t used, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(used < size ? line + used : NULL, used < size ? size - used : 0, format,
                           arguments);
    va_end(arguments);
    return used + (length > 0 ? (size_t)length : 0);
}

/* Writes the repro line of a result, cut to `size` bytes, and returns its whole length. A command
   of more than some thousand bytes is cut, too. */
static size_t repro(char *line, size_t size, const struct hc_result *result,
                    const struct hc_run_options *options, const char *fault)
{
    char word[8192];
    size_t n = append(line, size, 0, "halfcheck run %s", result->what->name);
    if (result->beside)
        n = append(line, size, n, " %s", result->beside->name);
    if (!result->what->once && !fault) { /* a fault has its own backend */
        (void)hc_text_shell(word, sizeof word, spelling(result, options));
        n = append(line, size, n, " --backend %s", word);
        if (options->order)
            n = append(line, size, n, " --order %s", options->order);
        if (options->fallback)
            n = append(line, size, n, " --fallback %s", options->fallback);
        if (hc_pipe_is_spelled(spelling(result, options)))
            n = append(line, size, n, "%s", hc_pipe_options());
    }
    n = append(line, size, n, "%s%s", hc_settings_options(), hc_plugins_options());
    if (result->what->defined && options->definitions)
        n = append(line, size, n, "%s", options->definitions);
    if (options->bits_only)
        n = append(line, size, n, " --bits-only");
    if (options->level != HC_STANDARD)
        n = append(line, size, n, " --level %s", hc_level_names[options->level]);
    if (options->seed)
        n = append(line, size, n, " --seed %llu", (unsigned long long)options->seed);
    return fault ? append(line, size, n, " --fault %s", fault) : n;
}

static bool grow(struct hc_rows *rows)
{
    int room = rows->room ? 2 * rows->room : 256;
    struct hc_row *row = realloc(rows->row, (size_t)room * sizeof *row);
    rows->row = row ? row : rows->row;
    char **text = realloc(rows->text, (size_t)room * sizeof *text);
    rows->text = text ? text : rows->text;
    if (!row || !text)
        return false;
    rows->room = room;
    return true;
}

enum hc_status hc_rows_add(struct hc_rows *rows, const struct hc_result *result,
                           const struct hc_run_options *options, const char *fault)
{
    size_t length = repro(NULL, 0, result, options, fault) + 1;
    bool room = rows->count < rows->room || grow(rows);
    char *text = room ? malloc(length + strlen(result->note) + 1) : NULL;
    if (!text)
        return hc_fail(HC_NO_MEMORY, "no memory for %d results", rows->count + 1);
    (void)repro(text, length, result, options, fault);
    memcpy(text + length, result->note, strlen(result->note) + 1);
    rows->row[rows->count] = hc_row_of(result, text);
    rows->row[rows->count].note = text + length;
    rows->row[rows->count].pictures = hc_pictures_write(result->pictures);
    rows->row[rows->count].spread = hc_spread_write(&result->spread);
    rows->row[rows->count].exhibits = hc_exhibits_write(result->exhibits);
    rows->text[rows->count] = text;
    rows->count++;
    return HC_OK;
}

/* The row of the case on the backend, or -1. */
static int find(const struct hc_rows *rows, const char *name, const char *backend)
{
    for (int i = rows->count - 1; i >= 0; i--)
        if (strcmp(rows->row[i].name, name) == 0 && strcmp(rows->row[i].backend, backend) == 0)
            return i;
    return -1;
}

static void drop(struct hc_rows *rows, int i)
{
    struct hc_row *row = &rows->row[i];
    json_decref(row->pictures);
    json_decref(row->spread);
    json_decref(row->exhibits);
    free(rows->text[i]);
    size_t behind = (size_t)(--rows->count - i);
    memmove(row, row + 1, behind * sizeof *row);
    memmove(&rows->text[i], &rows->text[i + 1], behind * sizeof *rows->text);
}

enum hc_status hc_rows_refuse(struct hc_rows *rows, const struct hc_run_options *options,
                              const char *fault, int *first)
{
    enum hc_status status = HC_OK;
    *first = rows->count;
    const struct hc_alike_calls *set;
    for (int i = 0; status == HC_OK && (set = hc_omissions_fickle(
                                            &rows->omissions, HC_ALIKE_BUT_NUMBERS, &i)) != NULL;) {
        int old = find(rows, set->refuser->name, set->backend);
        if (old >= 0 && rows->row[old].verdict == HC_FAIL)
            continue;
        if (old >= 0) {
            drop(rows, old);
            --*first;
        }
        const struct hc_result result = hc_omissions_by_value(&rows->omissions, set, options->seed);
        status = hc_rows_add(rows, &result, options, fault);
    }
    return status;
}

/* The next text behind *at, copied there; *at moves behind it. */
static const char *keep(char **at, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*at, text, bytes);
    *at += bytes;
    return copy;
}

enum hc_status hc_rows_take(struct hc_rows *rows, const struct hc_row *row)
{
    const char *const texts[] = {row->repro, row->note, row->name, row->backend, row->unit};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        bytes += strlen(texts[i]) + 1;
    bool room = rows->count < rows->room || grow(rows);
    char *text = room ? malloc(bytes) : NULL;
    if (!text)
        return hc_fail(HC_NO_MEMORY, "no memory for %d results", rows->count + 1);
    struct hc_row *own = &rows->row[rows->count];
    *own = *row;
    rows->text[rows->count++] = text;
    own->repro = keep(&text, row->repro);
    own->note = keep(&text, row->note);
    own->name = keep(&text, row->name);
    own->backend = keep(&text, row->backend);
    own->unit = keep(&text, row->unit);
    own->pictures = json_incref(row->pictures);
    own->spread = json_incref(row->spread);
    own->exhibits = json_incref(row->exhibits);
    return HC_OK;
}

void hc_rows_free(struct hc_rows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        free(rows->text[i]);
        json_decref(rows->row[i].pictures);
        json_decref(rows->row[i].spread);
        json_decref(rows->row[i].exhibits);
    }
    free(rows->text);
    free(rows->row);
    hc_omissions_free(&rows->omissions);
    *rows = (struct hc_rows){0};
}

int hc_rows_count(const struct hc_rows *rows, enum hc_verdict verdict)
{
    int count = 0;
    for (int i = 0; i < rows->count; i++)
        count += rows->row[i].verdict == verdict;
    return count;
}

bool hc_verdict_is_bad(enum hc_verdict verdict, bool strict)
{
    switch (verdict) {
    case HC_FAIL:
    case HC_ERROR:
        return true;
    case HC_UNIMPLEMENTED:
    case HC_MISTRUSTED:
        return strict;
    default:
        return false;
    }
}
