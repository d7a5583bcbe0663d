/* Batch norms, and what ranks do of them. */
#include <math.h>

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"

static const struct hc_op_shape batches[] = {
    {"4x3x5x6", HC_QUICK, true, false, {4, 3, 5, 6}},
    {"1x1x1x3", HC_STANDARD, false, false, {1, 1, 1, 3}},
    {"2x1x1x13", HC_STANDARD, false, false, {2, 1, 1, 13}},
    {"3x7x7x1", HC_STANDARD, false, false, {3, 7, 7, 1}},
    {"2x3x3x0", HC_STANDARD, false, false, {2, 3, 3, 0}},
    {"17x4x4x16", HC_STANDARD, false, false, {17, 4, 4, 16}},
    {"2x3x3x132", HC_STANDARD, false, false, {2, 3, 3, 132}},
    {"3x2x2x5-in-place", HC_STANDARD, false, true, {3, 2, 2, 5}},
    {"8x6x6x40", HC_EXHAUSTIVE, true, false, {8, 6, 6, 40}},
    {.name = NULL},
};

/* Ranks and channels: one rank, two, as many as a node has, and many of them. */
static const struct hc_op_shape of_ranks[] = {
    {"4x6", HC_QUICK, true, false, {4, 1, 1, 6}},
    {"1x3", HC_STANDARD, false, false, {1, 1, 1, 3}},
    {"2x13", HC_STANDARD, true, false, {2, 1, 1, 13}},
    {"8x0", HC_STANDARD, false, false, {8, 1, 1, 0}},
    {"8x33", HC_STANDARD, true, false, {8, 1, 1, 33}},
    {"64x16", HC_STANDARD, false, false, {64, 1, 1, 16}},
    {"3x5-in-place", HC_STANDARD, false, true, {3, 1, 1, 5}},
    {"1000x70", HC_EXHAUSTIVE, true, false, {1000, 1, 1, 70}},
    {.name = NULL},
};

static const struct hc_variant norms[] = {{.name = "", .params.bn = {1e-5, 0.1, 0.1}},
                                          {.name = NULL}};

static void open_batch(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    (void)variant;
    call->in[HC_BN_X] = hc_rank4(d[0], d[1], d[2], d[3]);
}

static void open_ranks(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    open_batch(call, d, variant);
    call->in[HC_BN_COMBINE_COUNTS] = hc_tensor1(HC_I32, d[0] * d[1] * d[2], NULL);
}

/* It computes in fp32 whatever its state is, or all of it is fp64. */
static bool allows(const struct hc_format_set *set, const struct hc_variant *variant)
{
    (void)variant;
    return set->work == HC_FP32 || set->work == HC_FP64;
}

/* Squares of subnormals underflow, and the bound exceeds what they leave. */
static bool applies_moments(const struct hc_call *call, enum hc_distribution distribution)
{
    return distribution != HC_DRAW_SUBNORMALS || call->in[HC_BN_MOMENTS_X].format == HC_FP16;
}

/* A slot of a batch has its one special number in the first, third or fourth channel, so that half
   of six have none. */
static bool is_special(const struct hc_draw_site *p, int slot)
{
    uint64_t channels = (uint64_t)p->call->in[HC_BN_X].shape[3];
    bool row = p->call->in[slot].rank < 4 || p->index / channels == 1;
    return row && p->index % channels == (uint64_t)(slot == 0 ? 0 : 2 + slot % 2);
}

/* In inference the rows are apart, and x has many. */
static bool is_special_inferred(const struct hc_draw_site *p, int slot)
{
    return slot != HC_BN_X && is_special(p, slot);
}

static bool has_no_others(const struct hc_call *call, int slot)
{
    (void)call;
    (void)slot;
    return false;
}

static bool has_others_in_x(const struct hc_call *call, int slot)
{
    (void)call;
    return slot == HC_BN_X;
}

static double cancelling(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    return values == HC_VALUES_DATA ? 500 + 8 * hc_draw_normal(p) : hc_draw_normal(p);
}

static bool is_first(const struct hc_draw_site *p, int slot)
{
    return (int64_t)p->index < p->call->in[slot].shape[3];
}

