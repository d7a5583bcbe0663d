#include "cli/gate/gate_update.h"

#include <string.h>

#include "check/record/baseline.h"
#include "check/record/parts.h"
#include "cli/gate/findings_text.h"

enum { LISTED = 10, TEXT = 1024 };

enum hc_status hc_gate_check_update(const char *path, const struct hc_record *record)
{
    const struct hc_record_part *first = &record->parts[0];
    if (record->count == 0)
        return hc_fail(HC_INVALID, "gate: %s has no results: it cannot be a baseline", path);
    if (record->part_count == 1 && first->plan)
        return hc_fail(HC_INVALID,
                       "gate: %s is shard %d of %d: merge all of them, then write a baseline", path,
                       first->shard, first->shards);
    for (int i = 0; i < record->count; i++)
        if (hc_row_is_bits(&record->rows[i]))
            return hc_fail(HC_INVALID,
                           "gate: %s holds bits that no reference has judged: it cannot be a "
                           "baseline",
                           path);
    return HC_OK;
}

static bool fails(const struct hc_row *row)
{
    return row && (hc_row_verdict(row) == HC_FAIL || hc_row_verdict(row) == HC_ERROR);
}

static bool is_known(const struct hc_allowances *allowances, const struct hc_record *old,
                     const struct hc_row *row)
{
    if (old && fails(hc_record_find(old, row->name, row->backend)))
        return true;
    for (int i = 0; i < allowances->count; i++) {
        const struct hc_allowance *one = &allowances->all[i];
        if (one->kind == HC_FINDING_VERDICT && !one->expired &&
            hc_allowance_matches(one, row->name, row->backend))
            return true;
    }
    return false;
}

/* Prints the first of the results that fail, known ones or others. */
static int list_failing(FILE *out, const struct hc_allowances *allowances,
                        const struct hc_record *old, const struct hc_record *record, bool known)
{
    int count = 0;
    for (int i = 0; i < record->count; i++) {
        const struct hc_row *row = &record->rows[i];
        char text[TEXT];
        if (!fails(row) || is_known(allowances, old, row) != known)
            continue;
        if (count++ >= LISTED)
            continue;
        (void)snprintf(text, sizeof text, "%s: %s on %s is %s%s%s",
                       known ? "written as it is" : "not written", row->name, row->backend,
                       hc_verdict_names[hc_row_verdict(row)], row->note[0] ? ": " : "", row->note);
        hc_findings_print_text(out, 0, 4, text);
    }
    if (count > LISTED)
        (void)fprintf(out, "and %d more\n", count - LISTED);
    return count;
}

/* "515 results, 2 FAIL, 10 SKIPPED". */
static void count_verdicts(const struct hc_record *record, char *text, size_t bytes)
{
    int counts[HC_VERDICT_COUNT] = {0};
    for (int i = 0; i < record->count; i++)
        counts[hc_row_verdict(&record->rows[i])]++;
    int used = snprintf(text, bytes, "%d result%s", record->count, record->count == 1 ? "" : "s");
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (counts[v] && v != HC_PASS && (size_t)used < bytes)
            used += snprintf(text + used, bytes - (size_t)used, ", %d %s", counts[v],
                             hc_verdict_names[v]);
}

enum hc_status hc_gate_update(FILE *out, const struct hc_allowances *allowances,
                              const struct hc_record *old, const struct hc_record *record,
                              const char *path, bool *written, char *reason, size_t bytes)
{
    char counts[200];
    int unknown = list_failing(out, allowances, old, record, false);
    *written = false;
    if (unknown) {
        (void)snprintf(reason, bytes,
                       "%s was not written: %d result%s and no allowance explains %s", path,
                       unknown, unknown == 1 ? " fails," : "s fail,", unknown == 1 ? "it" : "them");
        return HC_OK;
    }
    enum hc_status status = hc_baseline_write(record, path);
    if (status != HC_OK)
        return status;
    (void)list_failing(out, allowances, old, record, true);
    count_verdicts(record, counts, sizeof counts);
    (void)snprintf(reason, bytes, "%s is the new baseline: %s", path, counts);
    *written = true;
    return HC_OK;
}
