#include "cli/gate/gate_text.h"

#include "cli/colour.h"
#include "cli/gate/conclusion.h"
#include "cli/gate/findings_text.h"

/* Prints which machine or software is another, since that may be the reason. */
static void print_changes(FILE *out, const struct hc_gate *gate)
{
    if (gate->change_count)
        (void)fputs("the machine or its software is another:\n", out);
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *c = &gate->changes[i];
        char line[1024];
        (void)snprintf(line, sizeof line, "%s%s%s %s, was %s", c->part, c->part[0] ? ": " : "",
                       c->key, c->is, c->was);
        (void)fputs("  ", out);
        hc_findings_print_text(out, 2, 4, line);
    }
}

static void print_allowance(void *out, const struct hc_allowance *one, const char *text)
{
    (void)one;
    hc_findings_print_text(out, 0, 4, text);
}

/* How to see what is worst again. */
static void print_repro(FILE *out, const struct hc_findings *f)
{
    for (int i = 0; i < f->count; i++) {
        const struct hc_finding *one = &f->all[i];
        if (one->allowed || hc_finding_kinds[one->kind].group != HC_FOUND_WORSE || !one->repro[0])
            continue;
        (void)fputs("repeat the first: ", out);
        hc_findings_print_line(out, one->repro);
        (void)fputc('\n', out);
        return;
    }
}

void hc_gate_print(FILE *out, const struct hc_gate *gate, bool every)
{
    char text[1024];
    print_changes(out, gate);
    hc_gate_notes_print(out, gate, every);
    hc_findings_print(out, &gate->findings, every);
    hc_gate_allowances(gate, print_allowance, out);
    print_repro(out, &gate->findings);
    hc_gate_counts(gate, text, sizeof text);
    hc_findings_print_text(out, 0, 4, text);
}

void hc_gate_print_verdict(FILE *out, bool passes, const char *reason)
{
    (void)hc_colour_word(out, passes ? HC_COLOUR_PASS : HC_COLOUR_FAIL, 0,
                         passes ? "PASS" : "FAIL");
    (void)fputs(": ", out);
    hc_findings_print_line(out, reason);
    (void)fputc('\n', out);
}