/* x - mean has both signs, dy is small enough for the products. */
static double whole(const struct hc_draw_site *p, int slot)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(p->call->op);
    double most = fmin(hc_whole_largest(p->call, p->format), 127);
    if (slot == s->x)
        return hc_whole_sign(p, hc_whole_odd(p, most) - 1) + 1;
    if (slot == s->dy)
        return hc_whole_sign(p, hc_whole_odd(p, most)) * hc_whole_unit(p->call);
    return slot == s->invstd ? 0.5 : 1;
}

static bool never(const struct hc_call *call)
{
    (void)call;
    return false;
}

static bool always(const struct hc_call *call)
{
    (void)call;
    return true;
}

static const struct hc_family_sums sums_of_x = {
    .terms = HC_BN_X, .is_first = is_first, .has_whole = never};
static const struct hc_family_sums sums_of_dy = {
    .terms = HC_BN_BWD_DY, .is_first = is_first, .whole = whole, .has_whole = always};
static const struct hc_family_sums sums_of_leaky_dy = {
    .terms = HC_BN_LEAKY_BWD_DY, .is_first = is_first, .whole = whole, .has_whole = always};
static const struct hc_family_sums sums_of_rank_dy = {
    .terms = HC_BN_BWD_SUMS_DY, .is_first = is_first, .whole = whole, .has_whole = always};

static void border_shape(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    if (extent == HC_EXTENT_NORM_CHANNELS)
        hc_shape_set(d, (int64_t[8]){2, 3, 2, size});
    else
        hc_shape_set(d, (int64_t[8]){size, 1, 1, 1});
}

static const struct hc_family_extent extents[] = {{HC_EXTENT_NORM_CHANNELS, HC_NEVER_ALONE, false},
                                                  {HC_EXTENT_NORM_ELEMENTS, HC_NEVER_ALONE, false},
                                                  {HC_EXTENT_COUNT, 0, false}};

static const struct hc_family_choices choices = {
    {{2, {1, 3}}, {2, {3, 4}}, {2, {3, 5}}, {6, {1, 3, 4, 16, 64, 65}}}};

/* Integers.

   The rows of a channel are split into groups of three with the deviations 1, 1, -2 and groups of
   four with 2, -2, 0, 0. The deviations' sum is 0, and the sum of their squares is twice their
   number: with eps = 2 the root of variance plus eps is 2. `beside` is orthogonal to the deviations
   and to 1. Every number of rows but 1, 2 and 5 can be split so. */
struct group {
    int length;
    int32_t deviation[4];
    int32_t beside[4];
};

static const struct group triple = {3, {1, 1, -2}, {1, -1, 0}};
static const struct group four = {4, {2, -2, 0, 0}, {0, 0, 1, -1}};

/* The deviation and `beside` of row `row` of `rows` in a channel. Groups of three come first, as
   many as leave a multiple of four; each channel begins elsewhere in its groups. */
static void deviation_of(int64_t row, int64_t rows, int64_t channel, int32_t *deviation,
                         int32_t *beside)
{
    int64_t threes = 3 * (3 * rows % 4);
    const struct group *g = row < threes ? &triple : &four;
    int64_t at = ((row < threes ? row : row - threes) + channel) % g->length;
    *deviation = g->deviation[at];
    *beside = g->beside[at];
}

/* A channel's numbers, none of them 0. */
struct channel {
    int32_t mean;
    int32_t gain; /* even */
    int32_t offset;
    int32_t mean_dy;
    int32_t slope_dy;
};

static struct channel channel_of(const struct hc_integers *z, int64_t c)
{
    return (struct channel){hc_integers_draw(z, 1, c, 5), 2 * hc_integers_draw(z, 2, c, 4),
                            hc_integers_draw(z, 3, c, 9), hc_integers_draw(z, 4, c, 3),
                            hc_integers_draw(z, 5, c, 3)};
}

static int32_t leaky(bool leaks, int32_t x)
{
    return leaks && x < 0 ? x / 2 : x; /* the slope is a half */
}

