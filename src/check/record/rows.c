#include "check/record/rows.h"

#include <stdlib.h>
#include <string.h>

#include "check/record/exhibits.h"
#include "check/record/picture.h"
#include "plugins.h"

/* Writes the repro line of a result, cut to `size` bytes, and returns its whole length. */
static size_t repro(char *line, size_t size, const struct hc_result *result,
                    const struct hc_run_options *options, const char *fault)
{
    char backend[80] = "";
    char level[40] = "";
    char seed[40] = "";
    if (!result->what->once && !fault) /* a fault has its own backend */
        (void)snprintf(backend, sizeof backend, " --backend %s", result->backend);
    if (options->level != HC_STANDARD)
        (void)snprintf(level, sizeof level, " --level %s", hc_level_names[options->level]);
    if (options->seed)
        (void)snprintf(seed, sizeof seed, " --seed %llu", (unsigned long long)options->seed);
    return (size_t)snprintf(line, size, "halfcheck run %s%s%s%s%s%s%s", result->what->name, backend,
                            hc_plugins_options(), level, seed, fault ? " --fault " : "",
                            fault ? fault : "");
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
    rows->row[rows->count].exhibits = hc_exhibits_write(result->exhibits);
    rows->text[rows->count] = text;
    rows->count++;
    return HC_OK;
}

void hc_rows_free(struct hc_rows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        free(rows->text[i]);
        json_decref(rows->row[i].pictures);
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
