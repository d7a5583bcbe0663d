/* Ops of a transformer that definitions say and that have options, or lie between others: softmax
   with a mask, the gradient of its logarithm, dropout, parts of an attention, norms of a sum. What
   they share with others is defined.c's and general_loss.c's. */
#include <math.h>

#include "check/family/family.h"
#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "op/later.h"

/* Options are the same in all formats. */
static bool allows(const struct hc_format_set *set, const struct hc_variant *variant)
{
    return variant->name[0] == '\0' || set->out == HC_FP32;
}

/* Softmax with options: heads, rows and places. With fewer places than rows the first rows see none
   where the mask is causal. */
static const struct hc_op_shape heads[] = {
    {"2x5x7", HC_QUICK, true, false, {2, 5, 7}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"2x0x4", HC_STANDARD, false, false, {2, 0, 4}},
    {"1x3x0", HC_STANDARD, false, false, {1, 3, 0}},
    {"1x9x5", HC_STANDARD, false, false, {1, 9, 5}},
    {"1x5x300", HC_STANDARD, false, false, {1, 5, 300}},
    {"3x65x130", HC_EXHAUSTIVE, true, false, {3, 65, 130}},
    {.name = NULL},
};

static const struct hc_variant diagonals[] = {
    {.name = ""}, {.name = "-causal", .params.later = {1}}, {.name = NULL}};

/* The scale is no power of two. A row that sees nothing is 0, or uniform. */
static void open_softmax(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    bool causal = variant->params.later[0] != 0;
    hc_open_axes(call, d, variant);
    hc_set_real(call, HC_SOFTMAX_SCALE, 0.3);
    if (call->op != HC_OP_softmax_general)
        return;
    hc_set_flag(call, HC_SOFTMAX_CAUSAL, causal);
    hc_set_integer(call, HC_SOFTMAX_DEAD, causal ? HC_SOFTMAX_DEAD_UNIFORM : HC_SOFTMAX_DEAD_ZERO);
}

/* One place in four is hidden, and all of a row now and then; a few get a bias. */
static double mask(const struct hc_draw_site *p, int slot)
{
    uint64_t places = (uint64_t)p->call->in[slot].shape[1];
    double u = hc_draw_uniform(p, 2);
    if (places > 1 && (p->index / places % 5 == 3 || u < 0.25))
        return -(double)INFINITY;
    return u < 0.5 ? hc_draw_normal(p) : 0;
}

/* One row of four has an infinity or a NaN at a place that every row sees. */
static bool is_special_logit(const struct hc_draw_site *p, int slot)
{
    uint64_t n = (uint64_t)p->call->in[HC_SOFTMAX_X].shape[2];
    return slot == HC_SOFTMAX_X && p->index / n % 4 == 1 && p->index % n == 0;
}

/* Scores that are near to each other, whose exponentials overflow in fp32 unless the largest is
   subtracted first. */
static double cancelling(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    return values == HC_VALUES_DATA ? 400 + 4 * hc_draw_normal(p) : hc_draw_normal(p);
}

static void border_of_softmax(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    d[0] = 1;
    d[1] = extent == HC_EXTENT_LOSS_ROWS ? size : 2;
    d[2] = extent == HC_EXTENT_LOSS_ROWS ? 3 : size;
}

static const struct hc_family_extent extents_of_softmax[] = {{HC_EXTENT_LOSS_CLASSES, 2, false},
                                                             {HC_EXTENT_LOSS_ROWS, 1, false},
                                                             {HC_EXTENT_COUNT, 0, false}};

static void small_softmax(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(13, d[0]);
}

static void small_gradient(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(3, d[0]);
    d[2] = hc_at_most(11, d[2]);
}

static const struct hc_family_size sizes_of_softmax[] = {
    {HC_STANDARD, "fp32", "", {1025, 3, 17}},
    {HC_STANDARD, "fp32", "-causal", {257, 5, 17}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {257, 3, 17}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {4097, 9, 129}},
    {.set = NULL}};
