/* Averages over ranks. */
#include <math.h>

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"

/* Averages over ranks: what gradients are held in, and what their sums are rounded into. */
static const struct hc_format_set averaged[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP16},
    {"bf16-in-bf16", HC_BF16, HC_BF16, HC_FP32, HC_BF16},
    {"fp32-in-fp16", HC_FP32, HC_FP32, HC_FP32, HC_FP16},
    {"fp32-in-bf16", HC_FP32, HC_FP32, HC_FP32, HC_BF16},
    {"bf16-in-fp16", HC_BF16, HC_BF16, HC_FP32, HC_FP16},
    {.name = NULL},
};

/* Ranks and the length of their vectors: powers of two and others, and vectors that leave chunks of
   a ring empty. */
static const struct hc_op_shape vectors_of_ranks[] = {
    {"4x257", HC_QUICK, true, false, {4, 257}},
    {"1x33", HC_STANDARD, false, false, {1, 33}},
    {"2x40", HC_STANDARD, false, false, {2, 40}},
    {"3x0", HC_STANDARD, false, false, {3, 0}},
    {"7x130", HC_STANDARD, false, false, {7, 130}},
    {"8x5", HC_STANDARD, false, false, {8, 5}},
    {"13x33", HC_STANDARD, true, false, {13, 33}},
    {"64x129", HC_STANDARD, false, false, {64, 129}},
    {"64x4099", HC_EXHAUSTIVE, false, false, {64, 4099}},
    {.name = NULL},
};

#define TREE    HC_COLLECTIVE_TREE
#define RING    HC_COLLECTIVE_RING
#define HALVING HC_COLLECTIVE_HALVING

/* Each algorithm divides after, before and on both sides. */
static const struct hc_variant averages[] = {
    {.name = "", .params.all_reduce = {.algorithm = TREE, .before = 1}},
    {.name = "-before", .params.all_reduce = {.algorithm = TREE, .after = 1}},
    {.name = "-split-times",
     .params.all_reduce = {.algorithm = TREE, .before = 32, .after = 0.7, .multiplies = true}},
    {.name = "-ring-sum", .params.all_reduce = {.algorithm = RING, .before = 1, .after = 1}},
    {.name = "-ring-split", .params.all_reduce = {.algorithm = RING, .before = 2.7, .after = 3}},
    {.name = "-ring-times",
     .params.all_reduce = {.algorithm = RING, .before = 1, .multiplies = true}},
    {.name = "-halving", .params.all_reduce = {.algorithm = HALVING, .before = 1}},
    {.name = "-halving-before-times",
     .params.all_reduce = {.algorithm = HALVING, .after = 1, .multiplies = true}},
    {.name = NULL},
};

static void open_average(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    (void)variant;
    call->in[HC_ALL_REDUCE_X] = hc_rank2(d[0], d[1], false);
    call->out[HC_ALL_REDUCE_OUT] = hc_tensor1(HC_FP32, d[1], NULL);
    p->before = p->before == 0 ? (double)d[0] : p->before;
    p->after = p->after == 0 ? (double)d[0] : p->after;
}

static void exponents(const struct hc_draw_site *p, double *low, double *high)
{
    const struct hc_format_info *own = &hc_formats[p->format];
    const struct hc_format_info *f = &hc_formats[hc_op_narrow(p->call, p->format)];
    *low = fmax(own->emin - own->precision + 1, f->emin - f->precision + 1 - 3);
    *high = f->emax - 10;
}

static struct hc_run along_ranks(const struct hc_call *call, int slot)
{
    const int64_t *d = call->in[slot].shape;
    return (struct hc_run){d[1], d[0]};
}

/* A power of two of ranks and others take turns. */
static void border_shape(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)extent;
    d[0] = 3 + number % 4;
    d[1] = size;
}

/* Small integers: at most six of up to 8 in magnitude come to 48, or to 96 where each was divided
   by a half; all of these, and halves of the odd ones, are numbers of bf16. So no order rounds
   anything. */
static bool average_integers(struct hc_integers *z)
{
    enum { MOST = 8 };
    const struct hc_all_reduce *p = &z->call.params.all_reduce;
    const struct hc_tensor *x = &z->call.in[HC_ALL_REDUCE_X];
    int64_t n = x->shape[1];
    for (int64_t i = 0; i < n; i++) {
        int32_t sum = 0;
        for (int64_t rank = 0; rank < x->shape[0]; rank++) {
            int32_t value = hc_integers_draw(z, HC_ALL_REDUCE_X, rank * n + i, MOST);
            z->value[HC_ALL_REDUCE_X][rank * n + i] = value;
            sum += value;
        }
        z->want[HC_ALL_REDUCE_OUT][i] = sum / (p->before * p->after);
    }
    hc_integers_set(z, HC_ALL_REDUCE_X, 1);
    return true;
}

static void integer_parameters(struct hc_variant *variant, int number)
{
    variant->params.all_reduce =
        (struct hc_all_reduce){.algorithm = (enum hc_collective)(number % 3),
                               .before = number / 3 % 2 ? 0.5 : 1,
                               .after = 2,
                               .multiplies = number / 6 % 2};
}

static void bit_shape(int64_t length, int64_t *d)
{
    enum { RANKS = 5 };
    d[0] = RANKS;
    d[1] = (length + RANKS - 1) / RANKS;
}

static void small(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[1] = hc_small_vector(d[1]);
}

static void layout(const struct hc_call *call, int slot, const struct hc_tensor *few,
                   const struct hc_tensor *large, struct hc_axes *to)
{
    static const enum hc_axis_kind kinds[] = {HC_AXIS_TERMS, HC_AXIS_ROWS};
    (void)call;
    (void)slot;
    hc_axes_plain(to, few, large, large->rank == 2 ? kinds : &kinds[1]);
}

static const struct hc_family_size sizes[] = {{HC_STANDARD, "fp32", "", {4, 262151}},
                                              {HC_STANDARD, HC_OTHER_SETS, NULL, {3, 65543}},
                                              {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {4, 262151}},
                                              {.set = NULL}};

const struct hc_family hc_family_all_reduce = {
    .sets = averaged,
    .shapes = vectors_of_ranks,
    .variants = averages,
    .open = open_average,
    .exponents = exponents,
    .run = along_ranks,
    .bit_shape = bit_shape,
    .extents = hc_extents_vector,
    .border_shape = border_shape,
    .integers = average_integers,
    .integer_parameters = integer_parameters,
    .small = small,
    .layout = layout,
    .sizes = sizes,
    .cuts = hc_cut_averages,
    .reference_cost = 16,
};
