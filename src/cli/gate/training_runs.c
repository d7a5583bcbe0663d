#include "cli/gate/training_runs.h"

#include <math.h>
#include <stdlib.h>

#include "cli/statistics/power.h"

/* The numbers of the runs that learned. */
struct numbers {
    double *was;
    double *is;
    double *paired_was;
    double *paired_is;
    int was_count;
    int is_count;
    int pairs;
};

typedef double number_of(const struct hc_outcome *run, double target);

static double points(const struct hc_outcome *run, double target)
{
    (void)target;
    return 100 * run->accuracy;
}

static double epochs_to(const struct hc_outcome *run, double target)
{
    int epoch = 0;
    while (epoch < run->epochs && !(100 * run->accuracy_by_epoch[epoch] >= target))
        epoch++;
    return epoch + 1;
}

static bool counts(const struct hc_outcome *run)
{
    return run->learned && isfinite(run->accuracy);
}

/* The run with a seed that learned, or NULL. */
static const struct hc_outcome *run_of(const struct hc_training_set *set, uint64_t seed)
{
    for (int i = 0; i < set->count; i++)
        if (set->runs[i].seed == seed)
            return counts(&set->runs[i]) ? &set->runs[i] : NULL;
    return NULL;
}

static int take_all(const struct hc_training_set *set, number_of *number, double target, double *to)
{
    int n = 0;
    for (int i = 0; i < set->count; i++)
        if (counts(&set->runs[i]))
            to[n++] = number(&set->runs[i], target);
    return n;
}

/* The caller frees n->was, which is all the memory. */
static enum hc_status take_numbers(const struct hc_training_question *q, number_of *number,
                                   double target, struct numbers *n)
{
    int room = q->was.count + q->is.count;
    n->was = calloc(2 * (size_t)room + 1, sizeof *n->was);
    if (!n->was)
        return hc_fail(HC_NO_MEMORY, "no memory for %d runs", room);
    n->is = n->was + q->was.count;
    n->paired_was = n->was + room;
    n->paired_is = n->is + room;
    n->was_count = take_all(&q->was, number, target, n->was);
    n->is_count = take_all(&q->is, number, target, n->is);
    n->pairs = 0;
    for (int i = 0; i < q->was.count; i++) {
        const struct hc_outcome *is = run_of(&q->is, q->was.runs[i].seed);
        if (!is || !counts(&q->was.runs[i]))
            continue;
        n->paired_was[n->pairs] = number(&q->was.runs[i], target);
        n->paired_is[n->pairs++] = number(is, target);
    }
    return HC_OK;
}

static struct hc_difference compare_numbers(const struct numbers *n,
                                            const struct hc_equivalence_question *question)
{
    return n->pairs >= HC_LEAST_SEEDS
               ? hc_paired(n->paired_is, n->paired_was, n->pairs, question)
               : hc_welch(n->is, n->is_count, n->was, n->was_count, question);
}

static bool are_equal(const struct hc_outcome *a, const struct hc_outcome *b)
{
    return a->accuracy == b->accuracy && a->test_loss == b->test_loss &&
           a->train_loss == b->train_loss;
}

/* Whether there are seeds in both sets, and each is the same run in both, learned or not. */
static bool are_identical(const struct hc_training_question *q)
{
    int equal = 0;
    for (int i = 0; i < q->was.count; i++)
        for (int k = 0; k < q->is.count; k++)
            if (q->was.runs[i].seed == q->is.runs[k].seed && counts(&q->was.runs[i]) &&
                counts(&q->is.runs[k])) {
                if (!are_equal(&q->was.runs[i], &q->is.runs[k]))
                    return false;
                equal++;
            }
    return equal > 0;
}

/* One image in points. */
static double grain(const struct hc_training_question *q)
{
    return q->was.count ? 100 / (double)q->was.runs[0].test_images : 0;
}

static enum hc_training_answer answer(const struct hc_difference *d, double margin)
{
    if (d->verdict == HC_EQUIVALENT)
        return HC_TRAINS_EQUIVALENT;
    if (d->low > -margin)
        return d->low > 0 ? HC_TRAINS_BETTER : HC_TRAINS_NOT_WORSE;
    return d->high < 0 ? HC_TRAINS_WORSE : HC_TRAINS_NOT_SHOWN;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, of an even number the lower of the two in the middle; sorts. */
static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n ? x[(n - 1) / 2] : (double)NAN;
}

