/* Ops of a transformer that definitions say and whose axes are more than rows: tables of rows by
   index, turned pairs, and attention. What they share with others is defined.c's. */
#include <math.h>
#include <string.h>

#include "check/family/family.h"
#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"
#include "op/later.h"
#include "op/params.h"

/* Extents of a table: its rows, their length, and how many are read. */
static const struct hc_op_shape tables[] = {
    {"9x5x13", HC_QUICK, true, false, {9, 5, 13}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"3x2x0", HC_STANDARD, false, false, {3, 2, 0}},
    {"3x0x4", HC_STANDARD, false, false, {3, 0, 4}},
    {"300x3x7", HC_STANDARD, false, false, {300, 3, 7}},
    {"7x3x300", HC_STANDARD, false, false, {7, 3, 300}},
    {"257x33x400", HC_EXHAUSTIVE, true, false, {257, 33, 400}},
    {.name = NULL},
};

/* Of the gradient each row has some terms, but one in a few. */
static const struct hc_op_shape gradients[] = {
    {"9x5x33", HC_QUICK, true, false, {9, 5, 33}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"0x2x0", HC_STANDARD, false, false, {0, 2, 0}},
    {"3x0x4", HC_STANDARD, false, false, {3, 0, 4}},
    {"7x3x300", HC_STANDARD, false, false, {7, 3, 300}},
    {"57x33x400", HC_EXHAUSTIVE, true, false, {57, 33, 400}},
    {.name = NULL},
};

/* The gradient names its axes in another order. */
static void open_gradient(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    int64_t turned[8] = {d[2], d[1], d[0]};
    hc_open_axes(call, turned, variant);
}

static int64_t rows_of_table(const struct hc_call *call)
{
    return call->op == HC_OP_embedding ? call->in[HC_EMBEDDING_W].shape[0]
                                       : call->out[HC_EMBEDDING_BWD_DW].shape[0];
}

static void border_of_table(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    d[0] = 5;
    d[1] = extent == HC_EXTENT_VECTOR ? size : 2;
    d[2] = extent == HC_EXTENT_VECTOR ? 3 : size;
}

static const struct hc_family_extent extents_of_table[] = {
    {HC_EXTENT_VECTOR, 1, false}, {HC_EXTENT_LOSS_ROWS, 2, false}, {HC_EXTENT_COUNT, 0, false}};

/* Heads, rows and the length of each. */
static const struct hc_op_shape turns[] = {
    {"2x5x6", HC_QUICK, true, false, {2, 5, 6}},
    {"1x1x2", HC_STANDARD, false, false, {1, 1, 2}},
    {"2x0x4", HC_STANDARD, false, false, {2, 0, 4}},
    {"1x2x7", HC_STANDARD, false, false, {1, 2, 7}},
    {"3x33x16", HC_STANDARD, false, false, {3, 33, 16}},
    {"2x129x64", HC_EXHAUSTIVE, true, false, {2, 129, 64}},
    {.name = NULL},
};

static void border_of_turns(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    d[0] = 2;
    d[1] = extent == HC_EXTENT_LOSS_ROWS ? size : 2;
    d[2] = extent == HC_EXTENT_LOSS_ROWS ? 4 : size;
}

static const struct hc_family_extent extents_of_turns[] = {{HC_EXTENT_LOSS_CLASSES, 2, false},
                                                           {HC_EXTENT_LOSS_ROWS, 1, false},
                                                           {HC_EXTENT_COUNT, 0, false}};

/* Four axes, of which those in the middle are exchanged. */
static const struct hc_op_shape fours[] = {
    {"2x3x5x4", HC_QUICK, true, false, {2, 3, 5, 4}},
    {"1x1x1x1", HC_STANDARD, false, false, {1, 1, 1, 1}},
    {"2x0x3x4", HC_STANDARD, false, false, {2, 0, 3, 4}},
    {"1x7x1x3", HC_STANDARD, false, false, {1, 7, 1, 3}},
    {"3x33x4x17", HC_STANDARD, false, false, {3, 33, 4, 17}},
    {"2x129x12x32", HC_EXHAUSTIVE, true, false, {2, 129, 12, 32}},
    {.name = NULL},
};

