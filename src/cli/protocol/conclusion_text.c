/* What people read of a study: the question, a table, and the sentences that answer. */
#include <math.h>
#include <string.h>

#include "cli/protocol/conclusion.h"
#include "op/text.h"
#include "op/wrap.h"

static void print_base(const struct hc_conclusion *c, FILE *out)
{
    const struct hc_protocol *p = c->study->protocol;
    hc_print(out, "%-10s %-34s %5d  ", "base", p->base, c->runs);
    if (c->runs > 1)
        hc_print(out, "%6.2f (%.2f)", c->accuracy, c->deviation);
    else if (c->runs == 1)
        hc_print(out, "%6.2f", c->accuracy);
    hc_print(out, "\n");
}

static void print_arm(const struct hc_conclusion *c, int arm, FILE *out)
{
    static const char *const verdicts[] = {[HC_EQUIVALENT] = "equivalent",
                                           [HC_DIFFERENT] = "different",
                                           [HC_UNDECIDED] = "undecided"};
    const struct hc_arm_answer *a = &c->arm[arm];
    const struct hc_protocol_arm *asked = &c->study->protocol->arm[arm];
    char interval[40] = "";
    char told[24] = "";
    hc_print(out, "%-10s %-34s %5d  ", asked->name, asked->recipe, a->pairs.n);
    if (a->look >= 0)
        (void)hc_text_write(interval, sizeof interval, "%+.2f .. %+.2f", a->test.low,
                            a->test.high);
    if (a->known > 0)
        (void)snprintf(told, sizeof told, "%d of %d", a->told_apart, a->known);
    if (a->pairs.n > 0)
        hc_print(out, "%+6.2f", a->test.mean);
    else
        hc_print(out, "%6s", "");
    hc_print(out, " %5s", "");
    hc_print(out, "%-16s %-8s %s", interval, told,
             a->look >= 0 ? verdicts[a->test.verdict] : "");
    if (a->pairs.lost > 0)
        hc_print(out, "%d did not learn", a->pairs.lost);
    if (asked->claim != HC_CLAIM_OPEN)
        hc_print(out, "%s%s", a->look >= 0 || a->pairs.lost > 0 ? ": " : "",
                 hc_verdict_names[a->verdict]);
    hc_print(out, "\n");
    if (a->pairs.mixed > 0)
        hc_print(out, "           %d pair%s made on two kinds of processor, and does not count\n",
                 a->pairs.mixed, a->pairs.mixed == 1 ? " was" : "s were");
}

/* The odds that the protocol was made with, before there were data. */
static void print_plan(const struct hc_conclusion *c, FILE *out)
{
    enum { EXPERIMENTS = 4000 };
    const struct hc_protocol *p = c->study->protocol;
    struct hc_sequential_odds odds =
        hc_sequential_simulate(&p->plan, 0, p->spread, p->margin, EXPERIMENTS, 1);
    hc_print(out, "planned   margin %g points, two one-sided tests at %g %% over looks at", p->margin,
             100 * p->plan.level);
    for (int k = 0; k < p->plan.looks; k++)
        hc_print(out, " %d", p->plan.pairs[k]);
    hc_print(out, " pairs\n          power %.2f with %.1f pairs on average, if the spread of a "
                  "pair is %g (asked: %g)\n",
             odds.equivalent, odds.pairs, p->spread, p->power);
}

/* The spread that the pairs have, against the planned one. */
static void print_spread(const struct hc_conclusion *c, FILE *out)
{
    double squares = 0;
    int freedom = 0;
    for (int a = 0; a < c->study->protocol->arms; a++) {
        const struct hc_study_pairs *pairs = &c->arm[a].pairs;
        double difference[HC_STUDY_SEEDS];
        double mean;
        double deviation;
        if (c->study->protocol->arm[a].claim != HC_CLAIM_EQUIVALENT || pairs->n < 2)
            continue;
        for (int i = 0; i < pairs->n; i++)
            difference[i] = pairs->subject[i] - pairs->base[i];
        hc_spread(difference, pairs->n, &mean, &deviation);
        squares += deviation * deviation * (pairs->n - 1);
        freedom += pairs->n - 1;
    }
    if (freedom > 0)
        hc_print(out, "\nThe difference of a pair has a deviation of %.2f points (planned: %g).\n",
                 sqrt(squares / freedom), c->study->protocol->spread);
}

void hc_conclusion_print(const struct hc_conclusion *c, FILE *out)
{
    const struct hc_protocol *p = c->study->protocol;
    hc_print(out, "question  %s\n", p->question);
    print_plan(c, out);
    hc_print(out, "\n%-10s %-34s %5s  %6s %5s%-16s %-8s %s\n", "arm", "recipe", "pairs", "points",
             "", "interval", "McNemar", "answer");
    print_base(c, out);
    for (int a = 0; a < p->arms; a++)
        print_arm(c, a, out);
    hc_print(out, "\npoints: accuracy of the arm minus that of the base, mean over pairs; base: "
                  "accuracy in %%\n(deviation). McNemar: pairs whose test images alone tell the two "
                  "networks apart at 5 %%.\n");
    print_spread(c, out);
    hc_print(out, "\n");
    for (int a = 0; a < p->arms; a++) {
        char sentence[HC_CONCLUSION_SENTENCE];
        hc_conclusion_sentence(c, a, sentence);
        hc_print_wrapped(out, 0, 0, sentence);
    }
    if (c->runs > 0 && !c->reached)
        hc_print(out, "%s reaches %.2f %%, which is less than the %g %% that the protocol asks "
                      "for.\n",
                 p->base, c->accuracy, p->reach);
}
