#include "check/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *repro_of(const struct hc_result *result, const struct hc_run_options *options,
                      const char *fault)
{
    char line[512];
    size_t used = (size_t)snprintf(line, sizeof line, "halfcheck run %s", result->what->name);
    if (!result->what->once)
        used += (size_t)snprintf(line + used, sizeof line - used, " --backend %s",
                                 fault ? "exact" : result->backend);
    if (options->level != HC_STANDARD)
        used += (size_t)snprintf(line + used, sizeof line - used, " --level %s",
                                 hc_level_names[options->level]);
    if (options->seed)
        used += (size_t)snprintf(line + used, sizeof line - used, " --seed %llu",
                                 (unsigned long long)options->seed);
    if (fault)
        used += (size_t)snprintf(line + used, sizeof line - used, " --fault %s", fault);
    assert(used < sizeof line);
    return strdup(line);
}

void hc_rows_add(struct hc_rows *rows, const struct hc_result *result,
                 const struct hc_run_options *options, const char *fault)
{
    if (rows->count == rows->room) {
        rows->room = rows->room ? 2 * rows->room : 256;
        rows->row = realloc(rows->row, (size_t)rows->room * sizeof *rows->row);
        assert(rows->row);
    }
    struct hc_row row = hc_row_of(result, repro_of(result, options, fault));
    row.note = strdup(row.note);
    assert(row.note && row.repro);
    rows->row[rows->count++] = row;
}

void hc_rows_free(struct hc_rows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        free((void *)(uintptr_t)rows->row[i].note);
        free((void *)(uintptr_t)rows->row[i].repro);
    }
    free(rows->row);
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
