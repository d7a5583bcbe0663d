#include "cli/gate/conclusion.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check/record/parts.h"
#include "op/text.h"

/* Adds to a text, with ", " before it if something stands there that does not end in a blank. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
add(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    if (used && text[used - 1] != ' ')
        used += (size_t)snprintf(text + used, bytes - used, ", ");
    va_start(arguments, format);
    if (used < bytes)
        (void)hc_text_format(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

bool hc_gate_passes(const struct hc_gate *gate)
{
    return gate->judged > 0 && hc_findings_count(&gate->findings, HC_FOUND_WORSE) == 0 &&
           hc_findings_count(&gate->findings, HC_FOUND_NOT_COMPARABLE) == 0;
}

/* Findings that would be allowed if the allowance had not expired. */
static int count_expired(const struct hc_findings *f)
{
    int count = 0;
    for (int i = 0; i < f->count; i++)
        count += f->all[i].expired && !f->all[i].allowed;
    return count;
}

void hc_gate_reason(const struct hc_gate *gate, const char *baseline, char *text, size_t bytes)
{
    static const enum hc_findings_group bad[] = {HC_FOUND_WORSE, HC_FOUND_NOT_COMPARABLE};
    const struct hc_findings *f = &gate->findings;
    int expired = count_expired(f);
    int allowed = hc_findings_allowed(f);
    const struct hc_record *sides[] = {gate->record, gate->baseline};
    text[0] = '\0';
    for (int s = 0; s < 2; s++) {
        const struct hc_record_part *first = &sides[s]->parts[0];
        if (sides[s]->part_count == 1 && first->plan)
            add(text, bytes, "the %s is shard %d of %d", s ? "baseline" : "record", first->shard,
                first->shards);
    }
    if (hc_gate_passes(gate))
        add(text, bytes, "nothing is worse than in %s", baseline);
    else if (!gate->compared)
        add(text, bytes, "nothing stands in both");
    else if (!gate->judged)
        add(text, bytes, "no result was judged");
    for (int g = 0; g < 2; g++) {
        char kinds[300];
        hc_findings_say(f, bad[g], kinds, sizeof kinds);
        if (kinds[0])
            add(text, bytes, "%d %s (%s)", hc_findings_count(f, bad[g]),
                hc_findings_group_names[bad[g]], kinds);
    }
    if (expired)
        add(text, bytes, "%d of which %s allowed until %s expired", expired,
            expired == 1 ? "was" : "were", expired == 1 ? "that" : "their allowances");
    if (allowed)
        add(text, bytes, "%d allowed", allowed);
}

/* How many results the patterns choose. */
static int count_chosen(const struct hc_gate *gate, const struct hc_record *record)
{
    int count = 0;
    for (int i = 0; i < record->count; i++)
        count += hc_gate_chooses(gate, record->rows[i].name);
    return count;
}

void hc_gate_counts(const struct hc_gate *gate, char *text, size_t bytes)
{
    const int *fingerprints = gate->fingerprints;
    bool instead = fingerprints[0] || fingerprints[1];
    int chosen = instead ? fingerprints[0] : count_chosen(gate, gate->record);
    (void)snprintf(text, bytes, "%d %s%s against %d: ", chosen, instead ? "fingerprint" : "result",
                   chosen == 1 ? "" : "s",
                   instead ? fingerprints[1] : count_chosen(gate, gate->baseline));
    for (int g = 0; g < HC_FOUND_GROUPS; g++) {
        int count = hc_findings_count(&gate->findings, (enum hc_findings_group)g);
        if (count)
            add(text, bytes, "%d %s", count, hc_findings_group_names[g]);
    }
    if (hc_findings_allowed(&gate->findings))
        add(text, bytes, "%d allowed", hc_findings_allowed(&gate->findings));
    add(text, bytes, "%d the same", gate->same);
    if (gate->still_bad)
        add(text, bytes, "%d of which fail%s as before", gate->still_bad,
            gate->still_bad == 1 ? "s" : "");
}

void hc_gate_allowances(const struct hc_gate *gate,
                        void (*say)(void *context, const struct hc_allowance *one,
                                    const char *text),
                        void *context)
{
    const struct hc_allowances *a = &gate->allowances;
    for (int i = 0; i < a->count; i++) {
        const struct hc_allowance *one = &a->all[i];
        char until[HC_DATE_TEXT];
        char text[1024];
        bool unused = !one->used && gate->pattern_count == 0;
        if (!one->line || !(unused || (one->used && one->expired)))
            continue;
        hc_date_write(one->until, until);
        (void)hc_text_write(text, sizeof text, "%s:%d: %s%s%s%s: %s %s: %s", a->path, one->line,
                            one->expired ? "expired on " : "", one->expired ? until : "",
                            one->expired && unused ? ", and " : "",
                            unused ? "allows nothing and can be removed" : "", one->pattern,
                            hc_finding_kinds[one->kind].name, one->reason);
        say(context, one, text);
    }
}
