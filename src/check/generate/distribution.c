/* Which distribution goes into which slot, and where it makes sense. */
#include "check/generate/distribution.h"

#include <assert.h>
#include <math.h>

#include "check/family/family.h"
#include "check/generate/draw.h"
#include "num/rng.h"
#include "op/descriptor.h"
#include "reference.h"

const char *const hc_distribution_names[HC_DISTRIBUTION_COUNT] = {
    [HC_DRAW_NORMAL] = "normal",
    [HC_DRAW_LOGNORMAL] = "log-normal",
    [HC_DRAW_SUBNORMALS] = "subnormals",
    [HC_DRAW_BOUNDARIES] = "boundaries",
    [HC_DRAW_CANCELLATION] = "cancellation",
    [HC_DRAW_SPECIALS] = "specials",
    [HC_DRAW_POSITIVE] = "positive",
    [HC_DRAW_STAGNATION] = "stagnation",
    [HC_DRAW_CUT] = "cut",
    [HC_DRAW_WHOLE] = "whole",
    [HC_DRAW_FOUND] = "found-inf",
};

bool hc_distribution_of_sums(enum hc_distribution distribution)
{
    return distribution == HC_DRAW_POSITIVE || distribution == HC_DRAW_STAGNATION ||
           distribution == HC_DRAW_CUT || distribution == HC_DRAW_WHOLE;
}

/* Whether the contract's bound exceeds what such numbers leave, so that the claim would say
   nothing. A sum that cancels to 2^-10 of its terms' magnitude may lose as much to n 2^-24, or to
   tf32. Pairs of fp8, of few bits, cancel to nothing at all or to much, so that a long sum of them
   is far from its bound. */
static bool cancels_beyond_its_bound(const struct hc_call *call)
{
    enum { LONG_IN_FP8 = 64 };
    bool fp8 =
        HC_CODE_FORMATS >> call->in[HC_FIRST].format & 1 && hc_call_length(call) > LONG_IN_FP8;
    return fp8 || hc_call_tf32(call) || hc_call_length(call) > 0x1p13;
}

bool hc_distribution_applies(const struct hc_call *call, enum hc_distribution distribution)
{
    const struct hc_family *f = hc_family(call->op);
    bool integers = call->in[HC_FIRST].format == HC_I32 || call->out[HC_FIRST].format == HC_I32;
    if (hc_distribution_of_sums(distribution))
        return hc_op_sums(call, distribution);
    if (f->applies && !f->applies(call, distribution))
        return false;
    switch (distribution) {
    case HC_DRAW_CANCELLATION:
        return hc_descriptor(call->op)->cancels && !cancels_beyond_its_bound(call) &&
               (!f->run || f->run(call, HC_FIRST).extent > 1);
    case HC_DRAW_FOUND:
        return f->finds && f->finds(call);
    case HC_DRAW_SUBNORMALS:
    case HC_DRAW_SPECIALS:
        return !integers;
    default:
        return true;
    }
}

/* Steps within the first input's rows; with boundaries the first beyond them, and log-normally any
   number. */
static double count(const struct hc_call *call, int64_t i, enum hc_distribution distribution,
                    double u)
{
    double rows = (double)call->in[HC_FIRST].shape[0];
    if (i == HC_COUNT_STEPS && distribution == HC_DRAW_BOUNDARIES)
        return rows;
    if (i == HC_COUNT_STEPS && distribution != HC_DRAW_LOGNORMAL)
        return floor(u * rows);
    return floor(exp2(31 * u)) - 1;
}

/* A class, or a place; first those that a signed byte, a byte and a table's end would spoil. */
static double label(const struct hc_call *call, int64_t row, double u)
{
    int64_t (*places)(const struct hc_call *) = hc_family(call->op)->places;
    const int64_t classes = places ? places(call) : call->in[HC_XENT_LOGITS].shape[1];
    const int64_t odd[] = {0, classes - 1, 127, 128, 255};
    if (row < 5 && classes > 5 && odd[row] < classes)
        return (double)odd[row];
    return floor(u * (double)classes);
}

/* Ranks of equal size where the data are what matters, or differ by so much that a share of 2^-24
   would leave a mean of what one by one loses; else one rank in four has nothing, but never
   the first, and one has so many elements that fp32 does not hold their number. */
static double share(int64_t i, enum hc_distribution distribution, double u)
{
    if (distribution == HC_DRAW_CANCELLATION || distribution == HC_DRAW_BOUNDARIES ||
        distribution == HC_DRAW_LOGNORMAL)
        return 4096;
    if (i == 1 && u < 0.5)
        return 0x1p24 + 1;
    return i > 0 && u < 0.25 ? 0 : ldexp(1 + 7 * u, (int)(i % 12));
}

