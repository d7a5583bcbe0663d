/* The sentences below a table.

   A table shows that a number stands still, but not why. The evaluation notes the first time that
   each of its operations lost something (formula/event.h), and so the reason can be told: "1e-4 is
   below half an ulp of w". For a number that stands still the reason is an event that still happens
   at the last step; the latest to begin is the nearest to it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/calc/calc.h"
#include "cli/calc/number.h"
#include "formula/event.h"
#include "num/ulp.h"
#include "op/text.h"
#include "op/wrap.h"

enum { TEXT = 200, LONG_TEXT = 400, BIRTHS = 4, LOSSES = 2 };

/* "at step 3, ", or nothing where that goes without saying: without a loop, and of a constant. */
static void when(const struct hc_event *event, char text[TEXT])
{
    bool constant = event->kind == HC_EVENT_LITERAL_ZERO || event->kind == HC_EVENT_LITERAL_ONE ||
                    event->kind == HC_EVENT_LITERAL_INF;
    text[0] = '\0';
    if (!constant && event->first > 0)
        (void)snprintf(text, TEXT, "at step %" PRId64 ", ", event->first);
}

/* Whether an event is reported for itself, and not as the cause of something. */
static bool is_reported(const struct hc_calc_run *run, const struct hc_event *event)
{
    bool cause = event->kind == HC_EVENT_ABSORBED || event->kind == HC_EVENT_CANCELLED;
    return event->kind != HC_EVENT_REFORMATTED && (!cause || !run->calc->loop);
}

/* Adds an event to a list of up to `most` in a sentence; *count is how many there are. */
static void add_event(const struct hc_event *event, int most, int *count, char *sentence)
{
    char text[TEXT];
    char step[TEXT];
    size_t used = strlen(sentence);
    if ((*count)++ >= most)
        return;
    hc_event_text(event, text, TEXT);
    when(event, step);
    (void)snprintf(sentence + used, HC_CALC_SENTENCE - used, "%s%s%s", *count > 1 ? "; " : "", step,
                   text);
}

/* Says how many events of a list had no room. */
static void end_events(int most, int count, char *sentence)
{
    size_t used = strlen(sentence);
    if (count > most)
        (void)snprintf(sentence + used, HC_CALC_SENTENCE - used, "; and %d more (--json has all)",
                       count - most);
}

/* What happened, in the order of its first times. */
static bool describe_births(const struct hc_calc_run *run, int arm, char *sentence)
{
    const struct hc_event *event;
    int count = hc_evaluation_events(run->arm[arm], &event);
    int n = 0;
    sentence[0] = '\0';
    for (int i = 0; i < count; i++)
        if (is_reported(run, &event[i]))
            add_event(&event[i], BIRTHS, &n, sentence);
    end_events(BIRTHS, n, sentence);
    return n > 0;
}

/* Whether the shown expression reads a name that the statement around this place assigns. */
static bool concerns(const struct hc_calc *calc, const struct hc_node *shown, const char *at)
{
    for (int i = 0; shown->kind == HC_NODE_NAME && i < calc->loop->count; i++) {
        const struct hc_statement *s = &calc->loop->statement[i];
        if (s->name == shown->name && at >= s->at && at < s->at + s->length)
            return true;
    }
    for (int i = 0; i < shown->operands; i++)
        if (concerns(calc, shown->operand[i], at))
            return true;
    return false;
}

/* Whether something was reported where the shown expression is computed. */
static bool is_explained(const struct hc_calc_run *run, int item, int arm)
{
    const struct hc_event *event;
    const struct hc_calc *calc = run->calc;
    const struct hc_node *shown = calc->shown->statement[run->item[item].expression].value;
    int count = hc_evaluation_events(run->arm[arm], &event);
    for (int i = 0; i < count; i++)
        if (is_reported(run, &event[i]) &&
            (!calc->loop || concerns(calc, shown, event[i].node->at)))
            return true;
    return false;
}

/* The event that explains why a number stands still, or is off: the last one of this kind to begin
   of those that still happen in the end, where the number is assigned. */
static const struct hc_event *cause_of(const struct hc_calc_run *run, int item, int arm,
                                       enum hc_event_kind kind)
{
    const struct hc_event *event;
    const struct hc_event *cause = NULL;
    const struct hc_calc *calc = run->calc;
    const struct hc_node *shown = calc->shown->statement[run->item[item].expression].value;
    int count = hc_evaluation_events(run->arm[arm], &event);
    for (int i = 0; i < count; i++)
        if (event[i].kind == kind && event[i].last >= run->last.step &&
            concerns(calc, shown, event[i].node->at))
            cause = &event[i];
    return cause;
}

