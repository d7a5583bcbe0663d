/* Losses with options that definitions say, cross-entropy and that of a product, and what ops with
   options share: formats, axes of large calls, and how an option is set. */
#include <math.h>
#include <string.h>

#include "check/family/family.h"
#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "op/later.h"

/* As a network takes them. */
const struct hc_format_set hc_sets_of_networks[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {.name = NULL},
};

void hc_set_real(struct hc_call *call, int option, double x)
{
    memcpy(call->params.later + (size_t)option * sizeof x, &x, sizeof x);
}

void hc_set_integer(struct hc_call *call, int option, int64_t x)
{
    memcpy(call->params.later + (size_t)option * sizeof x, &x, sizeof x);
}

void hc_set_flag(struct hc_call *call, int option, bool x)
{
    call->params.later[(size_t)option * sizeof(double)] = x;
}

/* Axes of large calls that no place counts on are repeated, the others stay as they are. */
static const struct {
    char rows;
    char columns;
} repeated[HC_OP_ROOM] = {
    [HC_OP_softmax_general] = {'H', 0},
    [HC_OP_softmax_general_backward] = {'H', 'U'},
    [HC_OP_log_softmax] = {'N', 'C'},
    [HC_OP_log_softmax_backward] = {'N', 'C'},
    [HC_OP_cross_entropy_general] = {'N', 0},
    [HC_OP_cross_entropy_general_backward] = {'N', 0},
    [HC_OP_dropout_bits] = {'I', 0},
    [HC_OP_attention_merge] = {'T', 'E'},
    [HC_OP_attention_merge_backward] = {'T', 0},
    [HC_OP_add_rms_norm] = {'T', 'D'},
    [HC_OP_add_rms_norm_backward] = {'T', 'D'},
    [HC_OP_add_layer_norm_kept] = {'T', 'D'},
    [HC_OP_add_layer_norm_backward] = {'T', 'D'},
    [HC_OP_linear_cross_entropy] = {'N', 'D'},
    [HC_OP_linear_cross_entropy_backward] = {'N', 'D'},
};

void hc_layout_of_options(const struct hc_call *call, int slot, const struct hc_tensor *few,
                          const struct hc_tensor *large, struct hc_axes *to)
{
    const char *letter = hc_slot(call->op, slot)->shape + 1; /* "[T, D]" */
    for (int a = 0; a < large->rank; a++, letter += 3) {
        enum hc_axis_kind kind = *letter == repeated[call->op].rows      ? HC_AXIS_ROWS
                                 : *letter == repeated[call->op].columns ? HC_AXIS_COLUMNS
                                                                         : HC_AXIS_TERMS;
        hc_axes_add(to, kind, few->shape[a], large->shape[a], 1, 0);
    }
    if (large->rank == 0)
        hc_axes_add(to, HC_AXIS_TERMS, 1, 1, 1, 0);
}

void hc_border_of_rows(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    d[0] = extent == HC_EXTENT_LOSS_ROWS ? size : 2;
    d[1] = extent == HC_EXTENT_LOSS_ROWS ? 3 : size;
}

const struct hc_family_extent hc_extents_of_rows[] = {{HC_EXTENT_LOSS_CLASSES, 1, false},
                                                      {HC_EXTENT_LOSS_ROWS, 0, false},
                                                      {HC_EXTENT_COUNT, 0, false}};

/* Options are the same in all formats. */
static bool allows(const struct hc_format_set *set, const struct hc_variant *variant)
{
    return variant->name[0] == '\0' || set->out == HC_FP32;
}

/* Cross-entropy: rows and classes. */
static const struct hc_op_shape losses[] = {
    {"9x10", HC_QUICK, true, false, {9, 10}},
    {"1x1", HC_STANDARD, false, false, {1, 1}},
    {"5x3", HC_STANDARD, false, false, {5, 3}},
    {"3x129", HC_STANDARD, false, false, {3, 129}},
    {"70x3", HC_EXHAUSTIVE, false, false, {70, 3}},
    {"70x300", HC_EXHAUSTIVE, false, false, {70, 300}},
    {.name = NULL},
};

/* The number of a row of loss_options is in the variant's first byte. A loss over all that count of
   one row, whose target is ignored, is NaN or 0. */
static const struct hc_variant loss_variants[] = {
    {.name = ""},
    {.name = "-ignore", .params.later = {1}},
    {.name = "-smoothing", .params.later = {2}},
    {.name = "-total", .params.later = {3}},
    {.name = NULL},
};

