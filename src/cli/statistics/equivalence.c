#include "cli/statistics/equivalence.h"

#include <math.h>

#include "cli/statistics/significance.h"

/* Two sums, so that the second has only small numbers: of a - b if b is there, of a otherwise. */
static void spread(const double *a, const double *b, int n, double *mean, double *deviation)
{
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < n; i++)
        sum += b ? a[i] - b[i] : a[i];
    *mean = n > 0 ? sum / n : (double)NAN;
    for (int i = 0; i < n; i++) {
        double off = (b ? a[i] - b[i] : a[i]) - *mean;
        squares += off * off;
    }
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : (double)NAN;
}

void hc_spread(const double *x, int n, double *mean, double *deviation)
{
    spread(x, (const double *)0, n, mean, deviation);
}

static enum hc_equivalence judge_difference(double low, double high, double margin)
{
    if (low > -margin && high < margin)
        return HC_EQUIVALENT;
    return low > margin || high < -margin ? HC_DIFFERENT : HC_UNDECIDED;
}

/* The error of the mean that stands for none at all, so that equal differences need no case of
   their own: their quotients become huge, or 0. */
static const double no_error = 1e-300;

/* Interval, p and verdict from mean, error and freedom. */
static void conclude_test(struct hc_difference *d, const struct hc_equivalence_question *q)
{
    double level = q->level > 0 ? q->level : 0.05;
    d->low = d->high = d->p = (double)NAN;
    d->verdict = HC_UNDECIDED;
    if (d->n < 2 || isnan(d->mean) || isnan(d->error)) {
        d->deviation = d->error = d->freedom = (double)NAN;
        return;
    }
    d->error = fmax(d->error, no_error);
    double reach = hc_t_quantile(1 - level, d->freedom) * d->error;
    d->low = d->mean - reach;
    d->high = d->mean + reach;
    d->p = fmax(hc_t_below(-(d->mean + q->margin) / d->error, d->freedom),
                hc_t_below((d->mean - q->margin) / d->error, d->freedom));
    d->verdict = judge_difference(d->low, d->high, q->margin);
}

struct hc_difference hc_paired(const double *a, const double *b, int n,
                               const struct hc_equivalence_question *q)
{
    struct hc_difference d = {.paired = true, .n = n, .freedom = n - 1};
    spread(a, b, n, &d.mean, &d.deviation);
    d.deviation = n < 2 ? d.deviation : fmax(d.deviation, q->grain / 2);
    d.error = d.deviation / sqrt(n);
    conclude_test(&d, q);
    return d;
}

/* Each mean has the variance v = s^2 / n, and their difference the sum of both. The freedom that
   makes its quotient nearly Student's is (va + vb)^2 / (va^2 / (na - 1) + vb^2 / (nb - 1)), which
   lies between the smaller of na - 1 and nb - 1 and their sum. */
struct hc_difference hc_welch(const double *a, int count_a, const double *b, int count_b,
                              const struct hc_equivalence_question *q)
{
    double mean_b;
    double sa;
    double sb;
    struct hc_difference d = {.n = count_a < count_b ? count_a : count_b};
    spread(a, (const double *)0, count_a, &d.mean, &sa);
    spread(b, (const double *)0, count_b, &mean_b, &sb);
    d.mean -= mean_b;
    if (d.n >= 2) {
        sa = fmax(sa, fmax(q->grain / 2, no_error));
        sb = fmax(sb, fmax(q->grain / 2, no_error));
    }
    double va = sa / sqrt(count_a);
    double vb = sb / sqrt(count_b);
    double most = fmax(va, vb); /* so that no square underflows */
    va = va / most * (va / most);
    vb = vb / most * (vb / most);
    d.deviation = hypot(sa, sb) / sqrt(2);
    d.error = most * sqrt(va + vb);
    d.freedom = (va + vb) * (va + vb) / (va * va / (count_a - 1) + vb * vb / (count_b - 1));
    conclude_test(&d, q);
    return d;
}
