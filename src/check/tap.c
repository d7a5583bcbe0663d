/* The Test Anything Protocol, version 13. */
#include "check/rows.h"

/* A text in double quotes, as YAML and JSON both read it. */
static void quote(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)fputc('\\', out);
        (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    (void)fputs("\"\n", out);
}

void hc_tap_row(FILE *out, int number, const struct hc_row *row, bool strict)
{
    if (number == 1)
        (void)fputs("TAP version 13\n", out);
    bool bad = hc_verdict_is_bad(row->verdict, strict);
    bool right = row->verdict == HC_PASS || row->verdict == HC_SKIPPED;
    (void)fprintf(out, "%s %d - %s %s", right ? "ok" : "not ok", number, row->name, row->backend);
    if (row->verdict == HC_SKIPPED)
        (void)fprintf(out, " # SKIP %s", row->note);
    else if (!right && !bad)
        (void)fprintf(out, " # TODO %s %s", hc_verdict_names[row->verdict], row->note);
    (void)fprintf(out,
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

void hc_tap_plan(FILE *out, int count)
{
    (void)fprintf(out, "1..%d\n", count);
}
