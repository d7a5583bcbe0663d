/* A run's results as CI systems read them: JUnit's XML, and the Test Anything Protocol, version
   13. */
#include <stdlib.h>
#include <string.h>

#include "op/memory_stream.h"
#include "op/output.h"
#include "check/record/rows.h"
#include "op/text.h"
#include "op/typed.h"

static const char *element_of(enum hc_verdict verdict, bool strict)
{
    if (!hc_verdict_is_bad(verdict, strict))
        return "skipped";
    return verdict == HC_ERROR ? "error" : "failure";
}

static void write_case(FILE *out, const struct hc_row *row, bool strict)
{
    (void)fputs("  <testcase classname=\"", out);
    hc_text_markup(out, row->backend);
    (void)fputc('.', out);
    char component[HC_LONGEST_NAME + 1];
    (void)snprintf(component, sizeof component, "%.*s", (int)strcspn(row->name, "/"), row->name);
    hc_text_markup(out, component);
    (void)fputs("\" name=\"", out);
    hc_text_markup(out, row->name);
    (void)fprintf(out, "\" time=\"%.6f\"", row->seconds);
    if (row->verdict == HC_PASS) {
        (void)fputs("/>\n", out);
        return;
    }
    const char *element = element_of(row->verdict, strict);
    (void)fprintf(out, ">\n    <%s type=\"%s\" message=\"%s: ", element,
                  hc_verdict_names[row->verdict], hc_verdict_names[row->verdict]);
    hc_text_markup(out, row->note);
    hc_print(out, "\">error %.4g, bound %.4g ", row->error, row->bound);
    hc_text_markup(out, row->unit);
    hc_print(out, ", error/bound %.4g\n", hc_ratio(row->error, row->bound));
    hc_text_markup(out, row->repro);
    (void)fprintf(out, "</%s>\n  </testcase>\n", element);
}

static void write_omission(FILE *out, const struct hc_omission *o)
{
    char counts[96];
    hc_omission_counts(o, counts, sizeof counts);
    (void)fputs("  <testcase classname=\"", out);
    hc_text_markup(out, o->backend);
    (void)fprintf(out,
                  ".%s\" name=\"%s, left out\">\n    <skipped type=\"left out\" "
                  "message=\"cases: %s: ",
                  o->component, o->component, counts);
    hc_text_markup(out, hc_omission_why(o));
    (void)fputs("\"/>\n  </testcase>\n", out);
}

/* Writes the suite of a backend, whose first row is `first`. */
static void write_suite(FILE *out, const struct hc_rows *rows, int first, bool strict)
{
    const char *backend = rows->row[first].backend;
    int tests = 0;
    int failures = 0;
    int errors = 0;
    int skipped = 0;
    double seconds = 0;
    for (int i = first; i < rows->count; i++) {
        const struct hc_row *row = &rows->row[i];
        if (strcmp(row->backend, backend) != 0)
            continue;
        bool bad = hc_verdict_is_bad(row->verdict, strict);
        tests++;
        errors += row->verdict == HC_ERROR;
        failures += bad && row->verdict != HC_ERROR;
        skipped += !bad && row->verdict != HC_PASS;
        seconds += row->seconds;
    }
    const struct hc_omissions *left_out = &rows->omissions;
    int omissions = 0;
    for (int i = 0; i < left_out->count; i++)
        omissions += strcmp(left_out->row[i].backend, backend) == 0;
    (void)fputs(" <testsuite name=\"halfcheck ", out);
    hc_text_markup(out, backend);
    (void)fprintf(out,
                  "\" tests=\"%d\" failures=\"%d\" errors=\"%d\" "
                  "skipped=\"%d\" time=\"%.6f\">\n",
                  tests + omissions, failures, errors, skipped + omissions, seconds);
    for (int i = first; i < rows->count; i++)
        if (strcmp(rows->row[i].backend, backend) == 0)
            write_case(out, &rows->row[i], strict);
    for (int i = 0; omissions && i < left_out->count; i++)
        if (strcmp(left_out->row[i].backend, backend) == 0)
            write_omission(out, &left_out->row[i]);
    (void)fputs(" </testsuite>\n", out);
}

static bool first_of_its_backend(const struct hc_rows *rows, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(rows->row[j].backend, rows->row[i].backend) == 0)
            return false;
    return true;
}

enum hc_status hc_junit_write(const struct hc_rows *rows, bool strict, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = hc_memory_stream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "no memory for the JUnit document");
    (void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"halfcheck\">\n",
                out);
    for (int i = 0; i < rows->count; i++)
        if (first_of_its_backend(rows, i))
            write_suite(out, rows, i, strict);
    (void)fputs("</testsuites>\n", out);
    enum hc_status status =
        fclose(out) == 0 ? hc_output_write(path, text, length) : hc_fail(HC_NO_MEMORY, "no memory");
    free(text);
    return status;
}

/* Writes a text in double quotes, which YAML and JSON read alike. */
static void quote(FILE *out, const char *text)
{
    char character[5];
    (void)fputc('"', out);
    while (hc_text_next(&text, character) > 0)
        (void)fprintf(out, "%s%s", *character == '"' || *character == '\\' ? "\\" : "", character);
    (void)fputs("\"\n", out);
}

void hc_tap_begin(FILE *out, const char *what)
{
    (void)fputs("TAP version 13\n# ", out);
    hc_text_line(out, what);
    (void)fputc('\n', out);
    (void)fflush(out);
}

void hc_tap_row(FILE *out, int number, const struct hc_row *row, bool strict)
{
    bool bad = hc_verdict_is_bad(row->verdict, strict);
    bool right = row->verdict == HC_PASS || row->verdict == HC_SKIPPED;
    (void)fprintf(out, "%s %d - ", right ? "ok" : "not ok", number);
    hc_text_line(out, row->name);
    (void)fputc(' ', out);
    hc_text_line(out, row->backend);
    if (row->verdict == HC_SKIPPED)
        (void)fputs(" # SKIP ", out);
    else if (!right && !bad)
        (void)fprintf(out, " # TODO %s ", hc_verdict_names[row->verdict]);
    if (row->verdict == HC_SKIPPED || (!right && !bad))
        hc_text_line(out, row->note);
    hc_print(out,
             "\n  ---\n  verdict: %s\n  checked: %lld\n  error: \"%a\"\n  bound: \"%a\"\n"
             "  ratio: %.4g\n  unit: %s\n  note: ",
             hc_verdict_names[row->verdict], (long long)row->checked, row->error, row->bound,
             hc_ratio(row->error, row->bound), row->unit);
    quote(out, row->note);
    (void)fputs("  repro: ", out);
    quote(out, row->repro);
    (void)fputs("  ...\n", out);
    (void)fflush(out);
}

void hc_tap_omission(FILE *out, int number, const struct hc_omission *omission)
{
    char counts[96];
    hc_omission_counts(omission, counts, sizeof counts);
    (void)fprintf(out, "ok %d - %s %s # SKIP left out: %s: %s\n", number, omission->component,
                  omission->backend, counts, hc_omission_why(omission));
}

void hc_tap_plan(FILE *out, int count)
{
    (void)fprintf(out, "1..%d\n", count);
}