/* Why a number stands still. Where nothing was absorbed, several roundings together gave the old
   number again, or the one into the arm's storage format did. What is rounded to a number lies
   within half an ulp of it. If something was told before, that is the reason: 0.999 is 1. */
static void describe_cause(const struct hc_calc_run *run, int item, int arm, const char *name,
                           char text[TEXT])
{
    const struct hc_event *cause = cause_of(run, item, arm, HC_EVENT_ABSORBED);
    const struct hc_arm *a = &run->calc->arm[arm];
    const struct hc_calc_cell *cell = &run->last.cell[item][arm];
    char half[HC_NUMBER_TEXT];
    text[0] = '\0';
    if (!cause)
        cause = cause_of(run, item, arm, HC_EVENT_CANCELLED);
    if (cause) {
        hc_event_text(cause, text, TEXT);
    } else if (cell->want == 0 || is_explained(run, item, arm)) {
        return;
    } else if (a->storage != a->arithmetic && cell->format == a->storage) {
        hc_distance_text(half, hc_ulp(cell->format, cell->want) / 2);
        (void)snprintf(text, TEXT, "what a step adds is at most half an ulp of %s in %s, %s", name,
                       hc_formats[cell->format].name, half);
    } else {
        (void)snprintf(text, TEXT, "what a step adds is rounded away");
    }
}

static void describe_stall(const struct hc_calc_run *run, int item, int arm, char *sentence)
{
    char name[HC_CALC_NAME];
    char number[HC_NUMBER_TEXT];
    char text[TEXT] = "";
    char from[TEXT] = "";
    const struct hc_calc_cell *cell = &run->last.cell[item][arm];
    int64_t step = run->trajectory[item * HC_CALC_ARMS + arm].changed.step;
    bool always = step == run->first;
    bool plain = isfinite(cell->want) && cell->want != 0;
    hc_calc_name(run, item, HC_CALC_NAME - 1, name);
    hc_number_text(number, cell->format, cell->want, 0);
    if (isfinite(cell->want))
        describe_cause(run, item, arm, name, text);
    if (!always)
        (void)snprintf(from, sizeof from, " from step %" PRId64 " on", step);
    (void)snprintf(sentence, HC_CALC_SENTENCE, "%s %s %s%s%s%s", name,
                   always ? (plain ? "never moves from" : "is always")
                          : (plain ? "stands at" : "is"),
                   number, from, text[0] ? ": " : "", text);
}

/* A number that stands still and is the nearest all the same, since the real number has not moved
   half an ulp away yet. */
static void describe_wait(const struct hc_calc_run *run, int item, int arm, char *sentence)
{
    char moved[HC_NUMBER_TEXT];
    const struct hc_calc_row *changed = &run->trajectory[item * HC_CALC_ARMS + arm].changed;
    const struct hc_exact *then = &changed->real[item].value;
    const struct hc_exact *now = &run->last.real[item].value;
    describe_stall(run, item, arm, sentence);
    hc_distance_text(moved, fabs((now->hi - then->hi) + (now->lo - then->lo)));
    size_t used = strlen(sentence);
    (void)snprintf(sentence + used, HC_CALC_SENTENCE - used,
                   "; it is still the nearest, since the real number has moved by %s only", moved);
}

/* Whether that is so. A real number that comes nearer is one that converges. */
static bool waits(const struct hc_calc_run *run, int item, int arm)
{
    const struct hc_calc_row *changed = &run->trajectory[item * HC_CALC_ARMS + arm].changed;
    const struct hc_calc_cell *cell = &run->last.cell[item][arm];
    const struct hc_exact *then = &changed->real[item].value;
    const struct hc_exact *now = &run->last.real[item].value;
    double before = fabs((cell->want - then->hi) - then->lo);
    double after = fabs((cell->want - now->hi) - now->lo);
    return run->calc->loop && isfinite(cell->want) && run->last.step - changed->step > 1 &&
           after > before && hc_calc_nearest(cell, &run->last.real[item]);
}

/* "; 20 times, first at step 1, ms - m*m = -64: 7 of 8 bits cancel, and ms was 26 off": what still
   goes wrong in the end with a number that is four ulps off or more. */
static void describe_losses(const struct hc_calc_run *run, int item, int arm, double ulps,
                            char text[LONG_TEXT])
{
    char what[TEXT];
    const struct hc_event *cause = NULL;
    text[0] = '\0';
    if (run->calc->loop && ulps >= 4)
        cause = cause_of(run, item, arm, HC_EVENT_CANCELLED);
    if (run->calc->loop && ulps >= 4 && !cause)
        cause = cause_of(run, item, arm, HC_EVENT_ABSORBED);
    if (!cause)
        return;
    hc_event_text(cause, what, TEXT);
    (void)snprintf(text, LONG_TEXT, "; %" PRId64 " times, first at step %" PRId64 ", %s",
                   cause->times, cause->first, what);
}

