/* Which elements of a tensor are compared with MPFR. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge_step/comparison.h"
#include "num/rng.h"

enum {
    SUSPECTS = 16,       /* elements that lie furthest from fp64's */
    MOST_TERMS = 200000, /* of all sums in a claim: some 20 ms */
    LEAST = 24,          /* elements, however long their sums are */
    NORM_COST = 6,       /* batch norm goes through its channel several times for each element */
    OPTIMIZER_COST = 40, /* and an optimizer has that many operations */
    ELEMENT_COST = 4,
    SEED = 12
};

/* The call in fp64: every tensor, and the arithmetic. */
static bool widen(struct hc_call *call, void *owned[HC_MAX_IN + HC_MAX_OUT])
{
    const struct hc_op_info *info = &hc_ops[call->op];
    const struct hc_optimizer_slots *s =
        info->class_ == HC_CLASS_OPTIMIZER ? hc_optimizer_slots(call->op) : NULL;
    int count = 0;
    for (int i = 0; i < info->inputs + info->outputs; i++) {
        bool out = i >= info->inputs;
        struct hc_tensor *t = out ? &call->out[i - info->inputs] : &call->in[i];
        bool narrow = s && !out && (i == s->hyper || i == s->found_inf);
        if ((!t->data && !out) || t->format == HC_I32 || t->rank == 0)
            continue;
        struct hc_tensor from = *t;
        t->format = narrow ? HC_FP32 : HC_FP64;
        t->data = owned[count++] = aligned_alloc(64, (hc_tensor_bytes(t) + 64) / 64 * 64);
        if (!t->data)
            return false;
        for (int64_t k = 0; !out && k < hc_tensor_count(t); k++)
            hc_tensor_set(t, k, hc_tensor_get(&from, k));
    }
    hc_call_compute_in(call, HC_FP64);
    return true;
}

/* All elements in fp64, which the caller frees; NULL where that cannot be had. */
static double *in_fp64(const struct hc_step_court *court, const struct hc_step_claim *claim,
                       const struct hc_call *from)
{
    void *owned[HC_MAX_IN + HC_MAX_OUT] = {0};
    struct hc_call call = *from;
    int64_t n = hc_tensor_count(&claim->got);
    double *values = NULL;
    bool ready = widen(&call, owned) && hc_call_fp64(&call) && hc_call_check(&call) == HC_OK &&
                 hc_backend_has(court->backend, &call) == HC_OK;
    size_t bytes =
        ready && court->backend->scratch ? court->backend->scratch(court->queue, &call) : 0;
    call.scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    if (ready && (!bytes || call.scratch) &&
        court->backend->kernel[call.op](court->queue, &call) == HC_OK)
        values = malloc((size_t)n * sizeof *values + 1);
    for (int64_t i = 0; values && i < n; i++) {
        values[i] = hc_tensor_get(&call.out[claim->out], i);
        values[i] += claim->addend.data ? hc_tensor_get(&claim->addend, i) : 0;
    }
    free(call.scratch);
    for (int i = 0; i < HC_MAX_IN + HC_MAX_OUT; i++)
        free(owned[i]);
    return values;
}

/* How far an element is off, against itself and against the tensor as a whole. */
static double score(double want, double got, double scale)
{
    double off = fabs(got - want);
    if (isnan(off))
        return isnan(want) && isnan(got) ? 0 : (double)INFINITY;
    return off / (fabs(want) + scale + 0x1p-1022);
}

/* Puts the worst elements to the front of *all; returns how many. */
static int64_t suspects(const struct hc_step_court *court, const struct hc_step_claim *claim,
                        const struct hc_call *call, struct hc_step_comparison *all)
{
    double worst[SUSPECTS];
    double squares = 0;
    int found = 0;
    int64_t n = hc_tensor_count(&claim->got);
    double *wide = in_fp64(court, claim, call);
    for (int64_t i = 0; wide && i < n; i++)
        squares += wide[i] * wide[i];
    double scale = isfinite(squares) ? sqrt(squares / (double)n) : 0;
    for (int64_t i = 0; wide && i < n; i++) {
        double s = score(wide[i], hc_tensor_get(&claim->got, i), scale);
        int at = found;
        while (at > 0 && worst[at - 1] < s)
            at--;
        if (at == SUSPECTS)
            continue;
        found += found < SUSPECTS;
        for (int k = found - 1; k > at; k--) {
            worst[k] = worst[k - 1];
            all[k].index = all[k - 1].index;
        }
        worst[at] = s;
        all[at].index = i;
    }
    free(wide);
    return found;
}

int64_t hc_step_sample(const struct hc_step_court *court, const struct hc_step_claim *claim,
                       const struct hc_call *call, struct hc_step_comparison **all)
{
    int64_t n = hc_tensor_count(&claim->got);
    double cost = fmax(hc_call_length(call), 1);
    switch (hc_ops[call->op].class_) {
    case HC_CLASS_BATCH_NORM:
        cost *= NORM_COST;
        break;
    case HC_CLASS_OPTIMIZER:
        cost *= OPTIMIZER_COST;
        break;
    default:
        cost = fmax(cost, ELEMENT_COST);
        break;
    }
    double most = court->every ? (double)n : fmax(LEAST, MOST_TERMS / cost);
    int64_t stretches = (double)n <= most ? n : (int64_t)most;
    *all = calloc((size_t)stretches + SUSPECTS + 1, sizeof **all);
    if (!*all) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for %lld comparisons", (long long)stretches);
        return 0;
    }
    int64_t count = stretches < n ? suspects(court, claim, call, *all) : 0;
    for (int64_t k = 0; k < stretches; k++) {
        int64_t first = k * n / stretches;
        int64_t last = (k + 1) * n / stretches - 1;
        int64_t way =
            (int64_t)(hc_random(SEED, (uint64_t)n, (uint64_t)k) % (uint64_t)(last - first + 1));
        bool end = k == stretches - 1;
        (*all)[count++].index = k == 0 ? first : end ? last : first + way;
    }
    return count;
}