static const struct hc_family_size sizes_of_gradients[] = {
    {HC_STANDARD, "fp32", "", {129, 3, 513}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {65, 3, 129}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {1025, 3, 1025}},
    {.set = NULL}};

#define ALL_WITH_OPTIONS                                                                           \
    .sets = hc_sets_of_networks, .allows = allows, .integers = hc_fill_defined, .unsettled = true, \
    .cancels_within = true, .has_specials = hc_no_other_specials, .layout = hc_layout_of_options,  \
    .exponents = hc_exponents_of_logits, .applies = hc_not_on_subnormals, .reference_cost = 64,    \
    .sample_cost = 64

static const struct hc_family softmax_general = {ALL_WITH_OPTIONS,
                                                 .shapes = heads,
                                                 .variants = diagonals,
                                                 .open = open_softmax,
                                                 .is_special = is_special_logit,
                                                 .never_minus_infinity = true,
                                                 .kept = mask,
                                                 .cancelling = cancelling,
                                                 .extents = extents_of_softmax,
                                                 .border_shape = border_of_softmax,
                                                 .small = small_softmax,
                                                 .sizes = sizes_of_softmax};
static const struct hc_family softmax_general_backward = {ALL_WITH_OPTIONS,
                                                          .shapes = heads,
                                                          .is_special = hc_one_row_in_four,
                                                          .variants = hc_variants_plain,
                                                          .open = open_softmax,
                                                          .cancelling = cancelling,
                                                          .extents = extents_of_softmax,
                                                          .border_shape = border_of_softmax,
                                                          .small = small_gradient,
                                                          .sizes = sizes_of_gradients};

/* Rows of logarithms of probabilities, which are seldom above 0. */
static const struct hc_op_shape rows[] = {
    {"5x13", HC_QUICK, true, false, {5, 13}},
    {"1x1", HC_STANDARD, false, false, {1, 1}},
    {"0x3", HC_STANDARD, false, false, {0, 3}},
    {"3x0", HC_STANDARD, false, false, {3, 0}},
    {"2x300", HC_STANDARD, false, false, {2, 300}},
    {"33x129", HC_EXHAUSTIVE, true, false, {33, 129}},
    {.name = NULL},
};

static double log_probabilities(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    return values == HC_VALUES_DATA ? -fabs(4 * hc_draw_normal(p)) : hc_draw_normal(p);
}

static void small_rows(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(3, d[0]);
    d[1] = hc_at_most(11, d[1]);
}

static const struct hc_family_size sizes_of_rows[] = {
    {HC_STANDARD, "fp32", "", {129, 1025}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {33, 513}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {4097, 1025}},
    {.set = NULL}};

static double near_100(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    return values == HC_VALUES_DATA ? 100 + 4 * hc_draw_normal(p) : hc_draw_normal(p);
}

static const struct hc_family log_softmax = {ALL_WITH_OPTIONS,
                                             .shapes = rows,
                                             .variants = hc_variants_plain,
                                             .open = hc_open_axes,
                                             .is_special = hc_one_row_in_four,
                                             .never_minus_infinity = true,
                                             .cancelling = near_100,
                                             .extents = hc_extents_of_rows,
                                             .border_shape = hc_border_of_rows,
                                             .small = small_rows,
                                             .sizes = sizes_of_rows};
static const struct hc_family log_softmax_backward = {ALL_WITH_OPTIONS,
                                                      .shapes = rows,
                                                      .is_special = hc_one_row_in_four,
                                                      .variants = hc_variants_plain,
                                                      .open = hc_open_axes,
                                                      .cancelling = log_probabilities,
                                                      .extents = hc_extents_of_rows,
                                                      .border_shape = hc_border_of_rows,
                                                      .small = small_rows,
                                                      .sizes = sizes_of_rows};

/* Dropout, whose bits are bytes: on each side of the threshold, and on it. */
static const struct hc_op_shape vectors[] = {
    {"67", HC_QUICK, true, false, {67}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"4099", HC_EXHAUSTIVE, true, false, {4099}},
    {.name = NULL},
};

