/* What the gate writes for programs: JSON, JUnit's XML, and what GitHub shows beside a change. */
#include "cli/gate/gate.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/gate/conclusion.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "op/text.h"

static json_t *date_of(hc_date day)
{
    char text[HC_DATE_TEXT];
    if (!day)
        return json_null();
    hc_date_write(day, text);
    return json_string(text);
}

/* The members that say which allowance it is. */
static json_t *allowance(const struct hc_gate *gate, const struct hc_allowance *one)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "file",
                              one->line ? hc_json_text(gate->allowances.path) : json_null());
    (void)json_object_set_new(o, "line", json_integer(one->line));
    (void)json_object_set_new(o, "pattern", hc_json_text(one->pattern));
    (void)json_object_set_new(o, "kind", json_string(hc_finding_kinds[one->kind].name));
    (void)json_object_set_new(o, "until", date_of(one->until));
    (void)json_object_set_new(o, "reason", hc_json_text(one->reason));
    (void)json_object_set_new(o, "expired", json_boolean(one->expired));
    return o;
}

static json_t *finding(const struct hc_gate *gate, const struct hc_family *family,
                       const struct hc_finding *one)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "group", json_string(hc_findings_group_names[family->group]));
    (void)json_object_set_new(o, "kind", json_string(hc_finding_kinds[family->kind].name));
    (void)json_object_set_new(o, "family", hc_json_text(family->name));
    (void)json_object_set_new(o, "case", hc_json_text(one->name));
    (void)json_object_set_new(o, "backend", hc_json_text(one->backend));
    (void)json_object_set_new(o, "text", hc_json_text(one->text));
    (void)json_object_set_new(o, "repro", hc_json_text(one->repro));
    (void)json_object_set_new(o, "allowed",
                              one->allowed ? allowance(gate, one->allowed) : json_null());
    (void)json_object_set_new(o, "expired",
                              one->expired ? allowance(gate, one->expired) : json_null());
    return o;
}

static json_t *findings_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    struct hc_family family = {0};
    while (hc_findings_next(&gate->findings, &family))
        for (int i = 0; i < family.count; i++)
            (void)json_array_append_new(list, finding(gate, &family, &family.all[i]));
    return list;
}

static json_t *counts_of(const struct hc_gate *gate)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "record", json_integer(gate->record->count));
    (void)json_object_set_new(o, "baseline", json_integer(gate->baseline->count));
    (void)json_object_set_new(o, "compared", json_integer(gate->compared));
    (void)json_object_set_new(o, "same", json_integer(gate->same));
    (void)json_object_set_new(o, "failing_as_before", json_integer(gate->still_bad));
    for (int g = 0; g < HC_FOUND_GROUPS; g++)
        (void)json_object_set_new(
            o, hc_findings_group_names[g],
            json_integer(hc_findings_count(&gate->findings, (enum hc_findings_group)g)));
    (void)json_object_set_new(o, "allowed", json_integer(hc_findings_allowed(&gate->findings)));
    return o;
}

static json_t *changes_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *c = &gate->changes[i];
        json_t *o = json_object();
        (void)json_object_set_new(o, "part", hc_json_text(c->part));
        (void)json_object_set_new(o, "key", hc_json_text(c->key));
        (void)json_object_set_new(o, "was", json_loads(c->was, JSON_DECODE_ANY, NULL));
        (void)json_object_set_new(o, "is", json_loads(c->is, JSON_DECODE_ANY, NULL));
        (void)json_array_append_new(list, o);
    }
    return list;
}

