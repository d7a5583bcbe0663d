/* Sums of vectors. */
#include <math.h>
#include <stdlib.h>

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"

/* Also accumulated in the inputs' format. */
static const struct hc_format_set reduced[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP16},
    {"bf16-in-bf16", HC_BF16, HC_BF16, HC_FP32, HC_BF16},
    {.name = NULL},
};

static struct hc_run all_elements(const struct hc_call *call, int slot)
{
    return (struct hc_run){1, hc_tensor_count(&call->in[slot])};
}

static enum hc_format accumulator(const struct hc_call *call)
{
    return call->params.reduce.accumulator;
}

/* Those of a plain sum, which multiplies nothing. */
static void exponents_of_sum(const struct hc_draw_site *p, double *low, double *high)
{
    const struct hc_format_info *f = &hc_formats[hc_op_narrow(p->call, p->format)];
    *low = f->emin - f->precision + 1;
    *high = f->emax - 10;
}

/* Squares underflow: where nothing is added to them, the bound exceeds what they leave. */
static bool applies_squares(const struct hc_call *call, enum hc_distribution distribution)
{
    return distribution != HC_DRAW_SUBNORMALS || call->in[HC_REDUCE_X].format == HC_FP16 ||
           hc_tensor_count(&call->in[HC_SUM_SQUARES_PARTIAL]) > 0;
}

static double whole_of_sum(const struct hc_draw_site *p, int slot)
{
    (void)slot;
    return hc_whole_term(p);
}

static double whole_of_squares(const struct hc_draw_site *p, int slot)
{
    (void)slot;
    return hc_whole_sign(p, hc_whole_odd(p, hc_whole_largest(p->call, p->format))) * 0x1p-4;
}

static double root(const struct hc_draw_site *p, double term)
{
    (void)p;
    return sqrt(term);
}

static const struct hc_family_sums sums_of_elements = {
    .terms = HC_REDUCE_X, .added = true, .whole = whole_of_sum};
static const struct hc_family_sums sums_of_products = {.terms = HC_DOT_Y};
static const struct hc_family_sums sums_of_squares = {
    .terms = HC_REDUCE_X, .whole = whole_of_squares, .input = root};

/* A sum of integers. With an accumulator narrower than fp32 the contract settles the order, and
   every partial sum must be a number of the accumulator: signs are chosen that bring the sum back
   towards 0. Otherwise the sum of all magnitudes must be one. */
static bool sum_integers(struct hc_integers *z)
{
    enum { PARTIAL = 3 };
    const struct hc_call *call = &z->call;
    bool dot = call->op == HC_OP_dot;
    bool squares = call->op == HC_OP_sum_squares;
    int64_t n = hc_tensor_count(&call->in[HC_REDUCE_X]);
    bool narrow = call->params.reduce.accumulator != HC_FP32;
    int32_t most = narrow ? 3 : hc_integers_factor(z, n);
    int64_t sum = squares ? PARTIAL : 0;
    if (most == 0)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int32_t x = hc_integers_draw(z, HC_REDUCE_X, i, most);
        int32_t y = dot ? hc_integers_draw(z, HC_DOT_Y, i, most) : 1;
        bool back = narrow && llabs(sum) > hc_integers_limit(z) / 4 && (sum > 0) == (x * y > 0);
        x = back ? -x : x;
        z->value[HC_REDUCE_X][i] = x;
        if (dot)
            z->value[HC_DOT_Y][i] = y;
        sum += squares ? x * x : x * y;
    }
    if (squares)
        z->value[HC_SUM_SQUARES_PARTIAL][0] = PARTIAL;
    z->want[HC_REDUCE_OUT][0] = (double)sum;
    for (int s = 0; s < hc_ops[call->op].inputs; s++)
        hc_integers_set(z, s, 1);
    return true;
}

static bool on_integers(const int64_t *d)
{
    (void)d;
    return true;
}

/* A sum is the special number that is one of its terms. */
static bool is_special(const struct hc_call *call, int64_t at, double special)
{
    double want = special;
    if (call->op == HC_OP_dot)
        want *= hc_tensor_get(&call->in[HC_DOT_Y], at);
    if (call->op == HC_OP_sum_squares)
        want *= special;
    double got = hc_tensor_get(&call->out[HC_REDUCE_OUT], 0);
    return isnan(want) ? isnan(got) : got == want;
}

/* Among terms of 1 and -1, whose partial sums stay small in any order. */
static void claim_alone(struct hc_check *check, const struct hc_call *call)
{
    static const struct hc_alone alone = {.slot = HC_REDUCE_X, .is_right = is_special};
    for (int s = 0; s < hc_ops[call->op].inputs; s++) {
        const struct hc_tensor *t = &call->in[s];
        const uint64_t one[] = {hc_encode(t->format, -1, 0, HC_NEAREST),
                                hc_encode(t->format, 1, 0, HC_NEAREST)};
        for (int64_t i = 0; t->data && i < hc_tensor_count(t); i++)
            hc_tensor_set_bits(t, i, one[(uint32_t)(i + s) * 2654435761u >> 31]);
    }
    if (call->op == HC_OP_sum_squares && call->in[HC_SUM_SQUARES_PARTIAL].data)
        hc_tensor_set(&call->in[HC_SUM_SQUARES_PARTIAL], 0, 0);
    hc_claim_alone_late(check, call, &alone);
}

static const struct hc_family_extent terms[] = {{HC_EXTENT_TERMS, HC_NEVER_ALONE, false},
                                                {HC_EXTENT_COUNT, 0, false}};

static const struct hc_family_size in_fp32[] = {
    {HC_STANDARD, "fp32", "", HC_SIZE_VECTOR}, HC_SIZES_OF_OTHERS, {.set = NULL}};
static const struct hc_family_size into_fp32[] = {
    {HC_STANDARD, "fp16-fp32", "", HC_SIZE_VECTOR}, HC_SIZES_OF_OTHERS, {.set = NULL}};

#define ALL_REDUCTIONS                                                                             \
    .shapes = hc_shapes_sums, .run = all_elements, .reduces = true, .extents = terms,              \
    .integers = sum_integers, .on_integers = on_integers, .also_large = claim_alone,               \
    .cuts = hc_cut_reductions

const struct hc_family hc_family_sum = {ALL_REDUCTIONS,
                                        .sets = reduced,
                                        .variants = hc_variants_plain,
                                        .exponents = exponents_of_sum,
                                        .accumulator = accumulator,
                                        .sums = &sums_of_elements,
                                        .sizes = in_fp32};
const struct hc_family hc_family_dot = {ALL_REDUCTIONS,
                                        .sets = reduced,
                                        .variants = hc_variants_plain,
                                        .accumulator = accumulator,
                                        .sums = &sums_of_products,
                                        .sizes = into_fp32};
const struct hc_family hc_family_sum_squares = {ALL_REDUCTIONS,
                                                .sets = hc_sets_mixed,
                                                .variants = hc_variants_bare,
                                                .applies = applies_squares,
                                                .sums = &sums_of_squares,
                                                .sizes = in_fp32};