/* What has another format than it had. */
static bool describe_format(const struct hc_calc_run *run, int arm, char *sentence)
{
    const struct hc_event *event;
    int count = hc_evaluation_events(run->arm[arm], &event);
    for (int i = 0; i < count; i++)
        if (event[i].kind == HC_EVENT_REFORMATTED) {
            char step[TEXT];
            char text[TEXT];
            when(&event[i], step);
            hc_event_text(&event[i], text, TEXT);
            (void)snprintf(sentence, HC_CALC_SENTENCE, "%s%s", step, text);
            return true;
        }
    return false;
}

/* What was absorbed or cancelled in a loop and is no reason in one of the sentences. */
static bool describe_rest(const struct hc_calc_run *run, int arm,
                          char sentence[HC_CALC_MAX_SENTENCES][HC_CALC_SENTENCE], int sentences)
{
    const struct hc_event *event;
    int count = hc_evaluation_events(run->arm[arm], &event);
    int n = 0;
    char *rest = sentence[sentences];
    rest[0] = '\0';
    for (int i = 0; i < count && run->calc->loop; i++) {
        char text[TEXT];
        bool explained = event[i].kind != HC_EVENT_ABSORBED && event[i].kind != HC_EVENT_CANCELLED;
        hc_event_text(&event[i], text, TEXT);
        for (int s = 0; s < sentences; s++)
            explained = explained || strstr(sentence[s], text);
        if (!explained)
            add_event(&event[i], LOSSES, &n, rest);
    }
    end_events(LOSSES, n, rest);
    return n > 0;
}

/* How far a number is from the real one, beside its running bound. */
static void describe_distance(const struct hc_calc_run *run, int item, int arm, char *sentence)
{
    char name[HC_CALC_NAME];
    char distance[HC_NUMBER_TEXT];
    char bound[HC_NUMBER_TEXT];
    char number[HC_NUMBER_TEXT];
    char ulps[HC_NUMBER_TEXT + 8] = "";
    char parts[TEXT] = "";
    char losses[LONG_TEXT] = "";
    const struct hc_calc_cell *cell = &run->last.cell[item][arm];
    const struct hc_calc_real *real = &run->last.real[item];
    int64_t step = run->trajectory[item * HC_CALC_ARMS + arm].parts;
    double off = fabs((cell->want - real->value.hi) - real->value.lo);
    bool finite = isfinite(cell->rad);
    hc_calc_name(run, item, HC_CALC_NAME - 1, name);
    hc_distance_text(distance, off);
    hc_distance_text(bound, cell->rad);
    if (cell->format != HC_FORMAT_COUNT) {
        double off_in_ulps = off / hc_ulp(cell->format, real->value.hi);
        hc_distance_text(number, off_in_ulps);
        describe_losses(run, item, arm, off_in_ulps, losses);
        (void)snprintf(ulps, sizeof ulps, " (%s ulp)", number);
    }
    if (run->calc->loop)
        (void)snprintf(parts, sizeof parts,
                       " parts from the real number at step %" PRId64 "; in the end it", step);
    (void)snprintf(sentence, HC_CALC_SENTENCE, "%s%s is %s%s off%s%s%s", name, parts, distance,
                   ulps,
                   finite ? ", within its running bound of " : "; its running bound is infinite",
                   finite ? bound : "", losses);
}

/* A format without infinity and NaN has a number in their place. */
static void describe_number(const struct hc_calc_run *run, int item, int arm, char *sentence)
{
    char name[HC_CALC_NAME];
    char number[HC_NUMBER_TEXT];
    const struct hc_calc_cell *cell = &run->last.cell[item][arm];
    double real = run->last.real[item].value.hi;
    hc_calc_name(run, item, HC_CALC_NAME - 1, name);
    hc_number_text(number, cell->format, cell->want, 0);
    (void)snprintf(sentence, HC_CALC_SENTENCE, "%s is %s, and the real number is %s", name, number,
                   isnan(real) ? "NaN" : "infinite");
}

/* Nothing was lost. NaN is near to nothing, and where it stands the real number is NaN, too. */
static void describe_nearest(const struct hc_calc_run *run, char *sentence)
{
    char name[HC_CALC_NAME];
    const char *steps = run->calc->loop ? " at every step" : "";
    bool nan = false;
    for (int i = 0; i < run->items; i++)
        nan = nan || isnan(run->last.real[i].value.hi);
    hc_calc_name(run, 0, HC_CALC_NAME - 1, name);
    if (nan && run->items == 1)
        (void)snprintf(sentence, HC_CALC_SENTENCE, "%s is NaN, and so is the real number", name);
    else
        (void)snprintf(sentence, HC_CALC_SENTENCE,
                       "%s is %sthe nearest of its format to the real number%s",
                       run->items > 1 ? "each number" : name, nan ? "NaN or " : "", steps);
}

