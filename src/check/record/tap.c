/* The Test Anything Protocol, version 13. */
#include "check/record/rows.h"
#include "op/text.h"

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
