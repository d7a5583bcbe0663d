/* JUnit's XML: a family of findings is a test case, so that a CI system's list of failed tests is
   as short as what the gate prints. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/gate/conclusion.h"
#include "cli/gate/gate_files.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "op/text.h"

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
static void write_whole(FILE *out, const struct hc_gate *gate, const char *reason, bool told)
{
    bool passes = hc_gate_passes(gate);
    (void)fputs("  <testcase classname=\"gate\" name=\"gate\" time=\"0\">\n", out);
    if (!passes && !told) {
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
    bool told = failures > 0;
    failures += !told && !hc_gate_passes(gate);
    hc_gate_reason(gate, paths->baseline, reason, sizeof reason);
    (void)fprintf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"halfcheck gate\">"
                  "\n <testsuite name=\"halfcheck gate\" tests=\"%d\" failures=\"%d\" "
                  "errors=\"0\" skipped=\"%d\" time=\"0\">\n",
                  tests, failures, skipped);
    write_whole(out, gate, reason, told);
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