int hc_calc_sentences(const struct hc_calc_run *run, int arm,
                      char sentence[HC_CALC_MAX_SENTENCES][HC_CALC_SENTENCE])
{
    int count = describe_births(run, arm, sentence[0]);
    for (int i = 0; i < run->items && count < HC_CALC_MAX_SENTENCES - 1; i++) {
        const struct hc_calc_trajectory *trajectory = &run->trajectory[i * HC_CALC_ARMS + arm];
        double off = run->last.cell[i][arm].want - run->last.real[i].value.hi;
        if (hc_calc_stalls(run, i, arm))
            describe_stall(run, i, arm, sentence[count++]);
        else if (trajectory->parts < 0 && waits(run, i, arm))
            describe_wait(run, i, arm, sentence[count++]);
        else if (trajectory->parts >= 0 && isfinite(off))
            describe_distance(run, i, arm, sentence[count++]);
        else if (trajectory->parts >= 0 && isfinite(run->last.cell[i][arm].want))
            describe_number(run, i, arm, sentence[count++]);
    }
    if (count == 0)
        describe_nearest(run, sentence[count++]);
    if (count < HC_CALC_MAX_SENTENCES - 1 && describe_rest(run, arm, sentence, count))
        count++;
    return describe_format(run, arm, sentence[count]) ? count + 1 : count;
}

enum { SUBJECT = HC_CALC_ARMS * (HC_LONGEST_ARM + 3) };

static void print_sentence(FILE *out, const char *subject, const char *sentence)
{
    char text[HC_CALC_SENTENCE + SUBJECT + 2];
    (void)hc_text_write(text, sizeof text, "%s: %s", subject, sentence);
    hc_print_wrapped(out, 0, 4, text);
}

static bool print_backend(const struct hc_calc_run *run, int arm, FILE *out)
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
        print_sentence(out, run->calc->arm[arm].text, text);
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
    print_sentence(out, run->calc->arm[arm].text, text);
    return false;
}

static void print_real(const struct hc_calc_run *run, FILE *out)
{
    char text[TEXT];
    char step[TEXT] = "";
    if (run->unsettled < 0)
        return;
    if (run->calc->loop)
        (void)snprintf(step, sizeof step, " from step %" PRId64 " on", run->unsettled);
    (void)snprintf(text, sizeof text, "is not known well%s, not even with %ld bits", step,
                   run->precision);
    print_sentence(out, "real", text);
}

/* The sentences of all arms. */
struct sentences {
    int count[HC_CALC_ARMS];
    char sentence[HC_CALC_ARMS][HC_CALC_MAX_SENTENCES][HC_CALC_SENTENCE];
};

static bool same_sentences(const struct sentences *sentences, int a, int b)
{
    bool same = sentences->count[a] == sentences->count[b];
    for (int i = 0; same && i < sentences->count[a]; i++)
        same = strcmp(sentences->sentence[a][i], sentences->sentence[b][i]) == 0;
    return same;
}

/* Arms of which the same is to be told share their sentences. */
static void print_arms(const struct hc_calc_run *run, FILE *out)
{
    struct sentences sentences;
    bool printed[HC_CALC_ARMS] = {false};
    for (int a = 0; a < run->calc->arms; a++)
        sentences.count[a] = hc_calc_sentences(run, a, sentences.sentence[a]);
    for (int a = 0; a < run->calc->arms; a++) {
        char arms[SUBJECT];
        size_t used = 0;
        for (int b = a; b < run->calc->arms; b++)
            if (!printed[b] && same_sentences(&sentences, a, b)) {
                used += (size_t)snprintf(arms + used, sizeof arms - used, "%s%s", used ? ", " : "",
                                         run->calc->arm[b].text);
                printed[b] = true;
            }
        for (int i = 0; used > 0 && i < sentences.count[a]; i++)
            print_sentence(out, arms, sentences.sentence[a][i]);
    }
}

bool hc_calc_print_findings(const struct hc_calc_run *run, FILE *out)
{
    char text[TEXT];
    bool right = true;
    print_arms(run, out);
    for (int a = 0; a < run->calc->arms && run->calc->backend; a++)
        right &= print_backend(run, a, out);
    print_real(run, out);
    if (run->last_change >= 0) {
        (void)snprintf(text, sizeof text,
                       "Nothing changes after step %" PRId64 ", so the other %" PRId64
                       " steps were left out.",
                       run->last_change, run->calc->steps - run->last_change);
        hc_print_wrapped(out, 0, 0, text);
    }
    return right;
}
