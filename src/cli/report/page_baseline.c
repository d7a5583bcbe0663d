#include "cli/report/page_baseline.h"

#include <string.h>

#include "cli/gate/conclusion.h"

/* The page has room for so many families of a group. Of one that is worse, so many findings are
   shown with their commands. */
enum { MOST_FAMILIES = 100, MOST_FINDINGS = 3 };

static void write_finding(struct hc_page_out *out, const struct hc_finding *finding)
{
    hc_page_open(out, "article", "failure");
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_code(out, finding->name);
    hc_page_text(out, finding->backend[0] ? " on " : "");
    hc_page_text(out, finding->backend);
    hc_page_text(out, ": ");
    hc_page_text(out, finding->text);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    if (finding->repro[0])
        hc_page_pre(out, finding->repro);
    hc_page_close(out, "article");
}

/* The heaviest finding is the first. */
static void write_family(struct hc_page_out *out, const struct hc_family *family)
{
    char backends[256];
    hc_family_backends(family, backends, sizeof backends);
    hc_page_begin(out, HC_BLOCK_ROW, NULL);
    hc_page_cell(out, hc_finding_kinds[family->kind].name);
    hc_page_code_cell(out, family->name);
    hc_page_cell(out, backends);
    hc_page_number_cell(out, "%d", family->count);
    hc_page_begin(out, HC_BLOCK_CELL, NULL);
    if (!family->reason && family->count > 1) {
        hc_page_code(out, family->all[0].name);
        hc_page_text(out, ": ");
    }
    hc_page_text(out, family->all[0].text);
    if (family->allowed) {
        hc_page_text(out, "; allowed: ");
        hc_page_text(out, family->allowed->reason);
    }
    hc_page_end(out, HC_BLOCK_CELL);
    hc_page_end(out, HC_BLOCK_ROW);
}

static bool belongs(const struct hc_family *family, enum hc_findings_group group, bool allowed)
{
    return family->group == group && (family->allowed != NULL) == allowed;
}

/* Writes one group; or, without `title`, only counts its findings. */
static int write_group(struct hc_page_out *out, const struct hc_findings *findings,
                       enum hc_findings_group group, bool allowed, const char *title)
{
    struct hc_family family = {0};
    int count = 0;
    int families = 0;
    while (hc_findings_next(findings, &family))
        if (belongs(&family, group, allowed)) {
            count += family.count;
            if (title && families++ < MOST_FAMILIES)
                write_family(out, &family);
        }
    if (title && families > MOST_FAMILIES) {
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_cell(out, "");
        hc_page_cell(out, "others");
        hc_page_cell(out, "");
        hc_page_number_cell(out, "%d", families - MOST_FAMILIES);
        hc_page_cell(out, "families more, which halfcheck gate --all tells");
        hc_page_end(out, HC_BLOCK_ROW);
    }
    return count;
}

static void write_groups(struct hc_page_out *out, const struct hc_findings *findings, bool allowed)
{
    static const char *const titles[] = {"kind", "cases", "backends", "#results", "what was found"};
    for (int g = 0; g < HC_FOUND_GROUPS; g++) {
        const char *name = hc_findings_group_names[g];
        int count = write_group(out, findings, (enum hc_findings_group)g, allowed, NULL);
        if (!count)
            continue;
        hc_page_heading(out, 3, NULL);
        hc_page_print(out, "%s%s: %d", allowed ? "Allowed, " : "", name, count);
        hc_page_heading_end(out, 3);
        hc_page_table(out, name, titles, 5);
        (void)write_group(out, findings, (enum hc_findings_group)g, allowed, name);
        hc_page_table_end(out);
    }
}

/* The commands of what is worse. What failed has its own place on the page, too. */
static void write_commands(struct hc_page_out *out, const struct hc_findings *findings)
{
    struct hc_family family = {0};
    if (hc_findings_count(findings, HC_FOUND_WORSE) == 0)
        return;
    hc_page_fold(out, false);
    hc_page_text(out, "The commands that repeat what is worse");
    hc_page_fold_body(out);
    for (int families = 0; hc_findings_next(findings, &family);) {
        if (!belongs(&family, HC_FOUND_WORSE, false) || families++ >= MOST_FAMILIES)
            continue;
        for (int i = 0; i < family.count && i < MOST_FINDINGS; i++)
            write_finding(out, &family.all[i]);
    }
    hc_page_fold_end(out);
}

static void write_changes(struct hc_page_out *out, const struct hc_gate *gate)
{
    static const char *const titles[] = {"what", "is", "was"};
    if (!gate->change_count)
        return;
    hc_page_heading(out, 3, NULL);
    hc_page_text(out, "Another machine, or other software");
    hc_page_heading_end(out, 3);
    hc_page_table(out, "What is another machine, or other software", titles, 3);
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *change = &gate->changes[i];
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_begin(out, HC_BLOCK_CELL, NULL);
        hc_page_text(out, change->part);
        hc_page_text(out, change->part[0] ? ": " : "");
        hc_page_text(out, change->key);
        hc_page_end(out, HC_BLOCK_CELL);
        hc_page_code_cell(out, change->is);
        hc_page_code_cell(out, change->was);
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
}

/* What was compared by statistics, and how. */
static void write_notes(struct hc_page_out *out, const struct hc_gate *gate)
{
    static const char *const titles[] = {"recipe", "backend", "how it was compared"};
    if (!gate->note_count)
        return;
    hc_page_heading(out, 3, NULL);
    hc_page_text(out, "What was compared by statistics");
    hc_page_heading_end(out, 3);
    hc_page_table(out, "What was compared by statistics", titles, 3);
    for (int i = 0; i < gate->note_count; i++) {
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_code_cell(out, gate->notes[i].name);
        hc_page_cell(out, gate->notes[i].backend);
        hc_page_cell(out, gate->notes[i].text);
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
}

/* A line about an allowance that has expired or allows nothing. */
static void write_allowance(void *context, const struct hc_allowance *one, const char *text)
{
    struct hc_page_out *out = context;
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, one->expired ? "FAIL" : NULL);
    hc_page_text(out, text);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
}

void hc_page_write_baseline(struct hc_page_out *out, const struct hc_page_baseline *baseline)
{
    char reason[600];
    char counts[300];
    const struct hc_gate *gate = baseline->gate;
    hc_gate_reason(gate, baseline->path, reason, sizeof reason);
    hc_gate_counts(gate, counts, sizeof counts);
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "baseline");
    hc_page_text(out, "Against the baseline");
    hc_page_heading_end(out, 2);
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_verdict(out, hc_gate_passes(gate) ? "PASS" : "FAIL");
    hc_page_text(out, " ");
    hc_page_text(out, reason);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_text(out, counts);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    hc_gate_allowances(gate, write_allowance, out);
    write_groups(out, &gate->findings, false);
    write_commands(out, &gate->findings);
    write_groups(out, &gate->findings, true);
    write_notes(out, gate);
    write_changes(out, gate);
    hc_page_close(out, "section");
}