static void open_dropout(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    (void)variant;
    hc_open_axes(call, d, variant);
    if (d[0] == 1) /* every byte is below it */
        hc_set_integer(call, HC_DROPOUT_THRESHOLD, 256);
}

static int64_t bytes(const struct hc_call *call)
{
    (void)call;
    return 256;
}

static void small_vector(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_small_vector(d[0]);
}

static const struct hc_family_size sizes_of_vectors[] = {
    {HC_STANDARD, HC_OTHER_SETS, "", {4099}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, HC_SIZE_VECTOR},
    {.set = NULL}};

static const struct hc_family dropout = {.sets = hc_sets_of_networks,
                                         .integers = hc_fill_defined,
                                         .unsettled = true,
                                         .layout = hc_layout_of_options,
                                         .exponents = hc_exponents_of_logits,
                                         .applies = hc_not_on_subnormals,
                                         .reference_cost = 64,
                                         .sample_cost = 64,
                                         .shapes = vectors,
                                         .variants = hc_variants_plain,
                                         .open = open_dropout,
                                         .places = bytes,
                                         .is_special = hc_one_row_in_four,
                                         .has_specials = hc_no_other_specials,
                                         .extents = hc_extents_vector,
                                         .small = small_vector,
                                         .sizes = sizes_of_vectors};

/* Two parts of an attention: heads, rows and width. */
static const struct hc_op_shape parts[] = {
    {"2x5x7", HC_QUICK, true, false, {2, 5, 7}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"2x0x4", HC_STANDARD, false, false, {2, 0, 4}},
    {"2x3x0", HC_STANDARD, false, false, {2, 3, 0}},
    {"1x3x129", HC_STANDARD, false, false, {1, 3, 129}},
    {"3x65x64", HC_EXHAUSTIVE, true, false, {3, 65, 64}},
    {.name = NULL},
};

/* Log-sums are some e-folds apart, and large. One part in seven has seen nothing, and so now and
   then has the other one; lse is what the forward pass would keep of them. */
static double log_sum_of_part(const struct hc_draw_site *p, int slot)
{
    uint64_t row = p->index;
    const struct hc_call *call = p->call;
    if (slot == HC_MERGE_LA || slot == HC_MERGE_LB)
        return row % 7 == 3 || (row % 7 == 5 && slot == HC_MERGE_LB) ? -(double)INFINITY
                                                                     : 200 + 4 * hc_draw_normal(p);
    double la = hc_tensor_get(&call->in[HC_MERGE_LA], (int64_t)row);
    double lb = hc_tensor_get(&call->in[HC_MERGE_LB], (int64_t)row);
    double max = fmax(la, lb);
    return isinf(max) ? max : max + log(exp(la - max) + exp(lb - max));
}

static double parts_that_agree(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)values;
    return slot == HC_MERGE_BWD_DLSE ? hc_draw_normal(p) : 4 + hc_draw_normal(p) / 16;
}

static void small_parts(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[1] = hc_at_most(13, d[1]);
    d[2] = hc_at_most(11, d[2]);
}

static void small_part_rows(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[1] = hc_at_most(13, d[1]);
}

static const struct hc_family_size sizes_of_parts[] = {
    {HC_STANDARD, "fp32", "", {2, 257, 129}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {2, 65, 65}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {3, 1025, 257}},
    {.set = NULL}};
static const struct hc_family_size sizes_of_part_gradients[] = {
    {HC_STANDARD, "fp32", "", {2, 257, 65}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {2, 65, 33}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {3, 1025, 65}},
    {.set = NULL}};

#define OF_PARTS                                                                                   \
    ALL_WITH_OPTIONS, .shapes = parts, .variants = hc_variants_plain, .open = hc_open_axes,        \
                      .kept = log_sum_of_part, .is_special = hc_one_row_in_four,                   \
                      .cancelling = parts_that_agree, .extents = extents_of_softmax,               \
                      .border_shape = border_of_softmax

