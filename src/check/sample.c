#include "check/sample.h"

#include <math.h>
#include <stdlib.h>

#include "check/family/family.h"
#include "num/bits.h"
#include "num/rng.h"

/* The cost of a term, in multiplications, decides only how many elements are looked at. */
int64_t hc_sample_size(const struct hc_claim *claim, int64_t count)
{
    static const double budget[] = {
        [HC_QUICK] = 0x1p12, [HC_STANDARD] = 0x1p13, [HC_EXHAUSTIVE] = 0x1p18};
    static const int64_t most[] = {[HC_QUICK] = 128, [HC_STANDARD] = 4096, [HC_EXHAUSTIVE] = 8192};
    enum { LEAST = 32 };
    enum hc_level level = claim->check->level;
    double cost = hc_family(claim->call.op)->sample_cost;
    double affordable = budget[level] / fmax(fmax(cost, 1) * claim->length, 1);
    int64_t n = affordable < LEAST ? LEAST : (int64_t)affordable;
    n = n < most[level] ? n : most[level];
    return n < count ? n : count;
}

/* 2^emin, which is normal in fp64. */
static double least_normal(enum hc_format format)
{
    return hc_fp64_value((uint64_t)(hc_formats[format].emin + 1023) << 52);
}

static bool special(enum hc_format format, double x)
{
    return !isfinite(x) || (x == 0 && signbit(x)) || (x != 0 && fabs(x) < least_normal(format));
}

bool hc_sample_special(const struct hc_claim *claim, int out, int64_t i)
{
    const struct hc_call *call = claim->has_exact ? &claim->exact : &claim->call;
    const struct hc_tensor *y = &call->out[out];
    enum hc_op_class class_ = hc_ops[call->op].class_;
    if (special(y->format, hc_tensor_get(y, i)))
        return true;
    if (class_ != HC_CLASS_ELEMENTWISE && class_ != HC_CLASS_OPTIMIZER &&
        class_ != HC_CLASS_BATCH_NORM && call->op != HC_OP_xent_bwd)
        return false;
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++) {
        const struct hc_tensor *x = &call->in[slot];
        bool narrower = hc_formats[x->format].emin < hc_formats[y->format].emin;
        if (x->data && hc_tensor_count(x) == hc_tensor_count(y) &&
            special(narrower ? y->format : x->format, hc_tensor_get(x, i)))
            return true;
    }
    return false;
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Special elements, from a random place on and around the end. */
static int64_t add_special(const struct hc_claim *claim, int out, uint64_t seed, int64_t most,
                           int64_t *index)
{
    int64_t count = hc_tensor_count(&claim->call.out[out]);
    int64_t start = (int64_t)(hc_random(seed, 20 + (uint64_t)out, 0) % (uint64_t)count);
    int64_t n = 0;
    for (int64_t k = 0; k < count && n < most; k++)
        if (hc_sample_special(claim, out, (start + k) % count))
            index[n++] = (start + k) % count;
    return n;
}

int64_t hc_sample(const struct hc_claim *claim, int out, int64_t n, int64_t *index)
{
    int64_t count = hc_tensor_count(&claim->call.out[out]);
    uint64_t seed = hc_case_seed(claim->check);
    for (int64_t i = 0; i < n && n == count; i++)
        index[i] = i;
    if (n == count || n < 4)
        return n == count ? n : 0;
    int64_t have = add_special(claim, out, seed, n / 4, index);
    index[have++] = 0;
    index[have++] = count - 1;
    double stretch = (double)count / (double)(n - have);
    for (int64_t k = 0, left = n - have; k < left; k++) {
        double at = ((double)k + hc_random_uniform(seed, (uint64_t)out, (uint64_t)k)) * stretch;
        index[have++] = at < (double)count ? (int64_t)at : count - 1;
    }
    qsort(index, (size_t)have, sizeof *index, by_number);
    int64_t different = 0;
    for (int64_t k = 0; k < have; k++)
        if (k == 0 || index[k] != index[k - 1])
            index[different++] = index[k];
    return different;
}
