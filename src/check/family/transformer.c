/* Ops of a transformer that definitions say and whose axes are more than rows: tables of rows by
   index, turned pairs, and attention. What they share with others is defined.c's. */
#include <math.h>
#include <string.h>

#include "check/family/family.h"
#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "op/attention.h"
#include "op/later.h"

/* Sums at boundaries of a wide format cancel to what a narrow one has as a subnormal number. */
static bool not_narrowed(const struct hc_call *call, enum hc_distribution distribution)
{
    return distribution != HC_DRAW_BOUNDARIES ||
           call->in[HC_FIRST].format == call->out[HC_FIRST].format;
}

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

/* Each row of the gradient has some terms, except for one in a few. */
static const struct hc_op_shape gradients[] = {
    {"9x5x33", HC_QUICK, true, false, {9, 5, 33}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"0x2x0", HC_STANDARD, false, false, {0, 2, 0}},
    {"3x0x4", HC_STANDARD, false, false, {3, 0, 4}},
    {"7x3x300", HC_STANDARD, false, false, {7, 3, 300}},
    {"57x33x400", HC_EXHAUSTIVE, true, false, {57, 33, 400}},
    {.name = NULL},
};

static const struct hc_variant paddings[] = {
    {.name = ""}, {.name = "-padding", .params.later = {1}}, {.name = NULL}};

/* The gradient names its axes in another order. A variant may have a row that takes none. */
static void open_gradient(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    int64_t turned[8] = {d[2], d[1], d[0]};
    int64_t row = variant->params.later[0];
    hc_open_axes(call, turned, variant);
    if (row)
        memcpy(call->params.later, &row, sizeof row);
}

