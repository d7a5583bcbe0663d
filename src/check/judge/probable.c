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
   parts have less in sums of one sign. What a product has around its sum counts, too: alpha
   multiplies the sum or each term, beta C is rounded, and C is added last or is the first term.
   Twice the root of V is what an error is measured by, for what else an order may do: the chance
   stated is for any order whose V is at most four times this. */
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

static double in_any_order(const double *term, int64_t n)
{
    return fmax(fmax(in_order(term, n), in_lanes(term, n)), in_all_orders(term, n));
}

/* An element that is alpha times a sum, plus c. */
struct affine {
    double alpha;
    double c;
    bool adds;
    bool scales_c;
};

static struct affine affine_of(const struct hc_element *e)
{
    const struct hc_gemm *p = &e->call->params.gemm;
    const struct hc_tensor *c = &e->call->in[HC_GEMM_C];
    if (e->call->op != HC_OP_gemm)
        return (struct affine){.alpha = 1};
    double beta = hc_single(p->beta, p->as_given);
    struct affine around = {.alpha = hc_single(p->alpha, p->as_given), .adds = beta != 0};
    if (around.adds) {
        int64_t columns = e->call->out[HC_GEMM_OUT].shape[1];
        around.c = beta * hc_tensor_get(c, c->rank == 1 ? e->index % columns : e->index);
        around.scales_c = beta != 1;
    }
    return around;
}

/* The mean of a window errs by 1 / 9 in fp32, too, which is the same error in each element. */
static bool is_modelled(const struct hc_call *call)
{
    return call->op != HC_OP_avg_pool && call->op != HC_OP_sum_squares;
}

/* The squares of all that is rounded: term[0] is c, and n terms come after it, of which each is a
   rounded product or none is. The sum has c as its first term, or c is added to it. alpha
   multiplies the sum, or one factor of each term. */
static double rounded_squares(const struct affine *around, double *term, int64_t n, bool products)
{
    double each = 0;
    double sum = 0;
    for (int64_t i = 1; i <= n; i++) {
        term[i] *= around->alpha;
        each += term[i] * term[i];
        sum += term[i];
    }
    double squares = in_any_order(term + 1, n);
    if (around->adds) {
        double whole = sum + term[0];
        squares = fmax(squares + whole * whole, in_any_order(term, n + 1));
    }
    squares += products ? each : 0;
    squares += around->alpha != 1 ? fmax(sum * sum, each) : 0;
    return squares + (around->scales_c ? term[0] * term[0] : 0);
}

double hc_judge_deviation(const struct hc_element *e, const struct hc_accumulator *accumulator,
                          const struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct affine around = affine_of(e);
    enum hc_format work = hc_call_fp64(call) ? HC_FP64 : HC_FP32;
    enum hc_format in = call->in[HC_FIRST].format;
    enum hc_format out = call->out[e->out].format;
    double u = hc_format_unit(work);
    int64_t length = (int64_t)hc_call_length(call);
    if (!is_modelled(call) || around.alpha == 0 || length < 2 ||
        !isfinite(hc_line(call, accumulator, e->out, want)))
        return 0;
    double *term = malloc((size_t)(length + 1) * sizeof *term);
    if (!term)
        return 0; /* without it nothing is said */
    term[0] = around.c;
    int64_t n = hc_judge_terms(e, term + 1, length);
    bool products = call->op != HC_OP_sum && (in == HC_FP32 || in == HC_FP64);
    double squares = rounded_squares(&around, term, n, products);
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
