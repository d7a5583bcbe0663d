/* What is otherwise than in a baseline: families of findings by group, and what is another machine
   or other software. */
#include "cli/gate/conclusion.h"
#include "cli/report/sections.h"

/* The page has room for so many families of a group. Of one that is worse, so many findings are
   shown with their commands. */
enum { MOST_FAMILIES = 100, MOST_FINDINGS = 3 };

/* The heaviest finding is the first. */
static void add_family(json_t *families, const struct hc_family *family)
{
    char backends[256];
    json_t *row = hc_page_add(families);
    hc_family_backends(family, backends, sizeof backends);
    hc_page_text(row, "kind", hc_finding_kinds[family->kind].name);
    hc_page_text(row, "family", family->name);
    hc_page_text(row, "backends", backends);
    hc_page_number(row, "results", family->count);
    if (!family->reason && family->count > 1)
        hc_page_text(row, "first", family->all[0].name);
    hc_page_text(row, "found", family->all[0].text);
    hc_page_text(row, "because", family->allowed ? family->allowed->reason : NULL);
}

/* The commands of what is worse. What failed has its own place on the page, too. */
static void add_commands(json_t *findings, const struct hc_family *family)
{
    for (int i = 0; i < family->count && i < MOST_FINDINGS; i++) {
        json_t *finding = hc_page_add(findings);
        hc_page_text(finding, "name", family->all[i].name);
        hc_page_text(finding, "backend", family->all[i].backend);
        hc_page_text(finding, "found", family->all[i].text);
        hc_page_text(finding, "repro", family->all[i].repro);
    }
}

static void add_group(json_t *groups, const struct hc_findings *findings,
                      enum hc_findings_group group, bool allowed)
{
    struct hc_family family = {0};
    int found = 0;
    int count = 0;
    json_t *one = json_object();
    json_t *families = hc_page_list(one, "families");
    json_t *commands = hc_page_list(one, "findings");
    while (hc_findings_next(findings, &family)) {
        if (family.group != group || (family.allowed != NULL) != allowed)
            continue;
        found += family.count;
        if (count++ >= MOST_FAMILIES)
            continue;
        add_family(families, &family);
        if (group == HC_FOUND_WORSE && !allowed)
            add_commands(commands, &family);
    }
    hc_page_text(one, "group", hc_findings_group_names[group]);
    hc_page_flag(one, "allowed", allowed);
    hc_page_number(one, "found", found);
    hc_page_number(one, "more", count > MOST_FAMILIES ? count - MOST_FAMILIES : 0);
    if (found)
        (void)json_array_append(groups, one);
    json_decref(one);
}

/* What was compared by statistics, and how; and what is another machine, or other software. */
static void add_changes(json_t *data, const struct hc_gate *gate)
{
    json_t *statistics = hc_page_list(data, "statistics");
    json_t *changes = hc_page_list(data, "changes");
    for (int i = 0; i < gate->note_count; i++) {
        json_t *row = hc_page_add(statistics);
        hc_page_text(row, "name", gate->notes[i].name);
        hc_page_text(row, "backend", gate->notes[i].backend);
        hc_page_text(row, "how", gate->notes[i].text);
    }
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *change = &gate->changes[i];
        json_t *row = hc_page_add(changes);
        hc_page_print(row, "what", "%s%s%s", change->part, change->part[0] ? ": " : "",
                      change->key);
        hc_page_text(row, "is", change->is);
        hc_page_text(row, "was", change->was);
    }
}

/* An allowance that has expired or allows nothing. */
static void add_allowance(void *list, const struct hc_allowance *one, const char *text)
{
    json_t *allowance = hc_page_add(list);
    hc_page_text(allowance, "text", text);
    hc_page_flag(allowance, "expired", one->expired);
}

void hc_page_baseline(json_t *data, const struct hc_page_baseline *baseline)
{
    char reason[600];
    char counts[300];
    const struct hc_gate *gate = baseline->gate;
    json_t *groups = hc_page_list(data, "groups");
    hc_gate_reason(gate, baseline->path, reason, sizeof reason);
    hc_gate_counts(gate, counts, sizeof counts);
    hc_page_flag(data, "baseline", true);
    hc_page_text(data, "baseline_word", hc_gate_passes(gate) ? "PASS" : "FAIL");
    hc_page_text(data, "baseline_reason", reason);
    hc_page_text(data, "baseline_counts", counts);
    hc_gate_allowances(gate, add_allowance, hc_page_list(data, "allowances"));
    for (int allowed = 0; allowed < 2; allowed++)
        for (int g = 0; g < HC_FOUND_GROUPS; g++)
            add_group(groups, &gate->findings, (enum hc_findings_group)g, allowed);
    add_changes(data, gate);
}
