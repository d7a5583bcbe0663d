#include "cli/gate/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/text.h"

enum { TEXT = 640 };

const char *const hc_findings_group_names[HC_FOUND_GROUPS] = {
    [HC_FOUND_WORSE] = "worse",
    [HC_FOUND_CHANGED] = "changed",
    [HC_FOUND_BETTER] = "better",
    [HC_FOUND_NEW] = "new",
    [HC_FOUND_NOT_COMPARABLE] = "not comparable",
};

const struct hc_finding_kind_row hc_finding_kinds[HC_FINDING_KINDS] = {
    [HC_FINDING_VERDICT] = {"verdict", HC_FOUND_WORSE, false, false},
    [HC_FINDING_ERROR] = {"error", HC_FOUND_WORSE, false, false},
    [HC_FINDING_BOUND] = {"bound", HC_FOUND_WORSE, false, false},
    [HC_FINDING_CHECKED] = {"checked", HC_FOUND_WORSE, false, false},
    [HC_FINDING_BITS] = {"bits", HC_FOUND_WORSE, true, false},
    [HC_FINDING_TRAINING] = {"training", HC_FOUND_WORSE, false, false},
    [HC_FINDING_EPOCHS] = {"epochs", HC_FOUND_WORSE, false, false},
    [HC_FINDING_DRIFT] = {"drift", HC_FOUND_WORSE, false, false},
    [HC_FINDING_FINGERPRINT] = {"fingerprint", HC_FOUND_WORSE, false, false},
    [HC_FINDING_MISSING] = {"missing", HC_FOUND_WORSE, true, false},
    [HC_FINDING_CHANGED] = {"changed", HC_FOUND_CHANGED, false, false},
    [HC_FINDING_BETTER] = {"better", HC_FOUND_BETTER, false, false},
    [HC_FINDING_NEW] = {"new", HC_FOUND_NEW, true, false},
    [HC_FINDING_SEED] = {"seed", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_SETTINGS] = {"settings", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_SEEDS] = {"seeds", HC_FOUND_NOT_COMPARABLE, false, true},
    [HC_FINDING_LEVEL] = {"level", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_UNIT] = {"unit", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_MACHINE] = {"machine", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_VERSION] = {"version", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_DIGEST] = {"digest", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_UNKNOWN] = {"unknown", HC_FOUND_NOT_COMPARABLE, true, true},
};

/* Makes room for one more; false without memory. */
static bool has_room(struct hc_findings *findings)
{
    if (findings->count < findings->room)
        return true;
    int room = findings->room ? 2 * findings->room : 64;
    struct hc_finding *all = realloc(findings->all, (size_t)room * sizeof *all);
    if (!all)
        return false;
    findings->all = all;
    findings->room = room;
    return true;
}

static void free_texts(struct hc_finding *finding)
{
    free(finding->name);
    free(finding->backend);
    free(finding->text);
    free(finding->repro);
}

void hc_findings_add(struct hc_findings *findings, enum hc_finding_kind kind, const char *name,
                     const char *backend, const char *format, ...)
{
    char text[TEXT];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    struct hc_finding one = {.kind = kind,
                             .name = strdup(name),
                             .backend = strdup(backend),
                             .text = strdup(text),
                             .repro = strdup("")};
    if (one.name && one.backend && one.text && one.repro && has_room(findings)) {
        findings->all[findings->count++] = one;
        return;
    }
    free_texts(&one);
    findings->no_memory = true;
}

void hc_findings_weigh(struct hc_findings *findings, double weight, const char *repro)
{
    if (findings->count == 0)
        return;
    struct hc_finding *last = &findings->all[findings->count - 1];
    char *copy = strdup(repro);
    findings->no_memory |= !copy;
    last->weight = isnan(weight) ? (double)INFINITY : weight;
    if (copy) {
        free(last->repro);
        last->repro = copy;
    }
}

int hc_findings_count(const struct hc_findings *findings, enum hc_findings_group group)
{
    int count = 0;
    for (int i = 0; i < findings->count; i++)
        count +=
            !findings->all[i].allowed && hc_finding_kinds[findings->all[i].kind].group == group;
    return count;
}

int hc_findings_allowed(const struct hc_findings *findings)
{
    int count = 0;
    for (int i = 0; i < findings->count; i++)
        count += findings->all[i].allowed != NULL;
    return count;
}

void hc_findings_say(const struct hc_findings *findings, enum hc_findings_group group, char *text,
                     size_t bytes)
{
    int counts[HC_FINDING_KINDS] = {0};
    for (int i = 0; i < findings->count; i++)
        counts[findings->all[i].kind] += !findings->all[i].allowed;
    text[0] = '\0';
    for (int k = 0; k < HC_FINDING_KINDS; k++) {
        size_t used = strlen(text);
        if (counts[k] && hc_finding_kinds[k].group == group)
            (void)snprintf(text + used, bytes - used, "%s%d %s", used ? ", " : "", counts[k],
                           hc_finding_kinds[k].name);
    }
}

void hc_findings_free(struct hc_findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        free_texts(&findings->all[i]);
    free(findings->all);
    *findings = (struct hc_findings){0};
}