static void border_of_fours(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    static const int64_t least[4] = {2, 3, 2, 3};
    (void)number;
    memcpy(d, least, sizeof least);
    d[extent == HC_EXTENT_LOSS_ROWS ? 1 : 3] = size;
}

static const struct hc_family_extent extents_of_fours[] = {{HC_EXTENT_LOSS_CLASSES, 3, false},
                                                           {HC_EXTENT_LOSS_ROWS, 1, false},
                                                           {HC_EXTENT_COUNT, 0, false}};

/* As a network takes them: all in one format, or a half and its result in fp32. */
static const struct hc_format_set formats_of_heads[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},      {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},      {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32}, {.name = NULL},
};

/* Heads, rows and depth of q, keys, and the width of v. With fewer keys than rows the first rows
   see none where the mask is causal. */
static const struct hc_op_shape heads[] = {
    {"2x5x4x7x3", HC_QUICK, true, false, {2, 5, 4, 7, 3}},
    {"1x1x1x1x1", HC_STANDARD, false, false, {1, 1, 1, 1, 1}},
    {"2x0x3x4x2", HC_STANDARD, false, false, {2, 0, 3, 4, 2}},
    {"1x3x2x0x2", HC_STANDARD, false, false, {1, 3, 2, 0, 2}},
    {"1x9x3x5x4", HC_STANDARD, false, false, {1, 9, 3, 5, 4}},
    {"1x17x8x19x8", HC_STANDARD, false, false, {1, 17, 8, 19, 8}},
    {"2x65x16x130x17", HC_EXHAUSTIVE, true, false, {2, 65, 16, 130, 17}},
    {.name = NULL},
};

/* Without rows of q there are gradients of keys, all of them zeros: attention/gradient-of-nothing. */
static const struct hc_op_shape heads_back[] = {
    {"2x5x4x7x3", HC_QUICK, true, false, {2, 5, 4, 7, 3}},
    {"1x1x1x1x1", HC_STANDARD, false, false, {1, 1, 1, 1, 1}},
    {"2x0x3x0x2", HC_STANDARD, false, false, {2, 0, 3, 0, 2}},
    {"1x9x3x5x4", HC_STANDARD, false, false, {1, 9, 3, 5, 4}},
    {"1x17x8x19x8", HC_STANDARD, false, false, {1, 17, 8, 19, 8}},
    {"2x65x16x130x17", HC_EXHAUSTIVE, true, false, {2, 65, 16, 130, 17}},
    {.name = NULL},
};

/* Every key, and a scale that is no power of two; where a variant says so in its second option. */
enum { OF_ALL_KEYS = 1 * sizeof(double) };

static const struct hc_variant masks[] = {
    {.name = ""},
    {.name = "-full", .params.later = {[OF_ALL_KEYS] = 1}},
    {.name = NULL},
};

static bool allows(const struct hc_format_set *set, const struct hc_variant *variant)
{
    return variant->name[0] == '\0' || set->in == set->out;
}

static void open_heads(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    bool full = variant->params.later[OF_ALL_KEYS] != 0;
    double scale = 0.3;
    hc_open_axes(call, d, variant);
    if (!full)
        return;
    call->params.later[OF_ALL_KEYS] = false;
    memcpy(call->params.later, &scale, sizeof scale);
}

static void integer_masks(struct hc_variant *variant, int number)
{
    variant->params.later[OF_ALL_KEYS] = (unsigned char)(number % 2);
}

/* The log of the sum of a row's exponentials, as a forward pass would keep it. */
static double log_sum(const struct hc_draw_site *p, int slot)
{
    const struct hc_call *call = p->call;
    const struct hc_tensor *q = &call->in[HC_ATTENTION_Q];
    const struct hc_tensor *k = &call->in[HC_ATTENTION_K];
    int64_t row = (int64_t)p->index;
    int64_t keys = k->shape[1];
    int64_t depth = k->shape[2];
    int64_t past = hc_defined_flag(call, 1) ? row % q->shape[1] + keys - q->shape[1] : keys;
    double max = -(double)INFINITY;
    double sum = 0;
    (void)slot;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t u = 0; u < keys && u <= past; u++) {
            int64_t key = row / q->shape[1] * keys + u;
            double s = 0;
            for (int64_t d = 0; d < depth; d++)
                s += hc_tensor_get(q, row * depth + d) * hc_tensor_get(k, key * depth + d);
            s *= hc_attention_scale(call);
            max = pass == 0 ? fmax(max, s) : max;
            sum += pass == 0 ? 0 : exp(s - max);
        }
    return max + log(sum);
}

