#include "train/drift/drift_average.h"

#include <math.h>

#include "train/drift/drift_sources.h"
#include "train/parallel/wrapper.h"

/* What one element of the average may be off by: `relative` times the mean of its contributions
   without their signs, and `absolute` as well, for what underflows. */
struct bound {
    double relative;
    double absolute;
};

/* S contributions g are summed in a format of unit roundoff u and least subnormal e. Each number
   passes these roundings of at most u:

     into the sum's format                                             1
     divided before: the divisor and its reciprocal into fp32, the
     quotient into fp32, and into the sum's format                     4
     added: S - 1 times at most, in whatever order                     S - 1
     divided after                                                     4

   and the baseline's own roundings in fp64, of which there are as many, are less than one more. So
   relative is (1 + u)^(S + 9) - 1. Sums do not underflow: what is below the normal numbers is added
   without an error. What is rounded into the format is off by e / 2 at most, and a quotient, which
   is rounded twice, by e. S contributions bring S (e / (2 before) + e) / after, the last division
   e; roundings behind them enlarge this by 1 + relative at most. */
static struct bound of_elements(const struct hc_all_reduce *how, int shards)
{
    const struct hc_format_info *f = &hc_formats[how->sum];
    double u = ldexp(1, -f->precision);
    double e = ldexp(1, f->emin - f->precision + 1);
    double relative = expm1((shards + 9) * log1p(u));
    double absolute = shards * (1 / (2 * how->before) + 1) / how->after + 1;
    return (struct bound){relative, absolute * e * (1 + relative)};
}

static struct bound larger(struct bound a, struct bound b)
{
    return (struct bound){fmax(a.relative, b.relative), fmax(a.absolute, b.absolute)};
}

/* Norm parameters and the others may be summed in two formats: the larger bound is taken. The norm
   of a step's difference is at most relative |mean of |g|| + absolute sqrt(n) / scale. Divided by
   the norm of the gradient that is a number for each step; of any steps together, the root of a sum
   of squares by another, no more than the largest. */
double hc_average_bound(const struct hc_drift_baseline *base, const struct hc_recipe *recipe,
                        const float *scale)
{
    struct hc_rounding of = hc_rounding_of(recipe);
    struct hc_wrapper wrapper = hc_wrapper_of(recipe);
    int shards = base->run.shards;
    struct bound bound = {0};
    double most = 0;
    if (shards == 1 || of.format[HC_SOURCE_REDUCTION][0] == HC_FP64)
        return (double)NAN;
    for (int norm = 0; norm < 2; norm++) {
        struct hc_all_reduce how =
            hc_wrapper_all_reduce(&wrapper, of.average.held[norm], shards, recipe->sum_loss);
        bound = larger(bound, of_elements(&how, shards));
    }
    for (int step = 0; step < base->options->steps; step++) {
        int exponent;
        if (frexpf(scale[step], &exponent) != 0.5F)
            return (double)NAN;
        double under = bound.absolute * sqrt((double)base->weights) / (double)scale[step];
        most = fmax(most, bound.relative * base->size[step] + under / base->norm[step]);
    }
    return most;
}
