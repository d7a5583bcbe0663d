/* The probable verdict on sums: what independent roundings come to.

   A bound holds for all roundings at their worst, so that in long sums a kernel may lose bits and
   keep it: a dot product of 1024 terms that takes its factors as tf32 is inside. Suppose that each
   rounding of a partial sum s is an independent number, uniform in +-u |s|. Such a number is
   strictly sub-Gaussian with variance u^2 s^2 / 3 at most (Arbel, Marchal and Nguyen, On strict
   sub-Gaussianity, ESAIM: Probability and Statistics 24, 2020), and so is their sum with variance
     V = u^2 / 3 times the sum of s^2 over all roundings.
   Hence for one element P(|error| > x sqrt(V)) <= 2 exp(-x^2 / 2); for m independent ones the mean
   Q of error^2 / V is above q > 1 with a chance of (q exp(1 - q))^(m / 2) at most (Chernoff), and
   among N elements some |error| / sqrt(V) is above x with 2 N exp(-x^2 / 2) at most.

   V depends on the order. It is taken as the largest of three: from the first term to the last, in
   16 lanes, and on average over all orders (s of k terms then has the mean square
   k (n - k) / (n - 1) v + k^2 m^2, m and v being the terms' mean and variance). Trees, blocks and
   parts have less in sums of one sign. Twice its root is what an error is measured by, for what
   else an order may do: the chance stated is for any order whose V is at most four times this. */
#include <math.h>
#include <stdlib.h>

#include "check/bound/line.h"
#include "check/judge/judge.h"
#include "num/ulp.h"

enum { LANES = 16, MARGIN = 4 };

static double in_order(const double *term, int64_t n)
{
    double squares = 0;
    double sum = n > 0 ? term[0] : 0;
    for (int64_t i = 1; i < n; i++) {
        sum += term[i];
        squares += sum * sum;
    }
    return squares;
}

static double in_lanes(const double *term, int64_t n)
{
    double lane[LANES] = {0};
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        lane[i % LANES] += term[i];
        squares += i < LANES ? 0 : lane[i % LANES] * lane[i % LANES];
    }
    return squares + in_order(lane, LANES);
}

static double in_all_orders(const double *term, int64_t n)
{
    double mean = 0;
    double variance = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; i++)
        mean += term[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        variance += (term[i] - mean) * (term[i] - mean) / (double)n;
    for (int64_t i = 2; i <= n; i++) {
        double k = (double)i;
        squares += k * (double)(n - i) / (double)(n - 1) * variance + k * k * mean * mean;
    }
    return squares;
}

/* A plain sum of products: nothing scales it, and nothing is added to it. */
static bool is_plain(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    return call->op != HC_OP_avg_pool && call->op != HC_OP_sum_squares &&
           (call->op != HC_OP_gemm || (p->alpha == 1 && p->beta == 0));
}

double hc_judge_deviation(const struct hc_element *e, const struct hc_accumulator *accumulator,
                          const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    enum hc_format work = hc_call_fp64(call) ? HC_FP64 : HC_FP32;
    enum hc_format in = call->in[HC_FIRST].format;
    enum hc_format out = call->out[e->out].format;
    double u = hc_format_unit(work);
    int64_t length = (int64_t)hc_call_length(call);
    if (!is_plain(call) || length < 2 || !isfinite(hc_line(call, accumulator, e->out, want)))
        return 0;
    double *term = malloc((size_t)length * sizeof *term);
    if (!term)
        return 0; /* without it nothing is said */
    int64_t n = hc_judge_terms(e, term, length);
    double squares = fmax(fmax(in_order(term, n), in_lanes(term, n)), in_all_orders(term, n));
    bool rounded = call->op != HC_OP_sum && (in == HC_FP32 || in == HC_FP64);
    for (int64_t i = 0; i < n && rounded; i++)
        squares += term[i] * term[i];
    free(term);
    double last = out == work ? 0 : hc_half_ulp(out, want->hi);
    double variance = (u * u * squares + last * last) / 3;
    return isfinite(variance) ? sqrt(MARGIN * variance) : 0;
}

void hc_probable_add(struct hc_probable *probable, double error, double deviation)
{
    double x = deviation > 0 ? error / deviation : 0;
    if (!(deviation > 0) || !isfinite(x))
        return;
    probable->elements++;
    probable->squares += x * x;
    probable->most = fmax(probable->most, x);
}

/* The q above 1 where (q exp(1 - q))^(m / 2) is the chance. */
static double limit_of_mean(double m, double chance)
{
    double low = 1;
    double high = 2 + 4 * log(1 / chance) / m;
    for (int i = 0; i < 80; i++) {
        double q = (low + high) / 2;
        if (m / 2 * (log(q) + 1 - q) > log(chance))
            low = q;
        else
            high = q;
    }
    return high;
}

/* Each of the two limits has half of the chance. Where only the elements that differ most were
   judged, their mean says nothing. */
double hc_probable_excess(const struct hc_probable *probable, int64_t elements)
{
    double m = (double)probable->elements;
    double chance = HC_PROBABLE_CHANCE / 2;
    if (probable->elements == 0)
        return 0;
    double most = probable->most / sqrt(2 * log(2 * (double)elements / chance));
    double mean = sqrt(probable->squares / m / limit_of_mean(m, chance));
    return probable->elements == elements ? fmax(most, mean) : most;
}

double hc_judged_excess(const struct hc_judged_output *output)
{
    double usual = hc_probable_excess(&output->usual, output->elements);
    return usual > 1 ? 0 : hc_probable_excess(&output->probable, output->elements);
}
