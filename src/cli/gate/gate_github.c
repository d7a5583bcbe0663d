/* What GitHub shows: annotations, which are lines on standard output, and a summary in Markdown.
   The runner takes "%0A" for a newline and ends a command's properties at "::", so that text of
   anybody is written in its escapes (docs.github.com, "Workflow commands for GitHub Actions"). */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/conclusion.h"
#include "cli/gate/gate_files.h"
#include "op/text.h"

/* The page shows ten annotations of a step; a summary may have 1 MiB. */
enum { ANNOTATIONS = 10, ROWS = 60, TEXT = 1024 };

static bool fails(const struct hc_family *family)
{
    return !family->allowed &&
           (family->group == HC_FOUND_WORSE || family->group == HC_FOUND_NOT_COMPARABLE);
}

/* Writes a text into a workflow command, in the escapes that the runner undoes there: in a message
   those of the percent sign and of newlines, of which there are none here; in a property also those
   of the colon and the comma. */
static void put_command(FILE *out, const char *special, const char *text)
{
    char character[5];
    while (hc_text_next(&text, character) > 0)
        if (strchr(special, *character))
            (void)fprintf(out, "%%%02X", (unsigned)(unsigned char)*character);
        else
            (void)fputs(character, out);
}

static void annotate(FILE *out, const char *level, const char *title, const char *text)
{
    (void)fprintf(out, "::%s title=halfcheck gate%%3A ", level);
    put_command(out, "%:,", title);
    (void)fputs("::", out);
    put_command(out, "%", text);
    (void)fputc('\n', out);
}

static void annotate_allowance(void *out, const struct hc_allowance *one, const char *text)
{
    annotate(out, "warning", one->expired ? "allowance expired" : "unused allowance", text);
}

void hc_gate_annotate(FILE *out, const struct hc_gate *gate, const struct hc_gate_paths *paths)
{
    char text[2 * TEXT];
    char backends[TEXT];
    struct hc_family family = {0};
    int failing = 0;
    int told = 0;
    while (hc_findings_next(&gate->findings, &family))
        failing += fails(&family);
    family = (struct hc_family){0};
    int most = failing <= ANNOTATIONS ? failing : ANNOTATIONS - 1;
    while (told < most && hc_findings_next(&gate->findings, &family)) {
        if (!fails(&family))
            continue;
        hc_family_backends(&family, backends, sizeof backends);
        bool example = !family.reason && strcmp(family.name, family.all[0].name) != 0;
        (void)snprintf(text, sizeof text, "%s (%s): %s%s%s%s", family.name, backends,
                       example ? "the worst is " : "", example ? family.all[0].name : "",
                       example ? ": " : "", family.all[0].text);
        annotate(out, "error", hc_finding_kinds[family.kind].name, text);
        told++;
    }
    if (failing > told) {
        (void)snprintf(text, sizeof text, "%d more families of cases", failing - told);
        annotate(out, "error", "more", text);
    }
    hc_gate_allowances(gate, annotate_allowance, out);
    hc_gate_reason(gate, paths->baseline, text, TEXT);
    if (hc_gate_passes(gate) || !failing)
        annotate(out, hc_gate_passes(gate) ? "notice" : "error",
                 hc_gate_passes(gate) ? "PASS" : "FAIL", text);
}

/* Writes a text into Markdown, within a line: what may begin or end anything there becomes a
   character reference, which does neither. */
static void put_markdown(FILE *out, const char *text)
{
    char character[5];
    while (hc_text_next(&text, character) > 0)
        if ((unsigned char)*character < 0x80 && !isalnum((unsigned char)*character) &&
            !strchr(" /,()=;-", *character))
            (void)fprintf(out, "&#%d;", *character);
        else
            (void)fputs(character, out);
}

static void put_row(FILE *out, const struct hc_family *family)
{
    char backends[TEXT];
    hc_family_backends(family, backends, sizeof backends);
    (void)fprintf(out, "| %s%s | %s | <code>", family->allowed ? "allowed: " : "",
                  hc_findings_group_names[family->group], hc_finding_kinds[family->kind].name);
    put_markdown(out, family->name);
    (void)fputs("</code> | ", out);
    put_markdown(out, backends);
    (void)fputs(" | ", out);
    if (!family->reason && strcmp(family->name, family->all[0].name) != 0) {
        (void)fputs("<code>", out);
        put_markdown(out, family->all[0].name);
        (void)fputs("</code> ", out);
    }
    put_markdown(out, family->all[0].text);
    if (family->allowed) {
        (void)fputs(" (", out);
        put_markdown(out, family->allowed->reason);
        (void)fputs(")", out);
    }
    (void)fputs(" |\n", out);
}

static void put_allowance(void *out, const struct hc_allowance *one, const char *text)
{
    (void)one;
    (void)fputs("- ", out);
    put_markdown(out, text);
    (void)fputc('\n', out);
}

/* What was compared by statistics, also where nothing came of it. */
static void put_notes(FILE *out, const struct hc_gate *gate)
{
    for (int i = 0; i < gate->note_count; i++) {
        (void)fputs("- <code>", out);
        put_markdown(out, gate->notes[i].name);
        (void)fputs("</code> ", out);
        put_markdown(out, gate->notes[i].backend);
        (void)fputs(": ", out);
        if (gate->notes[i].word) {
            put_markdown(out, gate->notes[i].word);
            (void)fputs(": ", out);
        }
        put_markdown(out, gate->notes[i].text);
        (void)fputc('\n', out);
    }
    (void)fputs(gate->note_count ? "\n" : "", out);
}

static void put_changes(FILE *out, const struct hc_gate *gate)
{
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *c = &gate->changes[i];
        char text[TEXT];
        (void)snprintf(text, sizeof text, "%s%s%s: %s, was %s", c->part, c->part[0] ? ": " : "",
                       c->key, c->is, c->was);
        (void)fputs("- ", out);
        put_markdown(out, text);
        (void)fputc('\n', out);
    }
    (void)fputs(gate->change_count ? "\n" : "", out);
}

static void put_summary(FILE *out, const struct hc_gate *gate, const struct hc_gate_paths *paths)
{
    char text[TEXT];
    struct hc_family family = {0};
    int rows = 0;
    int left = 0;
    (void)fprintf(out, "## halfcheck gate: %s\n\n", hc_gate_passes(gate) ? "PASS" : "FAIL");
    hc_gate_reason(gate, paths->baseline, text, sizeof text);
    put_markdown(out, text);
    (void)fputs("\n\n", out);
    hc_gate_counts(gate, text, sizeof text);
    put_markdown(out, text);
    (void)fputs("\n\n", out);
    while (hc_findings_next(&gate->findings, &family)) {
        if (rows == 0)
            (void)fputs("| what | kind | cases | results | the worst |\n|---|---|---|---|---|\n",
                        out);
        if (rows++ < ROWS)
            put_row(out, &family);
        else
            left++;
    }
    if (left)
        (void)fprintf(out, "\n%d more families of cases\n", left);
    (void)fputs(rows ? "\n" : "", out);
    put_notes(out, gate);
    put_changes(out, gate);
    hc_gate_allowances(gate, put_allowance, out);
}

enum hc_status hc_gate_summarize(const struct hc_gate *gate, const struct hc_gate_paths *paths,
                                 const char *file)
{
    FILE *out = fopen(file, "a");
    if (!out)
        return hc_fail(HC_IO, "cannot write %s: %s", file, strerror(errno));
    put_summary(out, gate, paths);
    bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad)
        return hc_fail(HC_IO, "cannot write %s: %s", file, strerror(errno));
    return HC_OK;
}
