#include "cli/calc/tell.h"

#include <inttypes.h>
#include <string.h>

#include "cli/calc/number.h"
#include "cli/calc/sentences.h"
#include "op/text.h"
#include "op/wrap.h"

enum { TEXT = 200, SUBJECT = HC_CALC_ARMS * (HC_LONGEST_ARM + 3) };

static void print(FILE *out, const char *subject, const char *sentence)
{
    char text[HC_CALC_SENTENCE + SUBJECT + 2];
    (void)hc_text_write(text, sizeof text, "%s: %s", subject, sentence);
    hc_print_wrapped(out, 0, 4, text);
}

static bool tell_backend(const struct hc_calc_run *run, int arm, FILE *out)
{
    const struct hc_evaluation_difference *d = hc_evaluation_difference(run->arm[arm]);
    const char *backend = run->calc->backend->name;
    char text[HC_CALC_SENTENCE];
    char want[HC_NUMBER_TEXT];
    char got[HC_NUMBER_TEXT];
    char bits[2][HC_NUMBER_TEXT];
    char step[TEXT] = "";
    if (d->differed == 0) {
        (void)snprintf(text, sizeof text,
                       "%s has the definition's bits in all %" PRId64 " operations", backend,
                       d->compared);
        print(out, run->calc->arm[arm].text, text);
        return true;
    }
    hc_number_text(want, d->format, d->want, 0);
    hc_number_text(got, d->format, d->got, 0);
    hc_bits_text(bits[0], d->format, d->want);
    hc_bits_text(bits[1], d->format, d->got);
    if (run->calc->loop)
        (void)snprintf(step, sizeof step, " at step %" PRId64, d->step);
    (void)snprintf(text, sizeof text,
                   "%s differs from the definition in %" PRId64 " of %" PRId64
                   " operations, first%s in '%.*s': want %s (%s), got %s (%s)",
                   backend, d->differed, d->compared, step, d->node->length, d->node->at, want,
                   bits[0], got, bits[1]);
    print(out, run->calc->arm[arm].text, text);
    return false;
}

static void tell_real(const struct hc_calc_run *run, FILE *out)
{
    char text[TEXT];
    char step[TEXT] = "";
    if (run->unsettled < 0)
        return;
    if (run->calc->loop)
        (void)snprintf(step, sizeof step, " from step %" PRId64 " on", run->unsettled);
    (void)snprintf(text, sizeof text, "is not known well%s, not even with %ld bits", step,
                   run->precision);
    print(out, "real", text);
}

/* The sentences of all arms. */
struct told {
    int count[HC_CALC_ARMS];
    char sentence[HC_CALC_ARMS][HC_CALC_TOLD][HC_CALC_SENTENCE];
};

static bool same_sentences(const struct told *told, int a, int b)
{
    bool same = told->count[a] == told->count[b];
    for (int i = 0; same && i < told->count[a]; i++)
        same = strcmp(told->sentence[a][i], told->sentence[b][i]) == 0;
    return same;
}

/* Arms of which the same is to be told share their sentences. */
static void print_arms(const struct hc_calc_run *run, FILE *out)
{
    struct told told;
    bool printed[HC_CALC_ARMS] = {false};
    for (int a = 0; a < run->calc->arms; a++)
        told.count[a] = hc_calc_sentences(run, a, told.sentence[a]);
    for (int a = 0; a < run->calc->arms; a++) {
        char arms[SUBJECT];
        size_t used = 0;
        for (int b = a; b < run->calc->arms; b++)
            if (!printed[b] && same_sentences(&told, a, b)) {
                used += (size_t)snprintf(arms + used, sizeof arms - used, "%s%s", used ? ", " : "",
                                         run->calc->arm[b].text);
                printed[b] = true;
            }
        for (int i = 0; used > 0 && i < told.count[a]; i++)
            print(out, arms, told.sentence[a][i]);
    }
}

bool hc_calc_tell(const struct hc_calc_run *run, FILE *out)
{
    char text[TEXT];
    bool right = true;
    print_arms(run, out);
    for (int a = 0; a < run->calc->arms && run->calc->backend; a++)
        right &= tell_backend(run, a, out);
    tell_real(run, out);
    if (run->still >= 0) {
        (void)snprintf(text, sizeof text,
                       "Nothing changes after step %" PRId64 ", so the other %" PRId64
                       " steps were left out.",
                       run->still, run->calc->steps - run->still);
        hc_print_wrapped(out, 0, 0, text);
    }
    return right;
}