/* What was compared by statistics, of each recipe. */
static json_t *notes_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    for (int i = 0; i < gate->note_count; i++) {
        const struct hc_gate_note *note = &gate->notes[i];
        json_t *o = json_object();
        (void)json_object_set_new(o, "name", hc_json_text(note->name));
        (void)json_object_set_new(o, "backend", hc_json_text(note->backend));
        (void)json_object_set_new(o, "answer", note->word ? json_string(note->word) : json_null());
        (void)json_object_set_new(o, "text", hc_json_text(note->text));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *allowances_of(const struct hc_gate *gate)
{
    json_t *list = json_array();
    for (int i = 0; i < gate->allowances.count; i++) {
        json_t *o = allowance(gate, &gate->allowances.all[i]);
        (void)json_object_set_new(o, "findings", json_integer(gate->allowances.all[i].used));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *document_of(const struct hc_gate *gate, const struct hc_gate_paths *paths)
{
    char reason[1024];
    json_t *o = json_object();
    json_t *patterns = json_array();
    for (int i = 0; i < gate->pattern_count; i++)
        (void)json_array_append_new(patterns, hc_json_text(gate->patterns[i]));
    hc_gate_reason(gate, paths->baseline, reason, sizeof reason);
    (void)json_object_set_new(o, "schema", json_integer(1));
    (void)json_object_set_new(o, "verdict", json_string(hc_gate_passes(gate) ? "PASS" : "FAIL"));
    (void)json_object_set_new(o, "reason", hc_json_text(reason));
    (void)json_object_set_new(o, "baseline", hc_json_text(paths->baseline));
    (void)json_object_set_new(o, "record", hc_json_text(paths->record));
    (void)json_object_set_new(o, "patterns", patterns);
    (void)json_object_set_new(o, "growth", hc_json_real(gate->growth));
    (void)json_object_set_new(o, "counts", counts_of(gate));
    (void)json_object_set_new(o, "changes", changes_of(gate));
    (void)json_object_set_new(o, "findings", findings_of(gate));
    (void)json_object_set_new(o, "notes", notes_of(gate));
    (void)json_object_set_new(o, "allowances", allowances_of(gate));
    return o;
}

enum hc_status hc_gate_json(const struct hc_gate *gate, const struct hc_gate_paths *paths,
                            const char *file)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = hc_memory_stream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "gate: no memory for the document");
    json_t *document = document_of(gate, paths);
    enum hc_status status = hc_json_print(out, document);
    json_decref(document);
    bool whole = fclose(out) == 0;
    if (status == HC_OK && !whole)
        status = hc_fail(HC_NO_MEMORY, "gate: no memory for the document");
    if (status == HC_OK)
        status = hc_output_write(file, text, length);
    free(text);
    return status;
}

/* JUnit's XML: a family of findings is a test case, so that a CI system's list of failed tests is
   as short as what the gate prints. */

/* A test case holds the texts of so many findings. */
enum { LISTED = 50 };

static bool fails(const struct hc_family *family)
{
    return !family->allowed &&
           (family->group == HC_FOUND_WORSE || family->group == HC_FOUND_NOT_COMPARABLE);
}

static void write_findings(FILE *out, const struct hc_family *family)
{
    for (int i = 0; i < family->count && i < LISTED; i++) {
        const struct hc_finding *one = &family->all[i];
        hc_text_markup(out, one->name);
        (void)fputs(one->backend[0] ? " on " : "", out);
        hc_text_markup(out, one->backend);
        (void)fputs(": ", out);
        hc_text_markup(out, one->text);
        (void)fputc('\n', out);
        hc_text_markup(out, one->repro);
        (void)fputs(one->repro[0] ? "\n" : "", out);
    }
    if (family->count > LISTED)
        (void)fprintf(out, "and %d more\n", family->count - LISTED);
}

/* The message: on which backends, and the heaviest of the texts. */
static void write_message(FILE *out, const struct hc_family *family)
{
    char backends[600];
    hc_family_backends(family, backends, sizeof backends);
    (void)fprintf(out, " message=\"%d result%s", family->count, family->count == 1 ? "" : "s");
    (void)fputs(backends[0] ? " on " : "", out);
    hc_text_markup(out, backends);
    (void)fputs(": ", out);
    hc_text_markup(out, family->allowed ? family->allowed->reason : family->all[0].text);
    (void)fputc('"', out);
}

/* The name must be the same in the next run, so it has no counts. */
static void write_family(FILE *out, const struct hc_family *family)
{
    const char *kind = hc_finding_kinds[family->kind].name;
    (void)fprintf(out, "  <testcase classname=\"gate.%s\" name=\"%s: ",
                  hc_findings_group_names[family->group], kind);
    hc_text_markup(out, family->name);
    (void)fputs(family->reason ? ": " : "", out);
    hc_text_markup(out, family->reason ? family->reason : "");
    (void)fputs("\" time=\"0\">\n", out);
    if (family->allowed) {
        (void)fputs("    <skipped", out);
        write_message(out, family);
        (void)fputs("/>\n", out);
    }
    (void)fputs(fails(family) ? "    <failure" : "    <system-out", out);
    if (fails(family)) {
        (void)fprintf(out, " type=\"%s\"", kind);
        write_message(out, family);
    }
    (void)fputc('>', out);
    write_findings(out, family);
    (void)fprintf(out, "</%s>\n  </testcase>\n", fails(family) ? "failure" : "system-out");
}

/* Fails only where no family does: nothing could be compared. */
static void write_whole(FILE *out, const struct hc_gate *gate, const char *reason, bool has_failed)
{
    bool passes = hc_gate_passes(gate);
    (void)fputs("  <testcase classname=\"gate\" name=\"gate\" time=\"0\">\n", out);
    if (!passes && !has_failed) {
        (void)fputs("    <failure type=\"gate\" message=\"", out);
        hc_text_markup(out, reason);
        (void)fputs("\"/>\n", out);
    }
    (void)fprintf(out, "    <system-out>%s: ", passes ? "PASS" : "FAIL");
    hc_text_markup(out, reason);
    (void)fputs("</system-out>\n  </testcase>\n", out);
}

static void write_suite(FILE *out, const struct hc_gate *gate, const struct hc_gate_paths *paths)
{
    char reason[1024];
    int tests = 1;
    int failures = 0;
    int skipped = 0;
    struct hc_family family = {0};
    for (; hc_findings_next(&gate->findings, &family); tests++) {
        failures += fails(&family);
        skipped += family.allowed != NULL;
    }
    bool has_failed = failures > 0;
    failures += !has_failed && !hc_gate_passes(gate);
    hc_gate_reason(gate, paths->baseline, reason, sizeof reason);
    (void)fprintf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"halfcheck gate\">"
                  "\n <testsuite name=\"halfcheck gate\" tests=\"%d\" failures=\"%d\" "
                  "errors=\"0\" skipped=\"%d\" time=\"0\">\n",
                  tests, failures, skipped);
    write_whole(out, gate, reason, has_failed);
    family = (struct hc_family){0};
    while (hc_findings_next(&gate->findings, &family))
        write_family(out, &family);
    (void)fputs(" </testsuite>\n</testsuites>\n", out);
}