/* Forward: y = deviation / 2 gain + offset, even where it will be halved. */
static void forward(struct hc_integers *z, bool leaks, bool trains)
{
    const struct hc_call *call = &z->call;
    int64_t channels = call->in[HC_BN_X].shape[3];
    int64_t n = hc_tensor_count(&call->in[HC_BN_X]);
    int64_t rows = n / channels;
    for (int64_t i = 0; i < n; i++) {
        struct channel c = channel_of(z, i % channels);
        int32_t deviation;
        int32_t beside;
        deviation_of(i / channels, rows, i % channels, &deviation, &beside);
        z->value[HC_BN_X][i] = c.mean + deviation;
        z->want[HC_BN_Y][i] = leaky(leaks, deviation * c.gain + 2 * c.offset);
    }
    for (int64_t i = 0; i < channels; i++) {
        struct channel c = channel_of(z, i);
        z->value[HC_BN_GAMMA][i] = 2 * c.gain;
        z->value[HC_BN_BETA][i] = 2 * c.offset;
        z->value[HC_BN_MEAN][i] = trains ? 3 : c.mean;
        z->value[HC_BN_VARIANCE][i] = 2;
        if (!trains)
            continue;
        z->want[HC_BN_SAVED_MEAN][i] = z->want[HC_BN_NEW_MEAN][i] = c.mean;
        z->want[HC_BN_SAVED_INVSTD][i] = 0.5;
        z->want[HC_BN_NEW_VARIANCE][i] = 2 * (double)rows / (double)(rows - 1);
    }
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++)
        hc_integers_set(z, slot, 1);
}

/* Backward, with invstd 1, so that xhat is the deviation d. For dy = b + c d + e, with e beside d
   and 1,
     sum dy = M b, sum dy d = 2 M c, dx = gain (dy - b - 2 c d) = gain (e - c d).
   Leaky: y is positive where its gradient stays, and dy is doubled where it will be halved. */
static void backward(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    bool leaks = s->y >= 0;
    int64_t channels = call->in[s->x].shape[3];
    int64_t n = hc_tensor_count(&call->in[s->x]);
    int64_t rows = n / channels;
    for (int64_t i = 0; i < n; i++) {
        struct channel c = channel_of(z, i % channels);
        int32_t d;
        int32_t e;
        deviation_of(i / channels, rows, i % channels, &d, &e);
        int32_t y = hc_integers_draw(z, 6, i, 8);
        z->value[s->x][i] = c.mean + d;
        if (leaks)
            z->value[s->y][i] = y;
        z->value[s->dy][i] = (leaks && y < 0 ? 2 : 1) * (c.mean_dy + c.slope_dy * d + e);
        if (s->dx >= 0)
            z->want[s->dx][i] = c.gain * (e - c.slope_dy * d);
    }
    for (int64_t i = 0; i < channels; i++) {
        struct channel c = channel_of(z, i);
        if (s->gamma >= 0)
            z->value[s->gamma][i] = c.gain;
        z->value[s->mean][i] = c.mean;
        z->value[s->invstd][i] = 1;
        if (s->dgamma >= 0) {
            z->want[s->dgamma][i] = 2 * (double)rows * c.slope_dy;
            z->want[s->dbeta][i] = (double)rows * c.mean_dy;
        } else {
            z->value[HC_BN_BWD_APPLY_MEAN_DGAMMA][i] = 2 * c.slope_dy;
            z->value[HC_BN_BWD_APPLY_MEAN_DBETA][i] = c.mean_dy;
        }
    }
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++)
        hc_integers_set(z, slot, 1);
}

/* The moments of such a channel. */
static void moments(struct hc_integers *z)
{
    const struct hc_tensor *x = &z->call.in[HC_BN_MOMENTS_X];
    int64_t channels = x->shape[3];
    int64_t n = hc_tensor_count(x);
    for (int64_t i = 0; i < n; i++) {
        int32_t deviation;
        int32_t beside;
        deviation_of(i / channels, n / channels, i % channels, &deviation, &beside);
        z->value[HC_BN_MOMENTS_X][i] = channel_of(z, i % channels).mean + deviation;
    }
    for (int64_t i = 0; i < channels; i++) {
        z->want[HC_BN_MOMENTS_MEAN][i] = channel_of(z, i).mean;
        z->want[HC_BN_MOMENTS_VARIANCE][i] = 2;
    }
    hc_integers_set(z, HC_BN_MOMENTS_X, 1);
}

/* Ranks whose means are such a channel, each with the variance 12 and equally many elements: with
   eps = 2 the root is 4. */
