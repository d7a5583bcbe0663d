#include "cli/gate/gate_do.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gate/conclusion.h"
#include "cli/gate/gate_files.h"
#include "cli/gate/gate_text.h"
#include "cli/gate/gate_training.h"
#include "cli/gate/gate_update.h"
#include "op/output.h"

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Where people read. */
static FILE *output_of(const struct hc_gate_wishes *w)
{
    return is_stdout(w->json) || is_stdout(w->junit) ? stderr : stdout;
}

static const char *summary_of(const struct hc_gate_wishes *w)
{
    const char *summary = w->summary ? w->summary : getenv("GITHUB_STEP_SUMMARY");
    return w->github && summary && summary[0] ? summary : NULL;
}

/* Refuses to write over what is read, or two documents to one file. */
static int check_names(const struct hc_gate_wishes *w)
{
    char beside[HC_MAX_PATH];
    (void)snprintf(beside, sizeof beside, "%s.allow", w->baseline);
    const char *reads[][2] = {{"the baseline", w->baseline},
                              {"the record", w->record},
                              {"the file of allowances", w->allowances ? w->allowances : beside}};
    const char *writes[][2] = {
        {"--json", w->json}, {"--junit", w->junit}, {"--github-summary", summary_of(w)}};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3 && writes[i][1]; k++)
            if (hc_output_same(writes[i][1], reads[k][1]))
                return hc_complain("gate: %s would take the place of %s: %s", writes[i][0],
                                   reads[k][0], writes[i][1]);
        for (int k = 0; k < i && writes[i][1]; k++)
            if (writes[k][1] && hc_output_same(writes[k][1], writes[i][1]))
                return hc_complain("gate: %s and %s name the same file: %s", writes[k][0],
                                   writes[i][0], writes[i][1]);
    }
    if (w->update && hc_output_same(w->baseline, w->record))
        return hc_complain("gate: the record and the new baseline are the same file: %s",
                           w->record);
    return HC_AS_CLAIMED;
}

/* Refuses files that could not be written, before anything is printed. */
static int check_files(const struct hc_gate_wishes *w)
{
    if (is_stdout(w->json) && is_stdout(w->junit))
        return hc_complain("gate: only one of --json - and --junit - can write to stdout");
    if (w->update && (is_stdout(w->json) || is_stdout(w->junit)))
        return hc_complain("gate: --update prints; --json and --junit need a file then");
    if (w->github && (is_stdout(w->json) || is_stdout(w->junit)))
        return hc_complain("gate: --github writes to stdout; --json and --junit need a file then");
    int status = check_names(w);
    if (status != HC_AS_CLAIMED)
        return status;
    if ((w->json && hc_output_probe(w->json) != HC_OK) ||
        (w->junit && hc_output_probe(w->junit) != HC_OK))
        return hc_complain_message();
    return HC_AS_CLAIMED;
}

/* Writes what programs read. */
static enum hc_status write_files(const struct hc_gate_wishes *w, const struct hc_gate *gate)
{
    const struct hc_gate_paths paths = {w->baseline, w->record};
    const char *summary = summary_of(w);
    enum hc_status status = HC_OK;
    if (w->json)
        status = hc_gate_json(gate, &paths, w->json);
    if (status == HC_OK && w->junit)
        status = hc_gate_junit(gate, &paths, w->junit);
    if (status == HC_OK && summary)
        status = hc_gate_summarize(gate, &paths, summary);
    return status;
}

/* Makes the record the baseline, `old` being the one until now, or NULL. */
static int update(const struct hc_gate_wishes *w, const struct hc_allowances *allowances,
                  const struct hc_record *old, const struct hc_record *record)
{
    char reason[HC_MAX_PATH + 200];
    bool written;
    if (hc_gate_update(output_of(w), allowances, old, record, w->baseline, &written, reason,
                       sizeof reason) != HC_OK)
        return hc_complain_message();
    hc_gate_print_verdict(output_of(w), written, reason);
    return written ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

static int compare(const struct hc_gate_wishes *w, struct hc_gate *gate)
{
    char reason[HC_MAX_PATH + 1024];
    FILE *out = output_of(w);
    if (gate->protocol && !hc_gate_training.applies(gate))
        return hc_complain("gate: --protocol judges trainings, and %s has none", w->baseline);
    if (hc_gate_check_whole(w->baseline, gate->baseline) != HC_OK ||
        hc_gate_check_whole(w->record, gate->record) != HC_OK ||
        (w->update && hc_gate_check_update(w->record, gate->record) != HC_OK) ||
        hc_gate_compare(gate) != HC_OK || hc_gate_check_patterns(gate) != HC_OK)
        return hc_complain_message();
    if (write_files(w, gate) != HC_OK)
        return hc_complain_message();
    hc_gate_print(out, gate, w->every);
    if (w->github)
        hc_gate_annotate(out, gate, &(struct hc_gate_paths){w->baseline, w->record});
    if (w->update)
        return update(w, &gate->allowances, gate->baseline, gate->record);
    hc_gate_reason(gate, w->baseline, reason, sizeof reason);
    hc_gate_print_verdict(out, hc_gate_passes(gate), reason);
    return hc_gate_passes(gate) ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

static enum hc_status read_allowances(const struct hc_gate_wishes *w,
                                      struct hc_allowances *allowances)
{
    hc_day today = w->today ? hc_day_read(w->today) : hc_day_today();
    if (!today)
        return hc_fail(HC_INVALID, "gate: --today takes a date YYYY-MM-DD, not '%s'", w->today);
    enum hc_status status = hc_allowances_read_for(allowances, w->baseline, w->allowances, today);
    return status == HC_OK ? hc_allowances_take(allowances, &w->allow) : status;
}

/* There is no baseline yet. */
static int begin(const struct hc_gate_wishes *w, struct hc_gate *gate)
{
    struct hc_findings none = {0};
    if (w->json || w->junit || w->github)
        return hc_complain("gate: there is no %s to compare with yet: --update alone makes it",
                           w->baseline);
    if (hc_gate_check_whole(w->record, gate->record) != HC_OK ||
        hc_gate_check_update(w->record, gate->record) != HC_OK ||
        hc_allowances_check(&gate->allowances, gate->record, gate->record, &none) != HC_OK)
        return hc_complain_message();
    return update(w, &gate->allowances, NULL, gate->record);
}

int hc_gate_do(const struct hc_gate_wishes *w, struct hc_gate *gate)
{
    struct hc_record baseline = {0};
    struct hc_record record = {0};
    bool first = w->update && access(w->baseline, F_OK) != 0;
    if (w->update && gate->pattern_count)
        return hc_complain("gate: --update takes the whole record, without patterns");
    gate->baseline = &baseline;
    gate->record = &record;
    int status = check_files(w);
    if (status == HC_AS_CLAIMED && (read_allowances(w, &gate->allowances) != HC_OK ||
                                    (!first && hc_record_read(w->baseline, &baseline) != HC_OK) ||
                                    hc_record_read(w->record, &record) != HC_OK))
        status = hc_complain_message();
    if (status == HC_AS_CLAIMED)
        status = first ? begin(w, gate) : compare(w, gate);
    hc_gate_free(gate);
    hc_record_free(&baseline);
    hc_record_free(&record);
    return status;
}