static double mean_of(const double *x, int n)
{
    double mean;
    double deviation;
    hc_spread(x, n, &mean, &deviation);
    return mean;
}

static enum hc_status judge_epochs(const struct hc_training_question *q,
                                   struct hc_training_verdict *v)
{
    struct numbers n = {0};
    const struct hc_equivalence_question question = {
        .margin = (double)INFINITY, .grain = 1, .level = q->epochs_level};
    enum hc_status status = take_numbers(q, epochs_to, v->target, &n);
    if (status != HC_OK)
        return status;
    v->epochs_was = mean_of(n.was, n.was_count);
    v->epochs_is = mean_of(n.is, n.is_count);
    v->epochs = compare_numbers(&n, &question);
    v->slower = v->epochs.low > 0;
    v->faster = v->epochs.high < 0;
    free(n.was);
    return HC_OK;
}

enum hc_status hc_training_judge(const struct hc_training_question *q,
                                 struct hc_training_verdict *v)
{
    struct numbers n = {0};
    const struct hc_equivalence_question question = {
        .margin = q->margin, .grain = grain(q), .level = q->level};
    enum hc_status status = take_numbers(q, points, 0, &n);
    if (status != HC_OK)
        return status;
    *v = (struct hc_training_verdict){.was = n.was_count,
                                      .is = n.is_count,
                                      .pairs = n.pairs,
                                      .accuracy = compare_numbers(&n, &question)};
    v->target = q->target > 0 ? q->target : median(n.was, n.was_count) - q->margin;
    bool few = n.was_count < HC_LEAST_SEEDS || n.is_count < HC_LEAST_SEEDS;
    free(n.was);
    if (are_identical(q)) {
        v->answer = HC_TRAINS_IDENTICAL;
        return HC_OK;
    }
    v->answer = few ? HC_TRAINS_TOO_FEW : answer(&v->accuracy, q->margin);
    return few ? HC_OK : judge_epochs(q, v);
}

/* Both sets' spreads together, each about its own mean, with the freedom that they have. */
static void pool(const struct numbers *n, double least, double *deviation, double *freedom)
{
    double squares = 0;
    const double *sets[] = {n->was, n->is};
    const int sizes[] = {n->was_count, n->is_count};
    *freedom = 0;
    for (int s = 0; s < 2; s++) {
        double mean;
        double spread;
        hc_spread(sets[s], sizes[s], &mean, &spread);
        if (sizes[s] < 2)
            continue;
        squares += spread * spread * (sizes[s] - 1);
        *freedom += sizes[s] - 1;
    }
    *deviation = *freedom > 0 ? fmax(sqrt(squares / *freedom), least) : (double)NAN;
}

void hc_training_plan_runs(double margin, double grain, struct hc_training_plan *plan)
{
    double range[2];
    struct hc_plan_of_runs runs = {.margin = margin,
                                   .deviation = fmax(plan->deviation, grain / 2),
                                   .power = 0.8,
                                   .level = plan->level > 0 ? plan->level : 0.05,
                                   .paired = plan->paired};
    plan->needed = hc_runs_needed(&runs);
    hc_deviation_range(plan->deviation, plan->freedom, 0.05, range);
    for (int end = 0; end < 2; end++) {
        runs.deviation = fmax(range[end], grain / 2);
        plan->range[end] = hc_runs_needed(&runs);
    }
}

enum hc_status hc_training_plan(const struct hc_training_question *q, struct hc_training_plan *plan)
{
    struct numbers n = {0};
    const struct hc_equivalence_question question = {.margin = q->margin, .grain = grain(q)};
    enum hc_status status = take_numbers(q, points, 0, &n);
    *plan = (struct hc_training_plan){.level = q->level, .deviation = (double)NAN};
    if (status != HC_OK)
        return status;
    bool identical = are_identical(q);
    plan->paired = n.pairs >= 2 && !identical;
    /* The same run twice tells no more of the spread than once. */
    if (identical && n.is_count >= n.was_count)
        n.was_count = 0;
    else if (identical)
        n.is_count = 0;
    if (plan->paired) {
        plan->deviation = hc_paired(n.paired_is, n.paired_was, n.pairs, &question).deviation;
        plan->freedom = n.pairs - 1;
    } else
        pool(&n, question.grain / 2, &plan->deviation, &plan->freedom);
    free(n.was);
    if (!isnan(plan->deviation))
        hc_training_plan_runs(q->margin, question.grain, plan);
    return HC_OK;
}
