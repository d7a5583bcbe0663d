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

/* How far got is from exact, absolutely or in ulp. NaN against a number is infinitely far, and NaN
   is NaN whatever its sign and payload: on x86 a product of infinity and 0 is a negative one. */
static double distance(const struct hc_tensor *got, const struct hc_tensor *exact, int64_t i,
                       bool ulps)
{
    uint64_t one = hc_tensor_bits(got, i);
    uint64_t other = hc_tensor_bits(exact, i);
    if (one == other)
        return 0;
    if (ulps)
        return (double)hc_ulp_distance(got->format, other, one);
    double a = hc_tensor_get(got, i);
    double b = hc_tensor_get(exact, i);
    if (isnan(a) && isnan(b))
        return 0;
    return isnan(a - b) ? (double)INFINITY : fabs(a - b);
}

/* The candidates so far: room for twice as many as are wanted. Whenever it is full, the nearer half
   goes, and from then on what is nearer than the rest is not looked at. */
struct farthest {
    struct candidate *all;
    int64_t count;
    int64_t wanted;
    double least;
};

static void halve(struct farthest *f)
{
    qsort(f->all, (size_t)f->count, sizeof *f->all, by_distance);
    if (f->count < f->wanted)
        return;
    f->count = f->wanted;
    f->least = f->all[f->wanted - 1].far;
}

/* Writes the indices of the elements that are farthest from exact; returns how many. */
static int64_t find_farthest(const struct hc_judge *judge, int out, bool ulps, struct farthest *f,
                             int64_t *index)
{
    const struct hc_tensor *got = &judge->call->out[out];
    const struct hc_tensor *exact = &judge->exact.out[out];
    int64_t elements = hc_tensor_count(got);
    f->count = 0;
    f->least = 0;
    for (int64_t i = 0; i < elements; i++) {
        double far = distance(got, exact, i, ulps);
        if (far <= f->least)
            continue;
        f->all[f->count++] = (struct candidate){far, i};
        if (f->count == 2 * f->wanted)
            halve(f);
    }
    halve(f);
    for (int64_t k = 0; k < f->count; k++)
        index[k] = f->all[k].index;
    return f->count;
}

int64_t hc_judge_choose(const struct hc_judge *judge, int out, int64_t n, int64_t *index)
{
    int64_t elements = hc_tensor_count(&judge->call->out[out]);
    int64_t chosen = 0;
    struct farthest f = {.wanted = judge->has_exact ? n / 3 : 0};
    f.all = f.wanted ? malloc(2 * (size_t)f.wanted * sizeof *f.all) : NULL;
    if (f.wanted && !f.all)
        return -1;
    for (int ulps = 0; ulps < 2 && f.wanted; ulps++)
        chosen += find_farthest(judge, out, ulps, &f, index + chosen);
    free(f.all);
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
