#include "cli/statistics/power.h"

#include <math.h>

#include "cli/statistics/significance.h"

/* The integrand without the density: a probability given the measured deviation. */
struct given {
    double slope; /* of what the tests demand, in true errors */
    double low;   /* both in true errors */
    double high;
};

static double probability(const struct given *g, double w)
{
    double p = hc_normal_below(g->high - g->slope * w) - hc_normal_below(g->low + g->slope * w);
    return p > 0 ? p : 0;
}

/* The mean over W of the probability, W between 0 and `end`. The deviation of W is about
   1/sqrt(2 freedom). Ten of it from 1 the interval ends; what lies beyond has less than 1e-14 of
   all probability. In 1400 intervals the integrand, whose width is that of the density, has an
   error below 1e-9. */
static double mean(const struct given *g, double freedom, double end)
{
    enum { INTERVALS = 1400 };
    double reach = 10 / sqrt(2 * freedom);
    double from = fmax(0, 1 - reach);
    double to = fmin(end, 1 + reach);
    if (to <= from)
        return 0;
    double step = (to - from) / INTERVALS;
    double sum = 0;
    for (int i = 0; i <= INTERVALS; i++) {
        double w = from + i * step;
        double weight = i == 0 || i == INTERVALS ? 1 : i % 2 ? 4 : 2;
        sum += weight * hc_chi_density(w, freedom) * probability(g, w);
    }
    return sum * step / 3;
}

/* P(Z + shift <= t W), that is P(Z <= t W - shift). */
double hc_noncentral_t_below(double t, double freedom, double shift)
{
    const struct given g = {.slope = -t, .low = -(double)INFINITY, .high = -shift};
    return mean(&g, freedom, (double)INFINITY);
}

double hc_chi_below(double w, double freedom)
{
    const struct given all = {.low = -(double)INFINITY, .high = (double)INFINITY};
    return mean(&all, freedom, w);
}

/* The w with P(W <= w) = p. */
static double chi_quantile(double p, double freedom)
{
    double low = 0;
    double high = 1 + 10 / sqrt(2 * freedom);
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        if (hc_chi_below(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

void hc_deviation_range(double deviation, double freedom, double level, double range[2])
{
    range[0] = deviation / chi_quantile(1 - level, freedom);
    range[1] = deviation / chi_quantile(level, freedom);
}

double hc_equivalence_power(double shift, double margin, double error, double freedom, double level)
{
    double t = hc_t_quantile(1 - level, freedom);
    if (error <= 0)
        return fabs(shift) < margin ? 1 : 0;
    const struct given g = {
        .slope = t, .low = (-margin - shift) / error, .high = (margin - shift) / error};
    return mean(&g, freedom, margin / (t * error));
}

double hc_planned_power(const struct hc_plan_of_runs *plan, int n, double shift)
{
    double error = plan->deviation * sqrt((plan->paired ? 1.0 : 2.0) / n);
    double freedom = plan->paired ? n - 1 : 2.0 * (n - 1);
    return hc_equivalence_power(shift, plan->margin, error, freedom, plan->level);
}

/* Power grows with n: the error falls, and so does t. */
int hc_runs_needed(const struct hc_plan_of_runs *plan)
{
    int low = HC_MIN_PLANNED;
    int high = HC_MIN_PLANNED;
    while (high < HC_MAX_PLANNED && hc_planned_power(plan, high, 0) < plan->power) {
        low = high;
        high = 2 * high < HC_MAX_PLANNED ? 2 * high : HC_MAX_PLANNED;
    }
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (hc_planned_power(plan, middle, 0) < plan->power)
            low = middle;
        else
            high = middle;
    }
    return high;
}
