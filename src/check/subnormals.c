#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/subnormals.h"
#include "reference.h"

/* How many inputs of the call a unit reads: the two factors of a sum of products, in 16 bits or in
   fp8, or what it converts to bf16. */
static int slots_read(const struct hc_call *call)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool narrow = hc_formats[call->in[HC_FIRST].format].precision < hc_formats[HC_FP32].precision;
    if (class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV || call->op == HC_OP_dot)
        return narrow ? 2 : 0;
    return call->op == HC_OP_cast && call->out[HC_OUT].format == HC_BF16 ? 1 : 0;
}

static bool is_subnormal(const struct hc_tensor *t, int64_t i)
{
    double x = fabs(hc_tensor_get(t, i));
    return x > 0 && x < ldexp(1, hc_formats[t->format].emin);
}

static bool any_subnormal(const struct hc_tensor *t)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (is_subnormal(t, i))
            return true;
    return false;
}

static int64_t flush(const struct hc_tensor *t)
{
    int64_t flushed = 0;
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (is_subnormal(t, i)) {
            hc_tensor_set(t, i, copysign(0, hc_tensor_get(t, i)));
            flushed++;
        }
    return flushed;
}

static bool is_zero(const struct hc_tensor *t)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (hc_tensor_get(t, i) != 0)
            return false;
    return true;
}

bool hc_flushed_open(struct hc_flushed *flushed, const struct hc_call *call)
{
    *flushed = (struct hc_flushed){.call = *call};
    for (int slot = 0; slot < slots_read(call); slot++) {
        struct hc_tensor *t = &flushed->call.in[slot];
        size_t bytes = hc_tensor_bytes(t);
        if (!any_subnormal(t))
            continue;
        void *copy = aligned_alloc(64, (bytes + 64) / 64 * 64);
        if (!copy)
            return false;
        flushed->owned[slot] = memcpy(copy, t->data, bytes);
        t->data = copy;
        flushed->count += flush(t);
        flushed->all |= is_zero(t);
    }
    return true;
}

void hc_flushed_close(struct hc_flushed *flushed)
{
    for (int slot = 0; slot < HC_FLUSHED_SLOTS; slot++)
        free(flushed->owned[slot]);
}

bool hc_flush_factors(struct hc_claim *claim)
{
    struct hc_call *call = &claim->call;
    int slots = claim->sums.flushes ? slots_read(call) : 0;
    for (int slot = 0; slot < slots; slot++) {
        struct hc_tensor *t = &call->in[slot];
        if (!any_subnormal(t))
            continue;
        if (!hc_claim_copied(claim, t))
            return false;
        claim->flushed += flush(t);
        claim->all_flushed |= is_zero(t);
    }
    return true;
}

void hc_flush_conclude(const struct hc_claim *claim)
{
    struct hc_check *check = claim->check;
    const char *op = hc_ops[claim->call.op].name;
    if (!claim->flushed)
        return;
    hc_say(check, "%s: the unit flushes, as %s declares, and %" PRId64 " subnormal factors count 0",
           op, check->backend->name, claim->flushed);
    if (claim->all_flushed)
        hc_skip(check, "its unit flushes subnormals, as it declares, and nothing else is here");
}

/* The factors of the ops whose sums a unit may take. */
enum { FACTORS = 2 };

double hc_raised_smallest(const struct hc_claim *claim, int slot)
{
    const struct hc_call *call = &claim->call;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool multiplies = class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV || call->op == HC_OP_dot;
    if (!claim->sums.aligns_subnormals || !multiplies || slot >= FACTORS)
        return 0;
    const struct hc_format_info *f = &hc_formats[call->in[slot].format];
    bool raises = f->precision < hc_formats[HC_FP32].precision;
    return raises ? ldexp(1, f->emin) : 0;
}

static bool any_below(const struct hc_tensor *t, double smallest)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        double x = fabs(hc_tensor_get(t, i));
        if (x > 0 && x < smallest)
            return true;
    }
    return false;
}

static void raise(struct hc_tensor *t, double smallest)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        double x = hc_tensor_get(t, i);
        if (x != 0 && fabs(x) < smallest)
            hc_tensor_set(t, i, copysign(smallest, x));
    }
}

bool hc_raise_factors(struct hc_claim *claim)
{
    claim->with_raised = claim->call;
    for (int slot = 0; slot < FACTORS; slot++) {
        double smallest = hc_raised_smallest(claim, slot);
        if (smallest == 0 || !any_below(&claim->call.in[slot], smallest))
            continue;
        if (!hc_claim_copied(claim, &claim->with_raised.in[slot]))
            return false;
        raise(&claim->with_raised.in[slot], smallest);
        claim->raised = true;
    }
    return true;
}

double hc_raised_magnitude(const struct hc_claim *claim, int out, int64_t index)
{
    struct hc_element e = {&claim->with_raised, out, index};
    struct hc_exact raised;
    hc_references[e.call->op](&e, HC_REFERENCE_PRECISION, &raised);
    return raised.magnitude;
}
