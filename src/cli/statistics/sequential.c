#include "cli/statistics/sequential.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "cli/statistics/significance.h"
#include "num/rng.h"

/* A walk after n steps has the deviation sqrt(n). Below REACH deviations lies less than 1e-15 of
   its probability, and is left out. The density of the walks that have not crossed is kept at
   points that are equally far from each other, from there up to the boundary, for Simpson's
   rule. */
enum { REACH = 8, MOST_INTERVALS = 4096 };

struct walk {
    int steps;
    double low;
    double high;
    int intervals; /* even */
    double density[MOST_INTERVALS + 1];
};

static double normal_density(double z)
{
    return 0.39894228040143268 * exp(-z * z / 2);
}

static double point(const struct walk *w, int i)
{
    return w->low + (w->high - w->low) * i / w->intervals;
}

static double weight(const struct walk *w, int i)
{
    double step = (w->high - w->low) / w->intervals;
    return step / 3 * (i == 0 || i == w->intervals ? 1 : i % 2 ? 4 : 2);
}

/* The probability that a walk which has not crossed so far is above `high` after `more` steps. */
static double crosses(const struct walk *w, int more, double high)
{
    double deviation = sqrt(more);
    double sum = 0;
    if (w->steps == 0)
        return hc_normal_below(-high / deviation);
    for (int i = 0; i <= w->intervals; i++)
        sum += weight(w, i) * w->density[i] * hc_normal_below((point(w, i) - high) / deviation);
    return sum;
}

/* The boundary that is crossed with this probability after `more` steps. */
static double boundary(const struct walk *w, int more, double probability)
{
    double low = -REACH * sqrt(w->steps + more);
    double high = 2 * -low;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (crosses(w, more, middle) > probability)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The walks go on for `more` steps, and those above `high` are out. Points are half a deviation of
   those steps apart, at most; Simpson's rule on a normal density is then good to 1e-9. */
static void go_on(struct walk *w, int more, double high)
{
    static struct walk was;
    double deviation = sqrt(more);
    was = *w;
    w->steps += more;
    w->low = -REACH * sqrt(w->steps);
    w->high = high;
    double intervals = ceil((w->high - w->low) / deviation * 4);
    w->intervals = 2 * (int)(fmin(fmax(intervals, 200), MOST_INTERVALS) / 2);
    for (int i = 0; i <= w->intervals; i++) {
        double sum = 0;
        if (was.steps == 0)
            sum = normal_density(point(w, i) / deviation) / deviation;
        for (int j = 0; j <= was.intervals && was.steps > 0; j++)
            sum += weight(&was, j) * was.density[j] *
                   normal_density((point(w, i) - point(&was, j)) / deviation) / deviation;
        w->density[i] = sum;
    }
}

void hc_sequential_plan(struct hc_sequential *plan)
{
    static struct walk w;
    memset(&w, 0, sizeof w);
    assert(plan->looks >= 1 && plan->looks <= HC_MAX_LOOKS && plan->pairs[0] >= 2);
    assert(plan->pairs[plan->looks - 1] <= HC_MAX_LOOK_PAIRS);
    for (int k = 0; k < plan->looks; k++) {
        int more = plan->pairs[k] - w.steps;
        assert(more > 0);
        double spent = plan->level * more / plan->pairs[plan->looks - 1];
        double high = boundary(&w, more, spent);
        plan->nominal[k] = hc_normal_below(-high / sqrt(plan->pairs[k]));
        go_on(&w, more, high);
    }
}

struct hc_difference hc_sequential_paired(const struct hc_sequential *plan, const double *a,
                                          const double *b, int n, double margin, double grain,
                                          int *look)
{
    /* Too few pairs for the first look have a mean and a deviation, and decide nothing. */
    struct hc_equivalence_question question = {.margin = margin, .grain = grain};
    struct hc_difference d = hc_paired(a, b, n, &question);
    d.low = d.high = d.p = (double)NAN;
    d.verdict = HC_UNDECIDED;
    *look = -1;
    for (int k = 0; k < plan->looks && plan->pairs[k] <= n && d.verdict == HC_UNDECIDED; k++) {
        question.level = plan->nominal[k];
        d = hc_paired(a, b, plan->pairs[k], &question);
        *look = k;
    }
    return d;
}

int hc_sequential_next(const struct hc_sequential *plan, const double *a, const double *b, int n,
                       double margin, double grain)
{
    int look;
    struct hc_difference d = hc_sequential_paired(plan, a, b, n, margin, grain, &look);
    return d.verdict != HC_UNDECIDED || look + 1 == plan->looks ? 0 : plan->pairs[look + 1];
}

struct hc_sequential_odds hc_sequential_simulate(const struct hc_sequential *plan, double mean,
                                                 double deviation, double margin, int experiments,
                                                 uint64_t seed)
{
    static const double zero[HC_MAX_LOOK_PAIRS];
    struct hc_sequential_odds odds = {0};
    int most = plan->pairs[plan->looks - 1];
    int verdicts[HC_UNDECIDED + 1] = {0};
    double pairs = 0;
    for (int e = 0; e < experiments; e++) {
        double x[HC_MAX_LOOK_PAIRS];
        int look;
        for (int i = 0; i < most; i++)
            x[i] = mean + deviation * hc_random_normal(seed, (uint64_t)e, (uint64_t)i);
        struct hc_difference d = hc_sequential_paired(plan, x, zero, most, margin, 0, &look);
        verdicts[d.verdict]++;
        pairs += d.n;
    }
    odds.equivalent = (double)verdicts[HC_EQUIVALENT] / experiments;
    odds.different = (double)verdicts[HC_DIFFERENT] / experiments;
    odds.undecided = (double)verdicts[HC_UNDECIDED] / experiments;
    odds.pairs = pairs / experiments;
    return odds;
}