static void combine(struct hc_integers *z)
{
    enum { SHARE = 5, WITHIN = 12, AMONG = 2 };
    const struct hc_tensor *means = &z->call.in[HC_BN_COMBINE_MEANS];
    int64_t channels = means->shape[3];
    int64_t n = hc_tensor_count(means);
    int64_t ranks = n / channels;
    double all = SHARE * (double)ranks;
    for (int64_t i = 0; i < n; i++) {
        int32_t deviation;
        int32_t beside;
        deviation_of(i / channels, ranks, i % channels, &deviation, &beside);
        z->value[HC_BN_COMBINE_MEANS][i] = channel_of(z, i % channels).mean + deviation;
        z->value[HC_BN_COMBINE_VARIANCES][i] = WITHIN;
        z->value[HC_BN_COMBINE_COUNTS][i / channels] = SHARE;
    }
    for (int64_t i = 0; i < channels; i++) {
        double mean = channel_of(z, i).mean;
        z->value[HC_BN_COMBINE_MEAN][i] = 3;
        z->value[HC_BN_COMBINE_VARIANCE][i] = 2;
        z->want[HC_BN_COMBINE_SAVED_MEAN][i] = z->want[HC_BN_COMBINE_NEW_MEAN][i] = mean;
        z->want[HC_BN_COMBINE_SAVED_VARIANCE][i] = WITHIN + AMONG;
        z->want[HC_BN_COMBINE_SAVED_INVSTD][i] = 0.25;
        z->want[HC_BN_COMBINE_NEW_VARIANCE][i] = (WITHIN + AMONG) * all / (all - 1);
    }
    for (int slot = 0; slot < hc_ops[z->call.op].inputs; slot++)
        hc_integers_set(z, slot, 1);
}

/* Sums of rows times 2 * 3 * 6 (dy d) stay below 2^24. */
static bool norm_integers(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    int64_t channels = call->in[HC_BN_X].shape[3];
    int64_t rows = hc_tensor_count(&call->in[HC_BN_X]) / channels;
    bool leaks = call->op == HC_OP_bn_leaky_train || call->op == HC_OP_bn_leaky_infer;
    if (rows < 9 || rows > 1 << 18)
        return false;
    switch (call->op) {
    case HC_OP_bn_bwd:
    case HC_OP_bn_leaky_bwd:
    case HC_OP_bn_bwd_sums:
    case HC_OP_bn_bwd_apply:
        backward(z);
        return true;
    case HC_OP_bn_moments:
        moments(z);
        return true;
    case HC_OP_bn_combine:
        combine(z);
        return true;
    default:
        forward(z, leaks, call->op == HC_OP_bn_train || call->op == HC_OP_bn_leaky_train);
        return true;
    }
}

/* The slope is a half, and running statistics become the batch's. */
static void integer_parameters(struct hc_variant *variant, int number)
{
    (void)number;
    variant->params.bn = (struct hc_bn){.eps = 2, .momentum = 1, .slope = 0.5};
}

/* How many different rows and channels a large batch has. */
enum { ROWS = 5, CHANNELS = 3 };

static void small(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(ROWS, d[0] * d[1] * d[2]);
    d[1] = d[2] = 1;
    d[3] = hc_at_most(CHANNELS, d[3]);
}

static void layout(const struct hc_call *call, int slot, const struct hc_tensor *few,
                   const struct hc_tensor *large, struct hc_axes *to)
{
    int last = large->rank - 1;
    (void)call;
    (void)slot;
    if (last == 3)
        hc_axes_add(to, HC_AXIS_ROWS, few->shape[0] * few->shape[1] * few->shape[2],
                    large->shape[0] * large->shape[1] * large->shape[2], 1, 0);
    hc_axes_add(to, HC_AXIS_COLUMNS, few->shape[last], large->shape[last], 1, 0);
}

/* A channel is made of all ranks. */
static void small_of_ranks(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[3] = hc_small_vector(d[3]);
}

static void layout_of_ranks(const struct hc_call *call, int slot, const struct hc_tensor *few,
                            const struct hc_tensor *large, struct hc_axes *to)
{
    int last = large->rank - 1;
    (void)call;
    (void)slot;
    for (int a = 0; a < last || (a == last && large->format == HC_I32); a++)
        hc_axes_add(to, HC_AXIS_TERMS, few->shape[a], large->shape[a], 1, 0);
    if (large->format != HC_I32)
        hc_axes_add(to, HC_AXIS_COLUMNS, few->shape[last], large->shape[last], 1, 0);
}

