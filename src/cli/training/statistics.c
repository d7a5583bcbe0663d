#include "cli/training/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

static const double pi = 3.141592653589793;

/* P(|T| <= t), t >= 0, with the angle atan(t / sqrt(freedom)). */
static double within(double t, int freedom)
{
    double angle = atan(t / sqrt(freedom));
    double cosine = cos(angle);
    bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1;
    double sum = 0;
    for (int k = odd ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= cosine * cosine * (k - 1) / k;
    }
    return odd ? 2 / pi * (angle + sin(angle) * sum) : sin(angle) * sum;
}

double hc_t_below(double t, int freedom)
{
    assert(freedom >= 1);
    return t < 0 ? 0.5 - within(-t, freedom) / 2 : 0.5 + within(t, freedom) / 2;
}

double hc_t_quantile(double p, int freedom)
{
    assert(p >= 0.5 && p < 1);
    double low = 0;
    double high = 1;
    while (hc_t_below(high, freedom) < p)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (hc_t_below(middle, freedom) < p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static enum hc_equivalence judge(double low, double high, double margin)
{
    if (low > -margin && high < margin)
        return HC_EQUIVALENT;
    return low > margin || high < -margin ? HC_DIFFERENT : HC_UNDECIDED;
}

/* The error of the mean that stands for none at all, so that equal differences need no case of
   their own: their quotients become huge, or 0. */
static const double no_error = 1e-300;

struct hc_paired hc_paired(const double *a, const double *b, int n, double margin)
{
    struct hc_paired result = {.n = n,
                               .mean = NAN,
                               .deviation = NAN,
                               .low = NAN,
                               .high = NAN,
                               .p = NAN,
                               .verdict = HC_UNDECIDED};
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] - b[i];
    if (n >= 1)
        result.mean = sum / n;
    if (n < 2 || isnan(result.mean))
        return result;
    for (int i = 0; i < n; i++)
        squares += (a[i] - b[i] - result.mean) * (a[i] - b[i] - result.mean);
    result.deviation = sqrt(squares / (n - 1));
    double error = fmax(result.deviation / sqrt(n), no_error);
    double reach = hc_t_quantile(0.95, n - 1) * error;
    result.low = result.mean - reach;
    result.high = result.mean + reach;
    result.p = fmax(hc_t_below(-(result.mean + margin) / error, n - 1),
                    hc_t_below((result.mean - margin) / error, n - 1));
    result.verdict = judge(result.low, result.high, margin);
    return result;
}

int hc_pairs_needed(double deviation, double margin)
{
    const double z = 1.6448536269514722 + 1.2815515655446004;
    return (int)fmax(2, ceil(z * z * deviation * deviation / (margin * margin)));
}
