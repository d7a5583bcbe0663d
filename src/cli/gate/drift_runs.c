#include "cli/gate/drift_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/statistics/equivalence.h"

/* What a number is in all runs of both sets. */
struct values {
    double *was; /* all the memory */
    double *is;
    double *paired_was;
    double *paired_is;
    int pairs;
    bool differ; /* in some pair */
    bool were_zero;
    bool were_finite;
    bool are_finite;
};

static double value_of(const struct hc_drift_outcome *run, const char *name)
{
    for (int i = 0; i < run->count; i++)
        if (strcmp(run->numbers[i].name, name) == 0)
            return run->numbers[i].value;
    return (double)NAN;
}

static bool all(const double *x, int n, bool (*holds)(double))
{
    for (int i = 0; i < n; i++)
        if (!holds(x[i]))
            return false;
    return true;
}

static bool is_zero(double x)
{
    return x == 0;
}

static bool is_finite(double x)
{
    return isfinite(x);
}

/* Records print nine digits, baselines too: what is equal in them is equal. */
static bool are_equal(double a, double b)
{
    return fabs(a - b) <= 1e-8 * fabs(a) || (isnan(a) && isnan(b)) || a == b;
}

static enum hc_status take_logarithms(const struct hc_drift_set *was, const struct hc_drift_set *is,
                                      const char *name, struct values *v)
{
    int room = was->count + is->count;
    v->was = calloc(2 * (size_t)room + 1, sizeof *v->was);
    if (!v->was)
        return hc_fail(HC_NO_MEMORY, "no memory for %d drifts", room);
    v->is = v->was + was->count;
    v->paired_was = v->was + room;
    v->paired_is = v->paired_was + was->count;
    v->pairs = 0;
    v->differ = false;
    for (int i = 0; i < was->count; i++)
        v->was[i] = value_of(&was->runs[i], name);
    for (int i = 0; i < is->count; i++)
        v->is[i] = value_of(&is->runs[i], name);
    for (int i = 0; i < was->count; i++)
        for (int k = 0; k < is->count; k++)
            if (was->runs[i].seed == is->runs[k].seed) {
                v->differ = v->differ || !are_equal(v->was[i], v->is[k]);
                v->paired_was[v->pairs] = v->was[i];
                v->paired_is[v->pairs++] = v->is[k];
            }
    v->were_zero = all(v->was, was->count, is_zero);
    v->were_finite = all(v->was, was->count, is_finite);
    v->are_finite = all(v->is, is->count, is_finite);
    return HC_OK;
}

/* At which level a number is tested, of a recipe with so many. */
static double level_of(const char *name, int count)
{
    bool whole = strcmp(name, "gradient") == 0 || strcmp(name, "weights") == 0;
    return 0.025 / (whole ? 2 : count > 3 ? count - 2 : 1);
}

static double mean_of(const double *x, int n)
{
    double mean;
    double deviation;
    hc_spread(x, n, &mean, &deviation);
    return mean;
}

/* A zero has no logarithm. It counts as the smallest number that is there, which is more than it
   is: so what grew out of it is worse only if it outgrew that, too. */
static void raise_zeros(double *x, int n, double least)
{
    for (int i = 0; i < n; i++)
        x[i] = x[i] > 0 ? x[i] : least;
}

static void compare_logarithms(struct values *v, int was, int is, double level,
                               struct hc_drift_verdict *out)
{
    double mean;
    double spread;
    const struct hc_equivalence_question question = {.margin = (double)INFINITY, .level = level};
    double least = (double)INFINITY;
    for (int i = 0; i < was + is; i++)
        least = v->was[i] > 0 ? fmin(least, v->was[i]) : least;
    raise_zeros(v->was, was + is, least);
    raise_zeros(v->paired_was, v->pairs, least);
    raise_zeros(v->paired_is, v->pairs, least);
    for (int i = 0; i < was + is; i++)
        v->was[i] = log(v->was[i]);
    for (int i = 0; i < v->pairs; i++) {
        v->paired_was[i] = log(v->paired_was[i]);
        v->paired_is[i] = log(v->paired_is[i]);
    }
    struct hc_difference d = v->pairs >= HC_LEAST_DRIFT_SEEDS
                                 ? hc_paired(v->paired_is, v->paired_was, v->pairs, &question)
                                 : hc_welch(v->is, is, v->was, was, &question);
    hc_spread(v->was, was, &mean, &spread);
    out->was = exp(mean);
    out->is = exp(mean_of(v->is, is));
    out->factor = exp(d.mean);
    out->low = exp(d.low);
    out->high = exp(d.high);
    out->spread = exp(spread);
    out->change = d.low > 0 && d.mean > spread     ? HC_DRIFT_GROWN
                  : d.high < 0 && d.mean < -spread ? HC_DRIFT_SHRUNK
                  : d.low > 0 || d.high < 0        ? HC_DRIFT_MOVED
                                                   : HC_DRIFT_SAME;
}

enum hc_status hc_drift_judge(const struct hc_drift_set *was, const struct hc_drift_set *is, int k,
                              struct hc_drift_verdict *out)
{
    struct values v = {0};
    const struct hc_drift_outcome *first = &was->runs[0];
    *out = (struct hc_drift_verdict){.name = first->numbers[k].name,
                                     .change = HC_DRIFT_UNKNOWN,
                                     .factor = (double)NAN,
                                     .low = (double)NAN,
                                     .high = (double)NAN,
                                     .spread = (double)NAN};
    enum hc_status status = take_logarithms(was, is, out->name, &v);
    if (status != HC_OK)
        return status;
    bool few = was->count < HC_LEAST_DRIFT_SEEDS || is->count < HC_LEAST_DRIFT_SEEDS;
    out->equal = v.pairs > 0 && !v.differ;
    out->was = mean_of(v.was, was->count);
    out->is = mean_of(v.is, is->count);
    if (out->equal || (v.were_zero && all(v.is, is->count, is_zero)))
        out->change = HC_DRIFT_SAME;
    else if (v.were_zero || (v.were_finite && !v.are_finite))
        out->change = HC_DRIFT_GROWN;
    else if (v.were_finite && !few)
        compare_logarithms(&v, was->count, is->count, level_of(out->name, first->count), out);
    free(v.was);
    return HC_OK;
}
