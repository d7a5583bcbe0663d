/* The field's algorithms for moments and sums, in any arithmetic: what GPU kernels and libraries
   use, and wrong ones that are near to them. Each operation is rounded (rounded_in). */
#ifndef HC_CHECK_BOUND_TESTING_FIELD_H
#define HC_CHECK_BOUND_TESTING_FIELD_H

#include <math.h>
#include <stdbool.h>

#include "num/format.h"
#include "num/rng.h"
#include "num/ulp.h"

/* Each thread has its own, since cases that run at once use several arithmetics. */
static _Thread_local enum hc_format rounded_in = HC_FP32;

static inline double f(double x)
{
    return rounded_in == HC_FP64   ? x
           : rounded_in == HC_FP32 ? (double)(float)x
                                   : hc_round(rounded_in, x);
}

static inline double f_fused(double x, double y, double z)
{
    if (rounded_in == HC_FP32)
        return (double)fmaf((float)x, (float)y, (float)z);
    return f(fma(x, y, z));
}

/* Sums of terms[0] to terms[n - 1]. */
typedef double summation(const double *terms, int n);

static inline double in_sequence(const double *terms, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum = f(sum + terms[i]);
    return sum;
}

static inline double backwards(const double *terms, int n)
{
    double sum = 0;
    for (int i = n - 1; i >= 0; i--)
        sum = f(sum + terms[i]);
    return sum;
}

static inline double in_pairs(const double *terms, int n)
{
    if (n == 1)
        return terms[0];
    return f(in_pairs(terms, n / 2) + in_pairs(terms + n / 2, n - n / 2));
}

/* Blocks, each summed in sequence, as split K has them. */
static inline double in_blocks(const double *terms, int n)
{
    double sums[4] = {0};
    int block = (n + 3) / 4;
    for (int i = 0; i < n; i++)
        sums[i / block] = f(sums[i / block] + terms[i]);
    return in_pairs(sums, 4);
}

/* Vector lanes, which are added up one by one. */
static inline double in_lanes(const double *terms, int n)
{
    double sums[8] = {0};
    for (int i = 0; i < n; i++)
        sums[i % 8] = f(sums[i % 8] + terms[i]);
    return in_sequence(sums, 8);
}

/* Atomics: the terms come in an order that nobody states. */
static inline double by_chance(const double *terms, int n)
{
    double sum = 0;
    int step = n % 97 ? 97 : 101;
    for (int i = 0, at = 0; i < n; i++, at = (at + step) % n)
        sum = f(sum + terms[at]);
    return sum;
}

struct part {
    double n, mean, m2;
};

typedef struct part moments_fn(const double *x, int n);

static inline struct part from_mean(const double *x, int n, double mean, summation *sum)
{
    double squares[2048];
    for (int i = 0; i < n; i++)
        squares[i] = f(f(x[i] - mean) * f(x[i] - mean));
    return (struct part){n, mean, sum(squares, n)};
}

static inline struct part two_passes_in_sequence(const double *x, int n)
{
    return from_mean(x, n, f(in_sequence(x, n) / n), in_sequence);
}

static inline struct part two_passes_in_pairs(const double *x, int n)
{
    return from_mean(x, n, f(in_pairs(x, n) / n), in_pairs);
}

static inline struct part two_passes_by_reciprocal(const double *x, int n)
{
    return from_mean(x, n, f(in_lanes(x, n) * f(1.0 / n)), in_lanes);
}

static inline struct part step_of_welford(struct part a, double x, bool fuses)
{
    double n = a.n + 1;
    double delta = f(x - a.mean);
    double mean = fuses ? f_fused(delta, f(1 / n), a.mean) : f(a.mean + f(delta / n));
    double after = f(x - mean);
    double m2 = fuses ? f_fused(delta, after, a.m2) : f(a.m2 + f(delta * after));
    return (struct part){n, mean, m2};
}

static inline struct part welford_in_sequence(const double *x, int n)
{
    struct part m = {0};
    for (int i = 0; i < n; i++)
        m = step_of_welford(m, x[i], false);
    return m;
}

static inline struct part welford_fused(const double *x, int n)
{
    struct part m = {0};
    for (int i = 0; i < n; i++)
        m = step_of_welford(m, x[i], true);
    return m;
}