static bool allows_padding(const struct hc_format_set *set, const struct hc_variant *variant)
{
    return variant->name[0] == '\0' || set->in == HC_FP32 || set->in == HC_FP64;
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

/* As a network takes them. Into a wider format the bound, which lets weights be rounded into that
   of q, would say nothing of who does not round them. */
static const struct hc_format_set formats_of_heads[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {.name = NULL},
};

/* Heads, rows and depth of q, keys, and the width of v. With fewer keys than rows the first rows
   see none where the mask is causal. */
static const struct hc_op_shape heads[] = {
    {"2x5x4x7x3", HC_QUICK, true, false, {2, 5, 4, 7, 3}},
    {"1x1x1x1x1", HC_STANDARD, false, false, {1, 1, 1, 1, 1}},
    {"2x0x3x4x2", HC_STANDARD, false, false, {2, 0, 3, 4, 2}},
    {"1x3x2x0x2", HC_STANDARD, false, false, {1, 3, 2, 0, 2}},
    {"1x9x3x5x4", HC_STANDARD, false, false, {1, 9, 3, 5, 4}},
    {"1x11x8x13x5", HC_STANDARD, false, false, {1, 11, 8, 13, 5}},
    {"2x65x16x130x17", HC_EXHAUSTIVE, true, false, {2, 65, 16, 130, 17}},
    {.name = NULL},
};

/* Without rows of q there are gradients of keys, all of them zeros: case
   transformer/attention-gradient-of-nothing. */
static const struct hc_op_shape heads_back[] = {
    {"2x5x4x7x3", HC_QUICK, true, false, {2, 5, 4, 7, 3}},
    {"1x1x1x1x1", HC_STANDARD, false, false, {1, 1, 1, 1, 1}},
    {"2x0x3x0x2", HC_STANDARD, false, false, {2, 0, 3, 0, 2}},
    {"1x9x3x5x4", HC_STANDARD, false, false, {1, 9, 3, 5, 4}},
    {"1x11x8x13x5", HC_STANDARD, false, false, {1, 11, 8, 13, 5}},
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

/* Masks and borders are the same in all formats. */
static bool allows(const struct hc_format_set *set, const struct hc_variant *variant)
{
    return variant->name[0] == '\0' || set->out == HC_FP32 || set->out == HC_BF16;
}

/* A kernel is told the scale as a number. */
static void open_heads(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    bool full = variant->params.later[OF_ALL_KEYS] != 0;
    double scale = full ? 0.3 : 1 / sqrt((double)d[2]);
    hc_open_axes(call, d, variant);
    memcpy(call->params.later, &scale, sizeof scale);
    call->params.later[OF_ALL_KEYS] = !full;
}

static void integer_masks(struct hc_variant *variant, int number)
{
    variant->name = "-border"; /* `allows` knows it */
    variant->params.later[OF_ALL_KEYS] = (unsigned char)(number % 2);
}

/* attention_general: heads of q, rows and depth, heads of k, keys, and the width of v. */
static const struct hc_op_shape shared_heads[] = {
    {"4x5x4x2x7x3", HC_QUICK, true, false, {4, 5, 4, 2, 7, 3}},
    {"1x1x1x1x1x1", HC_STANDARD, false, false, {1, 1, 1, 1, 1, 1}},
    {"3x9x3x1x5x4", HC_STANDARD, false, false, {3, 9, 3, 1, 5, 4}},
    {"2x11x8x2x13x5", HC_STANDARD, false, false, {2, 11, 8, 2, 13, 5}},
    {"4x65x16x2x130x17", HC_EXHAUSTIVE, true, false, {4, 65, 16, 2, 130, 17}},
    {.name = NULL},
};

/* What a variant of attention_general is made of; its number is in the variant's first byte. */
struct attention_options {
    bool full;
    bool top_left;
    int64_t before;
    int64_t after;
    double cap;
    enum hc_attention_weights weights;
};

static const struct attention_options attention_options[] = {
    {.before = 1 << 24},
    {.full = true, .before = 1 << 24},
    {.before = 2, .after = 1},
    {.before = 2, .after = -1},
    {.top_left = true, .before = 1 << 24},
    {.before = 1 << 24, .cap = 1.5},
    {.before = 1 << 24, .weights = HC_WEIGHTS_AS_THEY_ARE},
    {.before = 1 << 24, .weights = HC_WEIGHTS_E4M3},
};

static const struct hc_variant options[] = {
    {.name = ""},
    {.name = "-full", .params.later = {1}},
    {.name = "-window", .params.later = {2}},
    {.name = "-window-behind", .params.later = {3}},
    {.name = "-top-left", .params.later = {4}},
    {.name = "-cap", .params.later = {5}},
    {.name = "-not-stored", .params.later = {6}},
    {.name = "-e4m3", .params.later = {7}},
    {.name = NULL},
};

/* Masks are the same in all formats; how weights are stored shows in narrow ones. */
static bool allows_options(const struct hc_format_set *set, const struct hc_variant *variant)
{
    const struct attention_options *o = &attention_options[variant->params.later[0]];
    if (variant->name[0] == '\0')
        return true;
    return o->weights ? set->out == HC_BF16 : set->out == HC_FP32;
}

/* One variant tries all distributions. Normal numbers show what an option does to a row. */
static bool says_more(const struct hc_call *call, enum hc_distribution distribution)
{
    const struct hc_attention a = hc_attention_of(call);
    bool plain = a.causal && a.before > a.keys && a.after == 0 && a.diagonal == a.keys - a.rows &&
                 !(a.cap > 0) && a.weights == HC_WEIGHTS_STORED;
    return distribution == HC_DRAW_NORMAL || (plain && hc_not_on_subnormals(call, distribution));
}

/* The weight of a key is not 0, and takes its value along to all rows that see it: those of the
   heads that share it. */
static bool is_special_value(const struct hc_draw_site *p, int slot)
{
    return slot == HC_ATTENTION_V && p->index == 0;
}

static void open_shared_heads(struct hc_call *call, const int64_t *d,
                              const struct hc_variant *variant)
{
    const struct attention_options *o = &attention_options[variant->params.later[0]];
    double scale = 1 / sqrt((double)d[2]);
    hc_open_axes(call, d, variant);
    memcpy(hc_attention_option(call, HC_ATTENTION_SCALE), &scale, sizeof scale);
    *hc_attention_option(call, HC_ATTENTION_CAUSAL) = !o->full;
    *hc_attention_option(call, HC_ATTENTION_TOP_LEFT) = o->top_left;
    memcpy(hc_attention_option(call, HC_ATTENTION_BEFORE), &o->before, sizeof o->before);
    memcpy(hc_attention_option(call, HC_ATTENTION_AFTER), &o->after, sizeof o->after);
    memcpy(hc_attention_option(call, HC_ATTENTION_CAP), &o->cap, sizeof o->cap);
    *hc_attention_option(call, HC_ATTENTION_WEIGHTS) = (unsigned char)o->weights;
}

static void integer_options(struct hc_variant *variant, int number)
{
    static const unsigned char few[] = {0, 1, 2, 5};
    variant->name = "-border"; /* `allows_options` knows it */
    variant->params.later[0] = few[number % 4];
}

/* The log of the sum of a row's exponentials, as a forward pass would keep it. */
static double log_sum(const struct hc_draw_site *p, int slot)
{
    const struct hc_call *call = p->call;
    const struct hc_attention a = hc_attention_of(call);
    int64_t row = (int64_t)p->index;
    int64_t head = row / a.rows;
    int64_t past = hc_attention_past(&a, row % a.rows);
    double sink = a.sink ? hc_tensor_get(a.sink, head) : -(double)INFINITY;
    double max = sink;
    double sum = 0;
    (void)slot;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t u = hc_attention_first(&a, row % a.rows); u < past; u++) {
            int64_t key = head / a.sharing * a.keys + u;
            double s = 0;
            for (int64_t d = 0; d < a.depth; d++)
                s += hc_tensor_get(&call->in[HC_ATTENTION_Q], row * a.depth + d) *
                     hc_tensor_get(&call->in[HC_ATTENTION_K], key * a.depth + d);
            s *= a.scale;
            s = a.cap > 0 ? a.cap * tanh(s / a.cap) : s;
            max = pass == 0 ? fmax(max, s) : max;
            sum += pass == 0 ? 0 : exp(s - max);
        }
    return max + log(sum + (sink > -(double)INFINITY ? exp(sink - max) : 0));
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
    static const int64_t least[5] = {1, 2, 2, 3, 1};
    (void)number;
    memcpy(d, least, sizeof least);
    d[extent == HC_EXTENT_LOSS_ROWS ? 1 : extent == HC_EXTENT_VECTOR ? 4 : 3] = size;
}

static void border_of_shared_heads(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    static const int64_t least[6] = {2, 1, 1, 1, 3, 1};
    (void)extent;
    (void)number;
    memcpy(d, least, sizeof least);
    d[4] = size;
}

static const struct hc_family_extent extents_of_shared_heads[] = {
    {HC_EXTENT_LOSS_CLASSES, HC_NEVER_ALONE, false}, {HC_EXTENT_COUNT, 0, false}};

static const struct hc_family_extent extents_of_heads[] = {
    {HC_EXTENT_LOSS_CLASSES, HC_NEVER_ALONE, false},
    {HC_EXTENT_LOSS_ROWS, 1, false},
    {HC_EXTENT_VECTOR, HC_NEVER_ALONE, false},
    {HC_EXTENT_COUNT, 0, false}};

/* Large calls. Axes that no place counts on are repeated, the others stay as they are: words that
   are read and their length, rows of heads that are turned, rows that are exchanged; and of
   attention, whose rows and keys have their places, whole heads. */
enum { ROWS = 13, COLUMNS = 11 };

static const struct {
    char rows;
    char columns;
} repeated[HC_OP_ROOM] = {
    [HC_OP_embedding] = {'N', 'D'},       [HC_OP_embedding_backward] = {'N', 'D'},
    [HC_OP_rotary_halves] = {'T', 0},     [HC_OP_swap_axes] = {'T', 'D'},
    [HC_OP_attention] = {'H', 0},         [HC_OP_attention_backward] = {'H', 0},
    [HC_OP_attention_general] = {'H', 0}, [HC_OP_attention_general_backward] = {'H', 0},
};

static void layout(const struct hc_call *call, int slot, const struct hc_tensor *few,
                   const struct hc_tensor *large, struct hc_axes *to)
{
    const char *letter = hc_slot(call->op, slot)->shape + 1; /* "[T, D]" */
    for (int a = 0; a < large->rank; a++, letter += 3) {
        enum hc_axis_kind kind = *letter == repeated[call->op].rows      ? HC_AXIS_ROWS
                                 : *letter == 'G'                        ? HC_AXIS_ROWS
                                 : *letter == repeated[call->op].columns ? HC_AXIS_COLUMNS
                                                                         : HC_AXIS_TERMS;
        hc_axes_add(to, kind, few->shape[a], large->shape[a], 1, 0);
    }
}

static void small_table(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[1] = hc_at_most(COLUMNS, d[1]);
    d[2] = hc_at_most(ROWS, d[2]);
}

static void small_turn(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[1] = hc_at_most(ROWS, d[1]);
}

static void small_four(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[1] = hc_at_most(ROWS, d[1]);
    d[3] = hc_at_most(COLUMNS, d[3]);
}

static void small_heads(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(ROWS, d[0]);
}

/* For each key a gradient asks of all heads whether they share it, so that few are repeated. */
static void small_shared_heads(const union hc_params *params, int64_t *d)
{
    enum { HEADS = 4 };
    (void)params;
    d[0] = hc_at_most(HEADS, d[0]);
    d[3] = hc_at_most(HEADS, d[3]);
}

static const struct hc_family_size sizes_of_tables[] = {
    {HC_STANDARD, "fp32", "", {257, 257, 4097}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {33, 65, 1025}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {257, 257, 4097}},
    {.set = NULL}};
/* Few rows, since 13 words are read, and most rows have some of them. */
static const struct hc_family_size sizes_of_gradients[] = {
    {HC_STANDARD, "fp32", "", {7, 257, 1025}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {7, 257, 257}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {7, 1025, 1025}},
    {.set = NULL}};
static const struct hc_family_size sizes_of_turns[] = {
    {HC_STANDARD, "fp32", "", {3, 4097, 64}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {2, 1025, 32}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {3, 4097, 64}},
    {.set = NULL}};
static const struct hc_family_size sizes_of_fours[] = {
    {HC_STANDARD, "fp32", "", {2, 1025, 3, 129}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {2, 257, 3, 65}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {2, 1025, 3, 129}},
    {.set = NULL}};
static const struct hc_family_size sizes_of_heads[] = {
    {HC_STANDARD, "fp32", "", {1025, 9, 8, 11, 8}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {1025, 9, 8, 11, 8}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {1025, 33, 8, 35, 8}},
    {.set = NULL}};
/* As many heads of keys as of q, or one for all, so that repeated heads share repeated ones. */
static const struct hc_family_size sizes_of_shared_heads[] = {
    {HC_STANDARD, "fp32", "", {1025, 9, 8, 1025, 11, 8}},
    {HC_STANDARD, "fp32", "-window", {1025, 9, 8, 1, 11, 8}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {1025, 9, 8, 1025, 11, 8}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {1025, 33, 8, 1025, 35, 8}},
    {.set = NULL}};
/* One head of keys would have the gradients of all that share it. */
static const struct hc_family_size sizes_of_shared_gradients[] = {
    {HC_STANDARD, "fp32", "", {257, 17, 16, 257, 11, 8}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {257, 17, 16, 257, 11, 8}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {1025, 33, 8, 1025, 35, 8}},
    {.set = NULL}};

#define ALL_OF_THESE                                                                               \
    .integers = hc_fill_defined, .unsettled = true, .reference_cost = 64, .sample_cost = 64,       \
    .has_specials = hc_no_other_specials, .layout = layout
#define OF_ROWS                                                                                    \
    .sets = hc_sets_mixed, .is_special = hc_one_row_in_four, .applies = not_narrowed,              \
    .exponents = hc_exponents_of_logits
#define OF_TABLES                                                                                  \
    OF_ROWS, .places = rows_of_table, .extents = extents_of_table, .border_shape = border_of_table
#define OF_HEADS                                                                                   \
    .sets = formats_of_heads, .variants = masks, .is_special = is_special, .allows = allows,       \
    .open = open_heads, .exponents = hc_exponents_of_logits, .applies = hc_not_on_subnormals,      \
    .kept = log_sum, .cancelling = cancelling, .cancels_within = true,                             \
    .extents = extents_of_heads, .border_shape = border_of_heads,                                  \
    .integer_parameters = integer_masks
#define OF_SHARED_HEADS                                                                            \
    .sets = formats_of_heads, .shapes = shared_heads, .variants = options,                         \
    .allows = allows_options, .open = open_shared_heads, .is_special = is_special_value,           \
    .exponents = hc_exponents_of_logits, .applies = says_more, .kept = log_sum,                    \
    .cancelling = cancelling, .cancels_within = true, .extents = extents_of_shared_heads,          \
    .border_shape = border_of_shared_heads, .integer_parameters = integer_options,                 \
    .small = small_shared_heads

static const struct hc_family embedding = {ALL_OF_THESE,
                                           OF_TABLES,
                                           .shapes = tables,
                                           .variants = hc_variants_plain,
                                           .open = hc_open_axes,
                                           .small = small_table,
                                           .sizes = sizes_of_tables};
static const struct hc_family embedding_backward = {ALL_OF_THESE,
                                                    OF_TABLES,
                                                    .shapes = gradients,
                                                    .variants = paddings,
                                                    .allows = allows_padding,
                                                    .open = open_gradient,
                                                    .small = small_table,
                                                    .sizes = sizes_of_gradients};
static const struct hc_family rotary_halves = {ALL_OF_THESE,
                                               OF_ROWS,
                                               .shapes = turns,
                                               .variants = hc_variants_plain,
                                               .open = hc_open_axes,
                                               .extents = extents_of_turns,
                                               .border_shape = border_of_turns,
                                               .small = small_turn,
                                               .sizes = sizes_of_turns};
static const struct hc_family swap_axes = {ALL_OF_THESE,
                                           OF_ROWS,
                                           .shapes = fours,
                                           .variants = hc_variants_plain,
                                           .open = hc_open_axes,
                                           .extents = extents_of_fours,
                                           .border_shape = border_of_fours,
                                           .small = small_four,
                                           .sizes = sizes_of_fours};
static const struct hc_family attention = {ALL_OF_THESE, OF_HEADS, .shapes = heads,
                                           .small = small_heads, .sizes = sizes_of_heads};
static const struct hc_family attention_backward = {ALL_OF_THESE, OF_HEADS, .shapes = heads_back,
                                                    .small = small_heads, .sizes = sizes_of_heads};

static const struct hc_family general = {ALL_OF_THESE, OF_SHARED_HEADS,
                                         .sizes = sizes_of_shared_heads};
static const struct hc_family general_backward = {ALL_OF_THESE, OF_SHARED_HEADS,
                                                  .sizes = sizes_of_shared_gradients};

static const struct hc_family *const rows[HC_OP_ROOM] = {
    [HC_OP_embedding] = &embedding,         [HC_OP_embedding_backward] = &embedding_backward,
    [HC_OP_rotary_halves] = &rotary_halves, [HC_OP_swap_axes] = &swap_axes,
    [HC_OP_attention] = &attention,         [HC_OP_attention_backward] = &attention_backward,
    [HC_OP_attention_general] = &general,   [HC_OP_attention_general_backward] = &general_backward,
};

const struct hc_family *hc_family_transformer(enum hc_op op)
{
    return rows[op];
}
