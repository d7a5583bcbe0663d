/* All elements of an output against those of the backend `exact`, for ops whose contract leaves the
   order of a sum open.

   Two results that are both right need not be equal: each lies within its own bound of the real
   value, so they lie within the sum of both bounds of each other. MPFR would be too slow for all
   elements of a large output. Instead the real value is replaced by what `exact` gave, and the sum
   of the terms' magnitudes, which bounds need, by what `exact` gives for the same call on the
   inputs' magnitudes, raised by what its own roundings may have lost. Where exact strayed by e, the
   real value may be larger than exact's by e; so got's bound is computed there.

   Elements with the same bits need no bound. The others are judged, the farthest first, and as many
   as the level affords. This cannot judge an overflow of one side alone: those elements are left to
   the sample that is compared with MPFR. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/compare.h"
#include "check/subnormals.h"
#include "check/run_call.h"

/* What the bounds of an output need. */
struct terms {
    bool sums;           /* the op sums terms, so that magnitudes are needed */
    bool any_special;    /* an input is infinite or NaN */
    bool cut;            /* a factor may become infinite as tf32 */
    struct hc_tensor of; /* the sums of magnitudes, in fp32 or fp64 */
};

static bool sums_terms(const struct hc_call *call)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    return class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV ||
           class_ == HC_CLASS_COLLECTIVE || call->op == HC_OP_avg_pool;
}

/* |x|, or 0 if x is not finite. Where x may be taken as tf32, it counts as 2^-126 or more unless it
   is 0: below that tf32's numbers get no denser. Nor does it count as less than `smallest`. */
static double magnitude_of(struct terms *terms, const struct hc_call *call, double smallest,
                           double x)
{
    terms->any_special |= !isfinite(x);
    if (!isfinite(x) || x == 0)
        return 0;
    if (!hc_call_tf32(call))
        return fabs(x) < smallest ? smallest : fabs(x);
    terms->cut |= fabs(x) >= 0x1p128 * (1 - 0x1p-12);
    return fmax(fabs(x), 0x1p-126);
}

static struct hc_tensor magnitudes_of(struct terms *terms, const struct hc_call *call, int slot,
                                      struct hc_claim *claim)
{
    struct hc_tensor t = call->in[slot];
    int64_t n = t.data ? hc_tensor_count(&t) : 0;
    double smallest = hc_raised_smallest(claim, slot);
    t.data = n ? hc_check_memory(claim->check, hc_tensor_bytes(&t)) : t.data;
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(&t, i,
                      magnitude_of(terms, call, smallest, hc_tensor_get(&call->in[slot], i)));
    return t;
}

/* Runs the call on magnitudes on `exact`, into fp32 or fp64. False if it cannot be run. */
static bool compute_terms(struct hc_claim *claim, int out, struct terms *terms)
{
    struct hc_check *check = claim->check;
    struct hc_call call = claim->call;
    *terms = (struct terms){.sums = sums_terms(&call)};
    for (int slot = 0; slot < hc_ops[call.op].inputs; slot++)
        call.in[slot] = magnitudes_of(terms, &claim->call, slot, claim);
    if (!terms->sums)
        return true;
    call.out[out].format = hc_call_fp64(&call) ? HC_FP64 : HC_FP32;
    call.out[out].data = hc_check_memory(check, hc_tensor_bytes(&call.out[out]));
    if (call.op == HC_OP_gemm) {
        call.params.gemm.alpha = fabs(call.params.gemm.alpha);
        call.params.gemm.beta = fabs(call.params.gemm.beta);
        call.params.gemm.half_accumulator = false;
    }
    if (call.op == HC_OP_all_reduce)
        call.params.all_reduce.sum = call.out[out].format;
    terms->of = call.out[out];
    return hc_do_on_exact(check, &call) == HC_OK;
}

/* The bound on one backend's result where the real one lies at `value`, or up to `far` beyond
   it. */
static double bound_of(const struct hc_claim *claim, const struct hc_backend *backend, int out,
                       int64_t i, double value, double far, const struct terms *terms)
{
    struct hc_exact want = {.hi = value + copysign(far, value)};
    want.magnitude = fabs(want.hi);
    if (terms->sums) /* which exact added up with rounding */
        want.magnitude = hc_tensor_get(&terms->of, i) * (1 + claim->length * 0x1p-23 + 0x1p-9);
    struct hc_element e = {&claim->call, out, i};
    bool subject = backend == claim->check->backend;
    const struct hc_accumulator *sums = subject ? &claim->sums : &claim->exact_sums;
    return claim->free && subject ? hc_bound_any_order(&e, sums, &want) : hc_bound(&e, sums, &want);
}