enum hc_status hc_gate_junit(const struct hc_gate *gate, const struct hc_gate_paths *paths,
                             const char *file)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = hc_memory_stream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "gate: no memory for the JUnit document");
    write_suite(out, gate, paths);
    enum hc_status status = fclose(out) == 0
                                ? hc_output_write(file, text, length)
                                : hc_fail(HC_NO_MEMORY, "gate: no memory for the JUnit document");
    free(text);
    return status;
}

/* What GitHub shows: annotations, which are lines on standard output, and a summary in Markdown.
   The runner takes "%0A" for a newline and ends a command's properties at "::", so that text of
   anybody is written in its escapes (docs.github.com, "Workflow commands for GitHub Actions"). */

/* The page shows ten annotations of a step; a summary may have 1 MiB. */
enum { ANNOTATIONS = 10, ROWS = 60, TEXT = 1024 };

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
    int printed = 0;
    while (hc_findings_next(&gate->findings, &family))
        failing += fails(&family);
    family = (struct hc_family){0};
    int most = failing <= ANNOTATIONS ? failing : ANNOTATIONS - 1;
    while (printed < most && hc_findings_next(&gate->findings, &family)) {
        if (!fails(&family))
            continue;
        hc_family_backends(&family, backends, sizeof backends);
        bool example = !family.reason && strcmp(family.name, family.all[0].name) != 0;
        (void)snprintf(text, sizeof text, "%s (%s): %s%s%s%s", family.name, backends,
                       example ? "the worst is " : "", example ? family.all[0].name : "",
                       example ? ": " : "", family.all[0].text);
        annotate(out, "error", hc_finding_kinds[family.kind].name, text);
        printed++;
    }
    if (failing > printed) {
        (void)snprintf(text, sizeof text, "%d more families of cases", failing - printed);
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
