/* Which elements of a large output MPFR judges. */
#include <math.h>
#include <stdlib.h>

#include "check/judge/judge.h"
#include "num/ulp.h"

struct candidate {
    double far;
    int64_t index;
};

/* The farthest first, and of equals the first. */
static int by_distance(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    if (x->far != y->far)
        return x->far < y->far ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* How far got is from exact, absolutely or in ulp. NaN against a number is infinitely far. */
static double distance(const struct hc_tensor *got, const struct hc_tensor *exact, int64_t i,
                       bool ulps)
{
    uint64_t one = hc_tensor_bits(got, i);
    uint64_t other = hc_tensor_bits(exact, i);
    if (one == other)
        return 0;
    if (ulps)
        return (double)hc_ulp_distance(got->format, other, one);
    double far = fabs(hc_tensor_get(got, i) - hc_tensor_get(exact, i));
    return isnan(far) ? (double)INFINITY : far;
}

int64_t hc_judge_choose(const struct hc_judge *judge, int out, int64_t n, int64_t *index)
{
    const struct hc_tensor *got = &judge->call->out[out];
    const struct hc_tensor *exact = &judge->exact.out[out];
    int64_t elements = hc_tensor_count(got);
    int64_t chosen = 0;
    int64_t third = judge->has_exact ? n / 3 : 0;
    struct candidate *all = malloc((size_t)elements * sizeof *all);
    if (!all)
        return -1;
    for (int ulps = 0; ulps < 2 && third > 0; ulps++) {
        for (int64_t i = 0; i < elements; i++)
            all[i] = (struct candidate){distance(got, exact, i, ulps), i};
        qsort(all, (size_t)elements, sizeof *all, by_distance);
        for (int64_t k = 0; k < third; k++)
            index[chosen++] = all[k].index;
    }
    free(all);
    int64_t rest = n - chosen;
    for (int64_t k = 0; k < rest; k++)
        index[chosen++] = (int64_t)((double)k * (double)elements / (double)rest);
    qsort(index, (size_t)chosen, sizeof *index, by_index);
    int64_t different = 0;
    for (int64_t k = 0; k < chosen; k++)
        if (k == 0 || index[k] != index[k - 1])
            index[different++] = index[k];
    return different;
}
