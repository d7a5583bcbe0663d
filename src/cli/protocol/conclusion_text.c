/* What people read of a study: the question, a table, and the sentences that answer. */
#include <math.h>
#include <string.h>

#include "cli/protocol/conclusion.h"
#include "op/text.h"
#include "op/wrap.h"

/* The widths of the first two columns. */
struct widths {
    int arm;
    int recipe;
};

static struct widths widths_of(const struct hc_protocol *p)
{
    struct widths w = {.arm = (int)strlen("base"), .recipe = (int)strlen(p->base)};
    for (int a = 0; a < p->arms; a++) {
        int arm = (int)strlen(p->arm[a].name);
        int recipe = (int)strlen(p->arm[a].recipe);
        w.arm = arm > w.arm ? arm : w.arm;
        w.recipe = recipe > w.recipe ? recipe : w.recipe;
    }
    return w;
}

static void print_arm(const struct hc_conclusion *c, int arm, struct widths w, FILE *out)
{
    const struct hc_arm_answer *a = &c->arm[arm];
    const struct hc_protocol_arm *asked = &c->study->protocol->arm[arm];
    char points[24] = "";
    char interval[40] = "";
    char apart[24] = "";
    char line[512];
    if (a->pairs.n > 0)
        (void)hc_text_write(points, sizeof points, "%+.2f", a->test.mean);
    if (a->look >= 0)
        (void)hc_text_write(interval, sizeof interval, "%+.2f .. %+.2f", a->test.low, a->test.high);
    if (a->known > 0)
        (void)snprintf(apart, sizeof apart, "%d of %d", a->told_apart, a->known);
    (void)snprintf(line, sizeof line, "%-*s %-*s %5d %7s  %-16s %s", w.arm, asked->name, w.recipe,
                   asked->recipe, a->pairs.n, points, interval, apart);
    for (size_t n = strlen(line); line[n - 1] == ' '; n--)
        line[n - 1] = '\0';
    hc_print(out, "%s\n", line);
    if (a->pairs.mixed > 0)
        hc_print(out, "%-*s %d pair%s made on two kinds of processor and %s not count\n", w.arm, "",
                 a->pairs.mixed, a->pairs.mixed == 1 ? " was" : "s were",
                 a->pairs.mixed == 1 ? "does" : "do");
}

static void print_table(const struct hc_conclusion *c, FILE *out)
{
    const struct hc_protocol *p = c->study->protocol;
    struct widths w = widths_of(p);
    hc_print(out, "\n%-*s %-*s %5s %7s  %-16s %s\n", w.arm, "arm", w.recipe, "recipe", "pairs",
             "points", "interval", "apart");
    for (int a = 0; a < p->arms; a++)
        print_arm(c, a, w, out);
    hc_print_wrapped(
        out, 0, 0,
        "points: accuracy of the arm minus that of the base, mean over pairs. interval: "
        "of that mean, over all looks. apart: pairs whose two networks the test images "
        "alone tell apart, by McNemar's test at 5 %.");
    if (c->runs > 1)
        hc_print(out, "\nThe base, %s, reaches %.2f %% (deviation %.2f over %d runs).\n", p->base,
                 c->accuracy, c->deviation, c->runs);
    else if (c->runs == 1)
        hc_print(out, "\nThe base, %s, reaches %.2f %% in one run.\n", p->base, c->accuracy);
}

/* The odds that the protocol was made with, before there were data. */
static void print_plan(const struct hc_conclusion *c, FILE *out)
{
    enum { EXPERIMENTS = 4000 };
    const struct hc_protocol *p = c->study->protocol;
    struct hc_sequential_odds odds =
        hc_sequential_simulate(&p->plan, 0, p->spread, p->margin, EXPERIMENTS, 1);
    hc_print(out, "planned   margin %g points, two one-sided tests at %g %% over looks at",
             p->margin, 100 * p->plan.level);
    for (int k = 0; k < p->plan.looks; k++)
        hc_print(out, " %d", p->plan.pairs[k]);
    hc_print(out, " pairs\n          power %.2f with %.1f pairs on average, if the spread is %g\n",
             odds.equivalent, odds.pairs, p->spread);
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
        hc_print(out, "The difference of a pair has a spread of %.2f points (planned: %g).\n",
                 sqrt(squares / freedom), c->study->protocol->spread);
}

void hc_conclusion_print(const struct hc_conclusion *c, FILE *out)
{
    const struct hc_protocol *p = c->study->protocol;
    hc_print(out, "question  %s\n", p->question);
    print_plan(c, out);
    print_table(c, out);
    print_spread(c, out);
    hc_print(out, "\n");
    for (int a = 0; a < p->arms; a++) {
        char sentence[HC_CONCLUSION_SENTENCE];
        hc_conclusion_sentence(c, a, sentence);
        enum hc_verdict verdict = c->arm[a].verdict;
        hc_print(out, "%-6s",
                 p->arm[a].claim == HC_CLAIM_OPEN ? ""
                 : verdict == HC_SKIPPED          ? "open"
                                                  : hc_verdict_names[verdict]);
        hc_print_wrapped(out, 6, 6, sentence);
    }
    if (c->runs > 0 && !c->reached)
        hc_print(out, "FAIL  %s reaches %.2f %%, which is less than the %g %% that is asked for.\n",
                 p->base, c->accuracy, p->reach);
}
