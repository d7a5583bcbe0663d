#include "check/raised.h"

#include <math.h>

#include "reference.h"

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