/* Scalars, flags and labels. */
static double small_input(const struct hc_call *call, enum hc_values values, int64_t i,
                          enum hc_distribution distribution, uint64_t seed)
{
    static const double hyper[HC_HYPER_COUNT] = {
        [HC_HYPER_LR] = 1e-3, [HC_HYPER_BETA1] = 0.9, [HC_HYPER_STEP] = 3};
    double u = hc_random_uniform(seed, 100, (uint64_t)i);
    switch (values) {
    case HC_VALUES_HYPER:
        assert(i >= 0 && i < HC_HYPER_COUNT);
        return hyper[i];
    case HC_VALUES_FLAG:
        return distribution == HC_DRAW_FOUND ? 1 : 0;
    case HC_VALUES_LABELS:
        if (distribution == HC_DRAW_STAGNATION || distribution == HC_DRAW_CUT)
            return 0;
        return label(call, i, u);
    case HC_VALUES_COUNTS:
        return count(call, i, distribution, u);
    case HC_VALUES_SHARE:
        return share(i, distribution, u);
    default:
        if (distribution == HC_DRAW_WHOLE)
            return 3 * 0x1p-8; /* a square in units of 2^-4 */
        return distribution == HC_DRAW_NORMAL ? 1024 * (1 + u) : 1 + u;
    }
}

/* w - lr g has neither a momentum nor its coefficient. */
static bool is_of_plain_sgd(const struct hc_call *call, int slot, int64_t i)
{
    const struct hc_sgd *p = &call->params.sgd;
    return call->op == HC_OP_sgd && p->weight_decay == 0 && !p->nesterov && !p->rate_inside &&
           (slot == HC_SGD_MOMENTUM || (slot == HC_SGD_HYPER && i == HC_HYPER_BETA1));
}

/* A product whose only factor on one side is a power of two rounds nothing. */
static double rounding_factor(const struct hc_call *call, const struct hc_tensor *t, double x)
{
    int exponent;
    bool alone = call->op == HC_OP_gemm && hc_tensor_count(t) == 1;
    return alone && fabs(frexp(x, &exponent)) == 0.5 ? 1.375 * x : x;
}

void hc_draw_input(const struct hc_call *call, int slot, enum hc_distribution distribution,
                   uint64_t seed)
{
    const struct hc_tensor *t = &call->in[slot];
    enum hc_values values = hc_slot(call->op, slot)->values;
    bool small = values == HC_VALUES_SCALAR || values == HC_VALUES_HYPER ||
                 values == HC_VALUES_FLAG || values == HC_VALUES_LABELS ||
                 values == HC_VALUES_COUNTS || values == HC_VALUES_SHARE;
    int64_t n = hc_tensor_count(t);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(t, i,
                      is_of_plain_sgd(call, slot, i) ? 0
                      : small ? small_input(call, values, i, distribution, seed)
                              : hc_op_value(call, slot, values, i, distribution, seed));
    if (distribution == HC_DRAW_NORMAL && n == 1)
        hc_tensor_set(t, 0, rounding_factor(call, t, hc_tensor_get(t, 0)));
}

void hc_draw_inputs(const struct hc_call *call, enum hc_distribution distribution, uint64_t seed)
{
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++)
        hc_draw_input(call, slot, distribution, seed);
}

static bool any_input(const struct hc_call *call, bool (*is)(const struct hc_call *, double))
{
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++)
        for (int64_t i = 0; i < hc_tensor_count(&call->in[slot]); i++)
            if (is(call, hc_tensor_get(&call->in[slot], i)))
                return true;
    return false;
}

static bool special(const struct hc_call *call, double x)
{
    (void)call;
    return !isfinite(x);
}

static bool subnormal(const struct hc_call *call, double x)
{
    enum hc_format narrow = hc_op_narrow(call, call->in[HC_FIRST].format);
    return x != 0 && fabs(x) < ldexp(1, hc_formats[narrow].emin);
}

/* A sixteenth or less is left of the terms of some sum; of the larger operand, where there is no
   sum. */
static bool little_left(const struct hc_call *call)
{
    double (*size)(const struct hc_call *, int64_t) = hc_family(call->op)->size;
    int64_t n = hc_tensor_count(&call->out[HC_FIRST]);
    for (int64_t i = 0; i < n && i < 64; i++) {
        struct hc_exact want = hc_reference_value(call, 0, i);
        double whole = want.magnitude;
        if (size)
            whole = size(call, i);
        if (fabs(want.hi) * 16 <= whole)
            return true;
    }
    return false;
}

bool hc_distribution_reached(const struct hc_call *call, enum hc_distribution distribution)
{
    if (distribution == HC_DRAW_SPECIALS)
        return any_input(call, special);
    if (distribution == HC_DRAW_SUBNORMALS)
        return any_input(call, subnormal);
    if (distribution == HC_DRAW_CANCELLATION && !hc_family(call->op)->cancels_within)
        return little_left(call);
    return true;
}