static inline struct part combined_by_chan(struct part a, struct part b)
{
    double delta = f(b.mean - a.mean);
    double share = f(b.n / (a.n + b.n));
    double between = f(f(delta * delta) * f(a.n * share));
    return (struct part){a.n + b.n, f(a.mean + f(delta * share)), f(f(a.m2 + b.m2) + between)};
}

/* The mean as the weighted one: PyTorch's warps do so (Normalization.cuh). */
static inline struct part combined_by_weight(struct part a, struct part b)
{
    double factor = f(1 / (a.n + b.n));
    double delta = f(a.mean - b.mean);
    double between = f(f(f(f(delta * delta) * a.n) * b.n) * factor);
    double mean = f(f(f(a.n * factor) * a.mean) + f(f(b.n * factor) * b.mean));
    return (struct part){a.n + b.n, mean, f(a.m2 + f(b.m2 + between))};
}

static inline struct part chan_in_pairs(const double *x, int n)
{
    if (n == 1)
        return (struct part){1, x[0], 0};
    return combined_by_chan(chan_in_pairs(x, n / 2), chan_in_pairs(x + n / 2, n - n / 2));
}

static inline struct part weighted_in_sequence(const double *x, int n)
{
    struct part m = {1, x[0], 0};
    for (int i = 1; i < n; i++)
        m = combined_by_weight(m, (struct part){1, x[i], 0});
    return m;
}

/* Welford in each of four threads, then their warp. */
static inline struct part welford_in_threads(const double *x, int n)
{
    struct part thread[4] = {{0}};
    struct part all = {0};
    for (int i = 0; i < n; i++)
        thread[i % 4] = step_of_welford(thread[i % 4], x[i], false);
    for (int t = 0; t < 4; t++)
        if (thread[t].n > 0)
            all = all.n > 0 ? combined_by_weight(all, thread[t]) : thread[t];
    return all;
}

/* Blocks in two passes, combined by Chan. */
static inline struct part two_passes_in_parts(const double *x, int n)
{
    struct part all = {0};
    for (int first = 0; first < n; first += 8) {
        int own = n - first < 8 ? n - first : 8;
        struct part part = two_passes_in_sequence(x + first, own);
        all = first ? combined_by_chan(all, part) : part;
    }
    return all;
}

/* Sums in one pass; each element is shifted by `shift`. */
static inline struct part one_pass(const double *x, int n, double shift)
{
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < n; i++) {
        double d = f(x[i] - shift);
        sum = f(sum + d);
        squares = f(squares + f(d * d));
    }
    double m2 = f(squares - f(f(sum * sum) / n));
    return (struct part){n, f(shift + f(sum / n)), fmax(m2, 0)};
}

static inline struct part one_pass_shifted(const double *x, int n)
{
    return one_pass(x, n, x[0]);
}

/* E[x^2] - E[x]^2: wrong where the mean is large beside the deviation. */
static inline struct part one_pass_unshifted(const double *x, int n)
{
    return one_pass(x, n, 0);
}

static inline struct part in_format(const double *x, int n, enum hc_format format, moments_fn *how)
{
    enum hc_format before = rounded_in;
    rounded_in = format;
    struct part m = how(x, n);
    rounded_in = before;
    return m;
}

/* Wrong: the accumulators are bf16, or fp16. */
static inline struct part welford_in_bf16(const double *x, int n)
{
    return in_format(x, n, HC_BF16, welford_in_sequence);
}

static inline struct part two_passes_in_fp16(const double *x, int n)
{
    return in_format(x, n, HC_FP16, two_passes_in_sequence);
}

/* Wrong: the recurrence squares the difference from the old mean. */
static inline struct part welford_of_old_means(const double *x, int n)
{
    struct part m = {0};
    for (int i = 0; i < n; i++) {
        double delta = f(x[i] - m.mean);
        m = (struct part){m.n + 1, f(m.mean + f(delta / (m.n + 1))), f(m.m2 + f(delta * delta))};
    }
    return m;
}

/* Wrong: what lies between the parts' means is left out. */
static inline struct part parts_without_between(const double *x, int n)
{
    struct part all = two_passes_in_parts(x, n);
    all.m2 = 0;
    for (int first = 0; first < n; first += 8)
        all.m2 = f(all.m2 + two_passes_in_sequence(x + first, n - first < 8 ? n - first : 8).m2);
    return all;
}

#endif