static const struct hc_family attention_merge = {OF_PARTS, .small = small_parts,
                                                 .sizes = sizes_of_parts};
static const struct hc_family attention_merge_backward = {OF_PARTS, .small = small_part_rows,
                                                          .sizes = sizes_of_part_gradients};

/* Norms of a sum. A variant's first byte is 1 for Llama's cast, 2 for Gemma's offset and a sum that
   the norm sees before it is stored. */
static const struct hc_variant casts[] = {{.name = ""},
                                          {.name = "-llama", .params.later = {1}},
                                          {.name = "-gemma", .params.later = {2}},
                                          {.name = NULL}};
static const struct hc_variant not_stored[] = {
    {.name = ""}, {.name = "-gemma", .params.later = {2}}, {.name = NULL}};

/* How a number is rounded shows in a narrow format. */
static bool allows_casts(const struct hc_format_set *set, const struct hc_variant *variant)
{
    return variant->name[0] == '\0' || set->out == HC_BF16;
}

static void open_sum_norm(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    bool back = call->op == HC_OP_add_rms_norm_backward;
    bool llama = variant->params.later[0] == 1;
    bool gemma = variant->params.later[0] == 2;
    hc_open_axes(call, d, variant);
    if (gemma && call->op == HC_OP_add_layer_norm_kept)
        hc_set_flag(call, HC_ADD_LN_STORED, false);
    if (gemma && call->op == HC_OP_add_rms_norm)
        hc_set_flag(call, HC_ADD_STORED, false);
    if (gemma && call->op != HC_OP_add_layer_norm_kept)
        hc_set_real(call, back ? HC_ADD_BWD_OFFSET : HC_ADD_OFFSET, 1);
    if (llama)
        hc_set_integer(call, back ? HC_ADD_BWD_CAST : HC_ADD_CAST, 1);
}

/* Rows whose squares stay in fp32, with room for sums of them. */
static void exponents_of_squares(const struct hc_draw_site *p, double *low, double *high)
{
    (void)p;
    *low = -10;
    *high = 7;
}

#define OF_SUM_NORMS                                                                               \
    .sets = hc_sets_of_networks, .allows = allows_casts, .integers = hc_fill_defined,              \
    .unsettled = true, .cancels_within = true, .has_specials = hc_no_other_specials,               \
    .layout = hc_layout_of_options, .applies = hc_not_on_subnormals,                               \
    .exponents = exponents_of_squares, .reference_cost = 64, .sample_cost = 64, .shapes = rows,    \
    .open = open_sum_norm, .is_special = hc_one_row_in_four, .cancelling = near_100,               \
    .extents = hc_extents_of_rows, .border_shape = hc_border_of_rows, .small = small_rows,         \
    .sizes = sizes_of_rows

static const struct hc_family sum_rms_norm = {OF_SUM_NORMS, .variants = casts};
static const struct hc_family sum_layer_norm = {OF_SUM_NORMS, .variants = not_stored};
static const struct hc_family sum_layer_norm_backward = {OF_SUM_NORMS,
                                                         .variants = hc_variants_plain};

static const struct hc_family *const families[HC_OP_ROOM] = {
    [HC_OP_softmax_general] = &softmax_general,
    [HC_OP_softmax_general_backward] = &softmax_general_backward,
    [HC_OP_log_softmax] = &log_softmax,
    [HC_OP_log_softmax_backward] = &log_softmax_backward,
    [HC_OP_dropout_bits] = &dropout,
    [HC_OP_attention_merge] = &attention_merge,
    [HC_OP_attention_merge_backward] = &attention_merge_backward,
    [HC_OP_add_rms_norm] = &sum_rms_norm,
    [HC_OP_add_rms_norm_backward] = &sum_rms_norm,
    [HC_OP_add_layer_norm_kept] = &sum_layer_norm,
    [HC_OP_add_layer_norm_backward] = &sum_layer_norm_backward,
};

const struct hc_family *hc_family_options(enum hc_op op)
{
    return families[op] ? families[op] : hc_family_general_loss(op);
}