static const struct loss_options {
    int64_t ignore;
    double smoothing, zeta, cap;
    int64_t reduction;
    double total;
    int64_t empty;
} loss_options[] = {
    {-100, 0, 0, 0, HC_CE_MEAN, 1, 0},
    {0, 0, 0, 0, HC_CE_MEAN, 1, 1},
    {0, 0.1, 0.01, 2.5, HC_CE_SUM, 1, 0},
    {2, 0, 0, 1.5, HC_CE_OVER_TOTAL, 100, 0},
};

static void open_loss(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    const struct loss_options *o = &loss_options[variant->params.later[0]];
    hc_open_axes(call, d, variant);
    hc_set_integer(call, HC_CE_IGNORE, o->ignore);
    hc_set_real(call, HC_CE_SMOOTHING, o->smoothing);
    hc_set_real(call, HC_CE_ZETA, o->zeta);
    hc_set_real(call, HC_CE_CAP, o->cap);
    hc_set_integer(call, HC_CE_REDUCTION, o->reduction);
    hc_set_real(call, HC_CE_TOTAL, o->total);
    if (call->op == HC_OP_cross_entropy_general)
        hc_set_integer(call, HC_CE_EMPTY, o->empty);
}

static void integer_losses(struct hc_variant *variant, int number)
{
    variant->name = "-border"; /* `allows` knows it */
    variant->params.later[0] = (unsigned char)(number % 4);
}

static int64_t classes(const struct hc_call *call)
{
    return call->in[HC_CE_Z].shape[1];
}

/* What an option does to a row, normal numbers show. Of one class the gradient is 0, and what is
   left of a capped logit's is nothing but rounding. */
static bool says_more(const struct hc_call *call, enum hc_distribution distribution)
{
    bool plain = hc_defined_integer(call, HC_CE_IGNORE) < 0;
    if (classes(call) == 1 && hc_defined_real(call, HC_CE_CAP) > 0)
        return false;
    return distribution == HC_DRAW_NORMAL || (plain && hc_not_on_subnormals(call, distribution));
}

/* The log-sum of a row's capped logits, as a forward pass would keep it. */
static double log_sum(const struct hc_draw_site *p, int slot)
{
    const struct hc_tensor *z = &p->call->in[HC_CE_Z];
    double cap = hc_defined_real(p->call, HC_CE_CAP);
    double max = -(double)INFINITY;
    double sum = 0;
    (void)slot;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t c = 0; c < z->shape[1]; c++) {
            double s = hc_tensor_get(z, (int64_t)p->index * z->shape[1] + c);
            s = cap > 0 ? cap * tanh(s / cap) : s;
            max = pass == 0 ? fmax(max, s) : max;
            sum += pass == 0 ? 0 : exp(s - max);
        }
    return max + log(sum);
}

static double near_logits(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    return values == HC_VALUES_DATA ? 100 + 4 * hc_draw_normal(p) : 1;
}

static void small_loss(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(13, d[0]);
}

static const struct hc_family_size sizes_of_losses[] = {
    {HC_STANDARD, "fp32", "", {129, 33}},
    {HC_STANDARD, "fp32", "-smoothing", {129, 5}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {65, 17}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {1025, 129}},
    {.set = NULL}};

static const struct hc_family cross_entropy = {.sets = hc_sets_of_networks,
                                               .allows = allows,
                                               .integers = hc_fill_defined,
                                               .unsettled = true,
                                               .cancels_within = true,
                                               .layout = hc_layout_of_options,
                                               .exponents = hc_exponents_of_logits,
                                               .applies = says_more,
                                               .reference_cost = 64,
                                               .sample_cost = 64,
                                               .shapes = losses,
                                               .variants = loss_variants,
                                               .open = open_loss,
                                               .integer_parameters = integer_losses,
                                               .places = classes,
                                               .kept = log_sum,
                                               .is_special = hc_one_row_in_four,
                                               .has_specials = hc_no_other_specials,
                                               .never_minus_infinity = true,
                                               .cancelling = near_logits,
                                               .extents = hc_extents_of_rows,
                                               .border_shape = hc_border_of_rows,
                                               .small = small_loss,
                                               .sizes = sizes_of_losses};