/* Scores are near to each other, and their exponentials overflow in fp32 unless the largest is
   subtracted first. */
static double cancelling(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    if (values == HC_VALUES_DATA)
        return 24 + hc_draw_normal(p);
    return slot == HC_ATTENTION_K ? 4 + hc_draw_normal(p) / 4 : hc_draw_normal(p);
}

/* One takes a row with it, and the gradients of all keys that the row sees: those of one head. */
static bool is_special(const struct hc_draw_site *p, int slot)
{
    uint64_t depth = (uint64_t)p->call->in[HC_ATTENTION_Q].shape[2];
    return slot == HC_ATTENTION_Q && p->index == depth + depth / 2;
}

static void border_of_heads(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    static const int64_t least[5] = {1, 2, 2, 3, 2};
    (void)number;
    memcpy(d, least, sizeof least);
    d[extent == HC_EXTENT_LOSS_ROWS ? 1 : extent == HC_EXTENT_VECTOR ? 4 : 3] = size;
}

static const struct hc_family_extent extents_of_heads[] = {{HC_EXTENT_LOSS_CLASSES, 3, false},
                                                           {HC_EXTENT_LOSS_ROWS, 1, false},
                                                           {HC_EXTENT_VECTOR, 4, false},
                                                           {HC_EXTENT_COUNT, 0, false}};

#define ALL_OF_THESE                                                                               \
    .integers = hc_fill_defined, .unsettled = true, .reference_cost = 64, .sample_cost = 64,       \
    .has_specials = hc_no_other_specials
#define OF_ROWS                                                                                    \
    .sets = hc_sets_mixed, .variants = hc_variants_plain, .is_special = hc_one_row_in_four,        \
    .exponents = hc_exponents_of_logits
#define OF_TABLES                                                                                  \
    OF_ROWS, .places = rows_of_table, .extents = extents_of_table, .border_shape = border_of_table
#define OF_HEADS                                                                                   \
    .sets = formats_of_heads, .variants = masks, .is_special = is_special, .allows = allows,       \
    .open = open_heads, .exponents = hc_exponents_of_logits, .applies = hc_not_on_subnormals,      \
    .kept = log_sum, .cancelling = cancelling, .cancels_within = true,                             \
    .extents = extents_of_heads, .border_shape = border_of_heads,                                  \
    .integer_parameters = integer_masks

static const struct hc_family embedding = {ALL_OF_THESE, OF_TABLES, .shapes = tables,
                                           .open = hc_open_axes};
static const struct hc_family embedding_backward = {ALL_OF_THESE, OF_TABLES, .shapes = gradients,
                                                    .open = open_gradient};
static const struct hc_family rotary_halves = {ALL_OF_THESE,
                                               OF_ROWS,
                                               .shapes = turns,
                                               .open = hc_open_axes,
                                               .extents = extents_of_turns,
                                               .border_shape = border_of_turns};
static const struct hc_family swap_axes = {ALL_OF_THESE,
                                           OF_ROWS,
                                           .shapes = fours,
                                           .open = hc_open_axes,
                                           .extents = extents_of_fours,
                                           .border_shape = border_of_fours};
static const struct hc_family attention = {ALL_OF_THESE, OF_HEADS, .shapes = heads};
static const struct hc_family attention_backward = {ALL_OF_THESE, OF_HEADS, .shapes = heads_back};

static const struct hc_family *const rows[HC_OP_ROOM] = {
    [HC_OP_embedding] = &embedding,         [HC_OP_embedding_backward] = &embedding_backward,
    [HC_OP_rotary_halves] = &rotary_halves, [HC_OP_swap_axes] = &swap_axes,
    [HC_OP_attention] = &attention,         [HC_OP_attention_backward] = &attention_backward,
};

const struct hc_family *hc_family_transformer(enum hc_op op)
{
    return rows[op];
}
