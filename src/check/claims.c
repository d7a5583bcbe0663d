/* Claims about numbers: each compares what the case wants with what it got, prints a line for
   `halfcheck explain`, and leaves words about the first failure in the result. */
#include <math.h>
#include <stdarg.h>

#include "check/check_inner.h"
#include "check/compare.h"
#include "num/bits.h"
#include "num/ulp.h"
#include "op/text.h"

bool hc_same_bits(enum hc_format format, uint64_t want, uint64_t got)
{
    return want == got || (isnan(hc_decode(format, want)) && isnan(hc_decode(format, got)));
}

double hc_bits_apart(enum hc_format format, uint64_t want, uint64_t got)
{
    double apart = (double)hc_ulp_distance(format, want, got);
    return apart == 0 && !hc_same_bits(format, want, got) ? 1 : apart;
}

bool hc_claim_bits(struct hc_check *check, const char *what, enum hc_format format, uint64_t want,
                   uint64_t got)
{
    int digits = hc_formats[format].bytes * 2;
    hc_say(check, "%-32s want %.10g (0x%0*llx), got %.10g (0x%0*llx)", what,
           hc_decode(format, want), digits, (unsigned long long)want, hc_decode(format, got),
           digits, (unsigned long long)got);
    bool held = hc_check_compared(check, hc_bits_apart(format, want, got), 0, "ulp");
    if (!held)
        hc_check_note(check, "%s: want %.9g (0x%0*llx), got %.9g (0x%0*llx)", what,
                      hc_decode(format, want), digits, (unsigned long long)want,
                      hc_decode(format, got), digits, (unsigned long long)got);
    return held;
}

bool hc_claim_value(struct hc_check *check, const char *what, double want, double got)
{
    bool equal = (isnan(want) && isnan(got)) || hc_fp64_bits(want) == hc_fp64_bits(got);
    double error = fabs(want - got);
    if (equal)
        error = 0;
    else if (!(error > 0)) /* +0 against -0, or NaN against a number */
        error = (double)INFINITY;
    hc_say(check, "%-32s want %.10g, got %.10g", what, want, got);
    bool held = hc_check_compared(check, error, 0, "abs");
    if (!held)
        hc_check_note(check, "%s: want %.9g, got %.9g", what, want, got);
    return held;
}

bool hc_claim_within(struct hc_check *check, const char *what, double want, double got,
                     double bound)
{
    double error = want == got ? 0 : fabs(want - got);
    hc_say(check, "%-32s want %.10g, got %.10g, bound %.3g", what, want, got, bound);
    bool held = hc_check_compared(check, error, bound, "abs");
    if (!held)
        hc_check_note(check, "%s: want %.9g, got %.9g, error %.3g, bound %.3g", what, want, got,
                      error, bound);
    return held;
}

bool hc_claim_true(struct hc_check *check, const char *what, bool held)
{
    hc_say(check, "%-32s %s", what, held ? "yes" : "NO");
    if (!hc_check_compared(check, held ? 0 : 1, 0, "claims"))
        hc_check_note(check, "not so: %s", what);
    return held;
}

void hc_comparisons_wrong(struct hc_comparisons *c, const char *format, ...)
{
    va_list arguments;
    if (c->wrong++)
        return;
    va_start(arguments, format);
    (void)hc_text_format(c->first, sizeof c->first, format, arguments);
    va_end(arguments);
}

void hc_claim_sweep(struct hc_check *check, int64_t checked, int64_t wrong, const char *first)
{
    hc_say(check, "%lld comparisons, %lld differ%s%s", (long long)checked, (long long)wrong,
           first ? "; first " : "", first ? first : "");
    if (!hc_check_compared(check, (double)wrong, 0, "bits"))
        hc_check_note(check, "%lld of %lld differ; first %s", (long long)wrong, (long long)checked,
                      first ? first : "not given");
    check->result.checked += checked - 1;
}

void hc_claim_comparisons(struct hc_check *check, const struct hc_comparisons *c)
{
    if (c->checked)
        hc_claim_sweep(check, c->checked, c->wrong, c->wrong ? c->first : NULL);
}