/* Whether got may differ from exact as it does. What overflowed on one side alone, or in another
   order, is left to the sample. */
static bool may_differ(const struct hc_claim *claim, int out, int64_t i, const struct terms *terms)
{
    const struct hc_check *check = claim->check;
    enum hc_format format = claim->call.out[out].format;
    double exact = hc_tensor_get(&claim->exact.out[out], i);
    double got = hc_tensor_get(&claim->call.out[out], i);
    double magnitude = terms->sums ? hc_tensor_get(&terms->of, i) : 0;
    if (terms->cut || (terms->sums && !(magnitude < hc_format_max(format) / 2)))
        return true;
    if (!isfinite(exact)) /* by definition: finite terms do not overflow */
        return !terms->any_special || !terms->sums || (isnan(exact) ? isnan(got) : got == exact) ||
               isinf(bound_of(claim, check->backend, out, i, exact, 0, terms));
    double own = bound_of(claim, check->exact, out, i, exact, 0, terms);
    double both = own + bound_of(claim, check->backend, out, i, exact, own, terms);
    struct hc_exact want = {.hi = exact};
    return !isfinite(both) || hc_bound_error(format, &want, got) <= both;
}

/* How many elements that differ are judged: the bounds of batch norm and of losses cost as much as
   the element itself. */
static int64_t affordable(const struct hc_claim *claim)
{
    static const double budget[] = {
        [HC_QUICK] = 0x1p16, [HC_STANDARD] = 0x1p18, [HC_EXHAUSTIVE] = 0x1p24};
    double length = sums_terms(&claim->call) ? 1 : claim->length;
    return (int64_t)(budget[claim->check->level] / fmax(length, 1)) + 1;
}

/* An element that differs, and by how much, relative to it or to a small part of the largest. */
struct difference {
    int64_t index;
    double far;
};

static int by_distance(const void *a, const void *b)
{
    const struct difference *x = a;
    const struct difference *y = b;
    if (x->far != y->far)
        return x->far < y->far ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static int64_t find_differences(const struct hc_claim *claim, int out, struct difference *to)
{
    const struct hc_tensor *got = &claim->call.out[out];
    const struct hc_tensor *exact = &claim->exact.out[out];
    int64_t count = hc_tensor_count(got);
    int64_t n = 0;
    double largest = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(hc_tensor_get(exact, i)))
            largest = fmax(largest, fabs(hc_tensor_get(exact, i)));
    for (int64_t i = 0; i < count; i++) {
        double e = hc_tensor_get(exact, i);
        double far = fabs(hc_tensor_get(got, i) - e) / fmax(fabs(e), largest * 0x1p-10);
        if (!hc_same_bits(got->format, hc_tensor_bits(exact, i), hc_tensor_bits(got, i)))
            to[n++] = (struct difference){i, isfinite(far) ? far : (double)INFINITY};
    }
    qsort(to, (size_t)n, sizeof *to, by_distance);
    return n;
}

void hc_claim_against(struct hc_claim *claim, int out, const char *what)
{
    const struct hc_tensor *got = &claim->call.out[out];
    int64_t count = hc_tensor_count(got);
    struct difference *list = hc_check_memory(claim->check, (size_t)count * sizeof *list);
    int64_t different = find_differences(claim, out, list);
    int64_t most = affordable(claim);
    int64_t judged = different < most ? different : most;
    char name[80];
    struct hc_comparisons all = {.what = name, .checked = count - different + judged};
    (void)snprintf(name, sizeof name, "%s: all elements against exact", what);
    struct terms terms;
    if (different && !compute_terms(claim, out, &terms))
        return;
    for (int64_t k = 0; k < judged; k++) {
        int64_t i = list[k].index;
        if (!may_differ(claim, out, i, &terms))
            hc_comparisons_wrong(
                &all, "%s[%" PRId64 "]: exact gives %.9g, got %.9g, farther than both bounds", what,
                i, hc_tensor_get(&claim->exact.out[out], i), hc_tensor_get(got, i));
    }
    hc_claim_comparisons(claim->check, &all);
}