/* A product and its loss: rows, depth and classes. */
static const struct hc_op_shape heads_of_models[] = {
    {"5x2x5", HC_QUICK, true, false, {5, 2, 5}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"9x2x3", HC_STANDARD, false, false, {9, 2, 3}},
    {"2x3x65", HC_STANDARD, false, false, {2, 3, 65}},
    {"2x9x3", HC_STANDARD, false, false, {2, 9, 3}},
    {"17x33x70", HC_EXHAUSTIVE, false, false, {17, 33, 70}},
    {.name = NULL},
};

/* A variant's first byte is 1 where targets of 0 are ignored, and 2 where logits are stored and dw
   is added up in chunks of two rows. */
static const struct hc_variant ignored[] = {
    {.name = ""}, {.name = "-ignore", .params.later = {1}}, {.name = NULL}};
static const struct hc_variant chunks[] = {{.name = ""},
                                           {.name = "-ignore", .params.later = {1}},
                                           {.name = "-stored", .params.later = {2}},
                                           {.name = NULL}};

static bool allows_chunks(const struct hc_format_set *set, const struct hc_variant *variant)
{
    enum hc_format format = variant->params.later[0] == 2 ? HC_BF16 : HC_FP32;
    return variant->name[0] == '\0' || set->out == format;
}

static void open_head(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    hc_open_axes(call, d, variant);
    if (variant->params.later[0] == 1)
        hc_set_integer(call, HC_LCE_IGNORE, 0);
    if (variant->params.later[0] == 2) {
        hc_set_flag(call, HC_LCE_STORED, true);
        hc_set_integer(call, HC_LCE_CHUNK, 2);
    }
}

static int64_t classes_of_head(const struct hc_call *call)
{
    return call->in[HC_LCE_W].shape[0];
}

/* Logits are near to each other, and their exponentials overflow in fp32 unless the largest is
   subtracted first. */
static double near_products(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    return values == HC_VALUES_DATA ? 24 + hc_draw_normal(p) : 4 + hc_draw_normal(p) / 4;
}

/* Each class of a gradient is judged for itself, which takes the reference too long at borders. */
static void border_of_head(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)extent;
    (void)number;
    d[0] = size;
    d[1] = 1;
    d[2] = 2;
}

static const struct hc_family_extent extents_of_heads[] = {{HC_EXTENT_LOSS_ROWS, 0, false},
                                                           {HC_EXTENT_COUNT, 0, false}};

/* A NaN takes its row with it, and the gradients of all weights. */
static bool leaves_numbers(const struct hc_call *call, enum hc_distribution distribution)
{
    return distribution != HC_DRAW_SPECIALS && hc_not_on_subnormals(call, distribution);
}

static void small_head(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(3, d[0]);
    d[1] = hc_at_most(5, d[1]);
}

static const struct hc_family_size sizes_of_model_heads[] = {
    {HC_STANDARD, "fp32", "", {65, 33, 9}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {17, 33, 5}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {257, 129, 33}},
    {.set = NULL}};

#define OF_MODEL_HEADS                                                                             \
    .sets = hc_sets_of_networks, .allows = allows_chunks, .integers = hc_fill_defined,             \
    .unsettled = true, .cancels_within = true, .has_specials = hc_no_other_specials,               \
    .layout = hc_layout_of_options, .exponents = hc_exponents_of_logits, .reference_cost = 256,    \
    .sample_cost = 256, .shapes = heads_of_models, .open = open_head, .places = classes_of_head,   \
    .is_special = hc_one_row_in_four, .cancelling = near_products, .extents = extents_of_heads,    \
    .border_shape = border_of_head, .small = small_head, .sizes = sizes_of_model_heads

static const struct hc_family linear_loss = {OF_MODEL_HEADS, .applies = hc_not_on_subnormals,
                                             .variants = ignored};
static const struct hc_family linear_loss_backward = {OF_MODEL_HEADS, .applies = leaves_numbers,
                                                      .variants = chunks};

static const struct hc_family *const families[HC_OP_ROOM] = {
    [HC_OP_cross_entropy_general] = &cross_entropy,
    [HC_OP_cross_entropy_general_backward] = &cross_entropy,
    [HC_OP_linear_cross_entropy] = &linear_loss,
    [HC_OP_linear_cross_entropy_backward] = &linear_loss_backward,
};

const struct hc_family *hc_family_general_loss(enum hc_op op)
{
    return families[op];
}
