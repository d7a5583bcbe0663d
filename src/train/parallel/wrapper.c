#include "train/parallel/wrapper.h"

#include <math.h>

const char *const hc_algorithm_names[] = {"wrapper", "tree", "ring", "halving", "library", NULL};
const char *const hc_reduce_names[] = {"wrapper", "gradient", "fp32", "bf16", "fp16", NULL};

_Static_assert(sizeof hc_algorithm_names / sizeof hc_algorithm_names[0] == HC_COLLECTIVE_COUNT + 2,
               "one name for each algorithm");
_Static_assert(sizeof hc_reduce_names / sizeof hc_reduce_names[0] == HC_REDUCE_CHOICES + 1,
               "one name for each choice");

static const struct hc_wrapper *row_of(const struct hc_recipe *r)
{
    int n;
    const struct hc_wrapper *rows = hc_wrappers(&n);
    return r->wrapper >= 0 && r->wrapper < n ? &rows[r->wrapper] : NULL;
}

static bool has_size(const struct hc_wrapper *w)
{
    return w->bucketing == HC_BUCKET_AT_LEAST || w->bucketing == HC_BUCKET_AT_MOST;
}

struct hc_wrapper hc_wrapper_of(const struct hc_recipe *r)
{
    struct hc_wrapper w = *row_of(r);
    if (r->algorithm != HC_ALGORITHM_OF_WRAPPER)
        w.algorithm = (enum hc_collective)(r->algorithm - 1);
    if (r->reduce != HC_REDUCE_OF_WRAPPER)
        w.reduce = (enum hc_reduce_choice)r->reduce;
    if (r->predivide != 0)
        w.predivide = r->predivide;
    if (r->bucket != 0)
        w.first_bucket = w.bucket = r->bucket;
    return w;
}

/* Whether fp32 can divide by it and multiply by its reciprocal. */
static bool divides(double divisor)
{
    float d = (float)divisor;
    return d > 0 && isfinite(d) && isfinite(1 / d);
}

/* What is left to divide by afterwards is n / p; there are 2^30 shards at most. */
static bool splits(double p)
{
    return divides(p) && divides(1 / p) && divides(0x1p30 / p);
}

static const char *wrong_numbers(const struct hc_recipe *r)
{
    if (r->algorithm < 0 || r->algorithm > HC_COLLECTIVE_COUNT)
        return "there is no such algorithm of an all-reduce";
    if (r->reduce < 0 || r->reduce >= HC_REDUCE_CHOICES)
        return "there is no such format to reduce in";
    if (r->predivide != 0 && !splits(r->predivide))
        return "predivide is so small or so large that fp32 cannot divide by it and by the rest";
    if (r->bucket < 0)
        return "the size of a bucket is below 1";
    return NULL;
}

const char *hc_wrapper_wrong(const struct hc_recipe *r)
{
    const struct hc_wrapper *w = row_of(r);
    const char *why = w ? wrong_numbers(r) : "there is no such wrapper";
    if (why)
        return why;
    if (r->reduce != HC_REDUCE_OF_WRAPPER && !(w->reduces & 1U << r->reduce))
        return "its wrapper has no option to reduce in that format";
    if (r->reduce > HC_REDUCE_GRADIENT && r->model == HC_FP64)
        return "fp64 is reduced in fp64";
    if (r->predivide != 0 && !w->predivides)
        return "its wrapper has no predivide factor";
    if (r->bucket != 0 && !has_size(w))
        return "its wrapper has no buckets of a size";
    if (r->sum_loss && r->predivide != 0)
        return "a loss that is a sum is not averaged, so there is nothing to divide before";
    if (r->sum_loss && !w->sums)
        return "a loss that is a sum is not averaged, and its wrapper always averages";
    return NULL;
}

enum hc_format hc_wrapper_held(const struct hc_recipe *recipe, enum hc_format format)
{
    bool rounded_copy = recipe->masters == HC_MASTERS_FROM_FP32;
    return rounded_copy && !row_of(recipe)->copies ? HC_FP32 : format;
}

/* torch's rule. The factor need not divide n, nor the rest be a whole number. */
static double root_of(int n)
{
    double factor = 1;
    while (fmod(n, factor) == 0 && n / factor > factor)
        factor *= 2;
    return factor;
}

static enum hc_format sum_of(const struct hc_wrapper *w, enum hc_format held)
{
    static const enum hc_format formats[HC_REDUCE_CHOICES] = {
        [HC_REDUCE_FP32] = HC_FP32, [HC_REDUCE_BF16] = HC_BF16, [HC_REDUCE_FP16] = HC_FP16};
    return held == HC_FP64 || w->reduce == HC_REDUCE_GRADIENT ? held : formats[w->reduce];
}

/* What each contribution is divided by. */
static double before_of(const struct hc_wrapper *w, enum hc_format sum, int parts)
{
    if (w->division == HC_DIVIDE_SPLIT)
        return w->predivide;
    if (w->division == HC_DIVIDE_ROOT || (w->division == HC_DIVIDE_ROOT_OF_FP16 && sum == HC_FP16))
        return root_of(parts);
    return parts;
}

struct hc_all_reduce hc_wrapper_all_reduce(const struct hc_wrapper *w, enum hc_format held,
                                           int parts, bool sums)
{
    enum hc_format sum = sum_of(w, held);
    double before = sums ? 1 : before_of(w, sum, parts);
    return (struct hc_all_reduce){.algorithm = w->algorithm,
                                  .sum = sum,
                                  .before = before,
                                  .after = sums ? 1 : parts / before,
                                  .multiplies = w->multiplies};
}
