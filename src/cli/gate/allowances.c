#include "cli/gate/allowances.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/former.h"
#include "check/runner.h"
#include "cli/gate/gate_fingerprint.h"

/* By its name, or by the one that it had in the version before. */
static bool matches_case(const char *pattern, const char *name)
{
    hc_case_name former;
    return hc_matches(&pattern, 1, name) ||
           (hc_former_name(name, former) && hc_matches(&pattern, 1, former));
}

bool hc_allowance_matches(const struct hc_allowance *allowance, const char *name,
                          const char *backend)
{
    char cases[HC_ALLOWANCE_PATTERN + 1];
    const char *at = strrchr(allowance->pattern, '@');
    if (!at)
        return matches_case(allowance->pattern, name);
    (void)snprintf(cases, sizeof cases, "%.*s", (int)(at - allowance->pattern), allowance->pattern);
    return fnmatch(at + 1, backend, 0) == 0 && matches_case(cases, name);
}

static bool matches_fingerprint(const void *one, const char *name, const char *backend)
{
    return hc_allowance_matches(one, name, backend);
}

/* A result or a fingerprint. */
static bool matches_record(const struct hc_allowance *one, const struct hc_record *record)
{
    for (int i = 0; i < record->count; i++)
        if (hc_allowance_matches(one, record->rows[i].name, record->rows[i].backend))
            return true;
    return hc_gate_has_fingerprint(record, matches_fingerprint, one);
}

static bool matches_finding(const struct hc_allowance *one, const struct hc_findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        if (hc_allowance_matches(one, findings->all[i].name, findings->all[i].backend))
            return true;
    return false;
}

enum hc_status hc_allowances_check(const struct hc_allowances *allowances,
                                   const struct hc_record *baseline, const struct hc_record *record,
                                   const struct hc_findings *findings)
{
    for (int i = 0; i < allowances->count; i++) {
        const struct hc_allowance *one = &allowances->all[i];
        if (one->line && !matches_record(one, baseline) && !matches_record(one, record) &&
            !matches_finding(one, findings))
            return hc_fail(HC_INVALID, "%s:%d: the pattern '%s' matches no case of either record",
                           allowances->path, one->line, one->pattern);
    }
    return HC_OK;
}

void hc_allowances_apply(struct hc_allowances *allowances, struct hc_findings *findings)
{
    for (int i = 0; i < findings->count; i++) {
        struct hc_finding *finding = &findings->all[i];
        for (int j = 0; j < allowances->count && !finding->allowed; j++) {
            struct hc_allowance *one = &allowances->all[j];
            if (one->kind != finding->kind ||
                !hc_allowance_matches(one, finding->name, finding->backend))
                continue;
            one->used++;
            if (one->expired)
                finding->expired = one;
            else
                finding->allowed = one;
        }
    }
}

void hc_allowances_free(struct hc_allowances *allowances)
{
    for (int i = 0; i < allowances->count; i++) {
        free(allowances->all[i].pattern);
        free(allowances->all[i].reason);
    }
    free(allowances->all);
    free(allowances->path);
    *allowances = (struct hc_allowances){0};
}
