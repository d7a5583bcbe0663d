/* Claims about numbers: each compares what the case wants with what it got, is told to `halfcheck
   explain`, and leaves words about the first failure in the result. */
#include <math.h>
#include <stdarg.h>

#include "check/check_inner.h"
#include "check/compare.h"
#include "check/free_order.h"
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

/* Counts the claim, keeps the words of the first failure, and tells it to the story. */
static bool settle(struct hc_check *check, const struct hc_claimed *claimed)
{
    char words[320];
    if (check->bits_only)
        return true;
    bool of_bits = claimed->kind == HC_CLAIMED_BITS || claimed->kind == HC_CLAIMED_VALUE ||
                   claimed->kind == HC_CLAIMED_SWEEP;
    if (!(claimed->error <= claimed->bound) && hc_order_excuses(check, of_bits))
        return false;
    bool held = hc_check_compared(check, claimed->error, claimed->bound, claimed->unit);
    if (!held) {
        hc_claimed_failure(claimed, words, sizeof words);
        hc_check_note(check, "%s", words);
    }
    hc_check_tell(check, claimed);
    return held;
}

bool hc_claim_bits(struct hc_check *check, const char *what, enum hc_format format, uint64_t want,
                   uint64_t got)
{
    return settle(check, &(struct hc_claimed){.kind = HC_CLAIMED_BITS,
                                              .what = what,
                                              .want = hc_decode(format, want),
                                              .got = hc_decode(format, got),
                                              .error = hc_bits_apart(format, want, got),
                                              .unit = "ulp",
                                              .format = format,
                                              .want_bits = want,
                                              .got_bits = got});
}

bool hc_claim_value(struct hc_check *check, const char *what, double want, double got)
{
    bool equal = (isnan(want) && isnan(got)) || hc_fp64_bits(want) == hc_fp64_bits(got);
    double error = fabs(want - got);
    if (equal)
        error = 0;
    else if (!(error > 0)) /* +0 against -0, or NaN against a number */
        error = (double)INFINITY;
    return settle(check, &(struct hc_claimed){.kind = HC_CLAIMED_VALUE,
                                              .what = what,
                                              .want = want,
                                              .got = got,
                                              .error = error,
                                              .unit = "abs"});
}

bool hc_claim_within(struct hc_check *check, const char *what, double want, double got,
                     double bound)
{
    return settle(check, &(struct hc_claimed){.kind = HC_CLAIMED_WITHIN,
                                              .what = what,
                                              .want = want,
                                              .got = got,
                                              .error = want == got ? 0 : fabs(want - got),
                                              .bound = bound,
                                              .unit = "abs"});
}

bool hc_claim_true(struct hc_check *check, const char *what, bool held)
{
    return settle(
        check, &(struct hc_claimed){
                   .kind = HC_CLAIMED_TRUE, .what = what, .error = held ? 0 : 1, .unit = "claims"});
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

void hc_claim_sweep(struct hc_check *check, const char *what, int64_t checked, int64_t wrong,
                    const char *first)
{
    (void)settle(check, &(struct hc_claimed){.kind = HC_CLAIMED_SWEEP,
                                             .what = what,
                                             .error = (double)wrong,
                                             .unit = "bits",
                                             .checked = checked,
                                             .wrong = wrong,
                                             .first = first});
    if (hc_check_is_cut(check) || check->bits_only)
        return;
    check->result.checked += checked - 1;
    check->result.wrong += wrong > 1 ? wrong - 1 : 0;
}

void hc_claim_comparisons(struct hc_check *check, const struct hc_comparisons *c)
{
    if (c->checked)
        hc_claim_sweep(check, c->what ? c->what : "comparisons", c->checked, c->wrong,
                       c->wrong ? c->first : NULL);
}

void hc_claim_judged(struct hc_check *check, const struct hc_judged_elements *judged)
{
    (void)settle(check, &(struct hc_claimed){.kind = HC_CLAIMED_SAMPLE,
                                             .what = judged->what,
                                             .want = judged->want,
                                             .got = judged->got,
                                             .error = judged->error,
                                             .bound = judged->bound,
                                             .unit = "abs",
                                             .checked = judged->checked,
                                             .of = judged->of,
                                             .wrong = judged->wrong,
                                             .index = judged->index});
    if (hc_check_is_cut(check) || check->bits_only)
        return;
    check->result.checked += judged->checked - 1;
    check->result.wrong += judged->wrong > 1 ? judged->wrong - 1 : 0;
    check->result.looked_at += judged->checked;
    check->result.looked_of += judged->of;
    if (judged->line > check->result.line || isnan(check->result.line))
        check->result.line = judged->line;
}