static const struct hc_family_size of_many_channels[] = {
    {HC_STANDARD, "fp32", "", {4, 1, 1, (1 << 20) + 1027}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {3, 1, 1, (1 << 13) + 27}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {4, 1, 1, (1 << 20) + 1027}},
    {.set = NULL}};
static const struct hc_family_size in_fp32[] = {
    {HC_STANDARD, "fp32", "", {33, 8, 8, 513}},
    {HC_EXHAUSTIVE, "fp32", "", {64, 56, 56, 64}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {17, 4, 4, 513}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {33, 8, 8, 513}},
    {.set = NULL}};
static const struct hc_family_size in_fp16[] = {
    {HC_STANDARD, "fp16", "", {33, 8, 8, 513}},
    {HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {17, 4, 4, 513}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {33, 8, 8, 513}},
    {.set = NULL}};
static const struct hc_family_size in_bf16[] = {
    {HC_STANDARD, "bf16", "", {33, 8, 8, 513}},
    {HC_EXHAUSTIVE, "bf16", "", {64, 56, 56, 64}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {17, 4, 4, 513}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {33, 8, 8, 513}},
    {.set = NULL}};

#define ALL_BATCH_NORMS                                                                            \
    .sets = hc_sets_stateful, .variants = norms, .allows = allows,                                 \
    .exponents = hc_exponents_of_squares, .cancelling = cancelling, .cancels_within = true,        \
    .extents = extents, .border_shape = border_shape, .choices = &choices,                         \
    .integers = norm_integers, .integer_parameters = integer_parameters, .unsettled = true,        \
    .reference_cost = 16, .sample_cost = 8

#define OF_A_BATCH                                                                                 \
    .shapes = batches, .open = open_batch, .is_special = is_special,                               \
    .has_specials = has_no_others, .small = small, .layout = layout, .cuts = hc_cut_norm

#define INFERRED                                                                                   \
    .shapes = batches, .open = open_batch, .is_special = is_special_inferred,                      \
    .has_specials = has_others_in_x, .small = small, .layout = layout,                             \
    .cuts = hc_cut_norm_inferred

const struct hc_family hc_family_bn_train = {ALL_BATCH_NORMS, OF_A_BATCH, .sums = &sums_of_x,
                                             .sizes = in_fp16};
const struct hc_family hc_family_bn_infer = {ALL_BATCH_NORMS, INFERRED, .sizes = in_fp16};
const struct hc_family hc_family_bn_bwd = {ALL_BATCH_NORMS, OF_A_BATCH, .sums = &sums_of_dy,
                                           .sizes = in_bf16};
const struct hc_family hc_family_bn_leaky_train = {ALL_BATCH_NORMS, OF_A_BATCH, .sums = &sums_of_x,
                                                   .sizes = in_fp32};
const struct hc_family hc_family_bn_leaky_infer = {ALL_BATCH_NORMS, INFERRED, .sizes = in_bf16};
const struct hc_family hc_family_bn_leaky_bwd = {ALL_BATCH_NORMS, OF_A_BATCH,
                                                 .sums = &sums_of_leaky_dy, .sizes = in_fp16};
const struct hc_family hc_family_bn_moments = {
    ALL_BATCH_NORMS, OF_A_BATCH, .applies = applies_moments, .sums = &sums_of_x, .sizes = in_fp16};
const struct hc_family hc_family_bn_combine = {ALL_BATCH_NORMS,
                                               .shapes = of_ranks,
                                               .open = open_ranks,
                                               .is_special = is_special,
                                               .has_specials = has_no_others,
                                               .small = small_of_ranks,
                                               .layout = layout_of_ranks,
                                               .cuts = hc_cut_norm,
                                               .sizes = of_many_channels};
const struct hc_family hc_family_bn_bwd_sums = {ALL_BATCH_NORMS, OF_A_BATCH,
                                                .sums = &sums_of_rank_dy, .sizes = in_fp32};
const struct hc_family hc_family_bn_bwd_apply = {ALL_BATCH_NORMS, OF_A_BATCH, .sizes = in_fp16};
