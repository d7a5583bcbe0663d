/* Products of matrices, and of quantised ones. */

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"

/* C is there with beta = 0, too. What people call a product, and a linear layer, are rows of their
   own: a function that knows no alpha, beta and C takes no others. */
static const struct hc_variant gemms[] = {
    {.name = "", .params.gemm = {.alpha = 1}},
    {.name = "-plain", .params.gemm = {.alpha = 1}, .bare = true},
    {.name = "-added", .params.gemm = {.alpha = 1, .beta = 1}},
    {.name = "-ta", .params.gemm = {.transpose_a = true, .alpha = 1}},
    {.name = "-tb-bias", .params.gemm = {.transpose_b = true, .alpha = 1, .beta = 1}, .row = true},
    {.name = "-ta-tb-scaled",
     .params.gemm = {.transpose_a = true, .transpose_b = true, .alpha = 1.5, .beta = -0.3}},
    {.name = NULL},
};

/* Blocks of a and of b, and the longest sums. Without `bare` both tensors have a factor and C is
   there. */
static const struct hc_variant quantised_gemms[] = {
    {.name = "", .params.gemm_q = {0}, .bare = true},
    {.name = "-factors", .params.gemm_q = {0}},
    {.name = "-rowwise", .params.gemm_q = {.a_rows = 1, .b_rows = 1}, .bare = true},
    {.name = "-1x128-128x128", .params.gemm_q = {1, 128, 128, 128, 0}, .bare = true},
    {.name = "-1x32", .params.gemm_q = {1, 32, 1, 32, 0}, .bare = true},
    {.name = "-1x16-factors", .params.gemm_q = {1, 16, 1, 16, 0}},
    {.name = "-1x16-16x16", .params.gemm_q = {1, 16, 16, 16, 0}, .bare = true},
    {.name = "-promoted", .params.gemm_q = {.promote = 128}, .bare = true},
    {.name = "-3x7-5x11-promoted", .params.gemm_q = {3, 7, 5, 11, 13}},
    {.name = NULL},
};

/* Codes of both factors, the result, and the scales. */
static const struct hc_format_set quantised[] = {
    {"e4m3-fp32", HC_E4M3, HC_FP32, HC_E4M3, HC_FP32},
    {"e4m3-e8m0-fp32", HC_E4M3, HC_FP32, HC_E4M3, HC_E8M0},
    {"e2m1-ue4m3-fp32", HC_E2M1, HC_FP32, HC_E2M1, HC_UE4M3},
    {"e5m2-bf16", HC_E5M2, HC_BF16, HC_E5M2, HC_FP32},
    {"e4m3xe5m2-bf16", HC_E4M3, HC_BF16, HC_E5M2, HC_FP32},
    {"e5m2xe4m3-e8m0-fp16", HC_E5M2, HC_FP16, HC_E4M3, HC_E8M0},
    {"e4m3fnuz-fp32", HC_E4M3FNUZ, HC_FP32, HC_E4M3FNUZ, HC_FP32},
    {"e5m2fnuzxe4m3fnuz-bf16", HC_E5M2FNUZ, HC_BF16, HC_E4M3FNUZ, HC_FP32},
    {"e2m3-e8m0-fp32", HC_E2M3, HC_FP32, HC_E2M3, HC_E8M0},
    {"e3m2-e8m0-bf16", HC_E3M2, HC_BF16, HC_E3M2, HC_E8M0},
    {"e2m1-e8m0-fp16", HC_E2M1, HC_FP16, HC_E2M1, HC_E8M0},
    {.name = NULL},
};

static const struct hc_op_shape products[] = {
    {"13x9x33", HC_QUICK, true, false, {13, 9, 33}},
    {"0x5x3", HC_STANDARD, false, false, {0, 5, 3}},
    {"5x3x0", HC_STANDARD, false, false, {5, 3, 0}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"65x1x1", HC_STANDARD, false, false, {65, 1, 1}},
    {"1x65x1", HC_STANDARD, false, false, {1, 65, 1}},
    {"1x1x65", HC_STANDARD, false, false, {1, 1, 65}},
    {"8x64x16", HC_STANDARD, false, false, {8, 64, 16}},
    {"5x3x300", HC_STANDARD, false, false, {5, 3, 300}},
    {"65x129x300", HC_EXHAUSTIVE, true, false, {65, 129, 300}},
    {.name = NULL},
};

/* K that blocks of 16, 32 and 128 divide, and do not. */
static const struct hc_op_shape block_products[] = {
    {"13x9x70", HC_QUICK, true, false, {13, 9, 70}},
    {"0x5x3", HC_STANDARD, false, false, {0, 5, 3}},
    {"5x3x0", HC_STANDARD, false, false, {5, 3, 0}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"33x40x128", HC_STANDARD, false, false, {33, 40, 128}},
    {"5x3x300", HC_STANDARD, true, false, {5, 3, 300}},
    {"50x70x260", HC_EXHAUSTIVE, true, false, {50, 70, 260}},
    {.name = NULL},
};

static void open_gemm(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    const struct hc_gemm *p = &call->params.gemm;
    call->in[HC_GEMM_A] = hc_rank2(d[0], d[2], p->transpose_a);
    call->in[HC_GEMM_B] = hc_rank2(d[2], d[1], p->transpose_b);
    call->in[HC_GEMM_C] =
        variant->row ? hc_tensor1(HC_FP32, d[1], NULL) : hc_rank2(d[0], d[1], false);
    call->out[HC_GEMM_OUT] = hc_rank2(d[0], d[1], false);
}

static struct hc_tensor block_scales(const struct hc_tensor *codes, int64_t rows, int64_t columns)
{
    return hc_rank2(hc_quant_blocks(codes->shape[0], rows),
                    hc_quant_blocks(codes->shape[1], columns), false);
}

static void open_gemm_q(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    (void)variant;
    *a = hc_rank2(d[0], d[2], false);
    *b = hc_rank2(d[1], d[2], false);
    call->in[HC_GEMM_Q_C] = hc_rank2(d[0], d[1], false);
    call->in[HC_GEMM_Q_A_SCALES] = block_scales(a, p->a_rows, p->a_columns);
    call->in[HC_GEMM_Q_B_SCALES] = block_scales(b, p->b_rows, p->b_columns);
    call->out[HC_GEMM_Q_OUT] = hc_rank2(d[0], d[1], false);
}

static enum hc_format accumulator(const struct hc_call *call)
{
    return call->params.gemm.half_accumulator ? HC_FP16 : HC_FP32;
}

/* A sum that cancels may lose as much in fp16 as it leaves, and a long one of both signs comes to
   1 / sqrt(n) of its terms and may lose n 2^-11. */
static bool applies(const struct hc_call *call, enum hc_distribution distribution)
{
    enum { LONG_IN_HALF = 64 };
    if (!call->params.gemm.half_accumulator || distribution == HC_DRAW_SUBNORMALS)
        return true;
    return distribution != HC_DRAW_CANCELLATION && hc_call_length(call) <= LONG_IN_HALF;
}

/* Whether its codes can be NaN, or its scales, of which one for all rows never is. */
static bool holds_specials(const struct hc_call *call)
{
    return hc_formats[call->in[HC_GEMM_Q_A].format].special != HC_SPECIAL_NONE ||
           call->in[HC_GEMM_Q_A_SCALES].shape[0] > 1 || call->in[HC_GEMM_Q_B_SCALES].shape[0] > 1;
}

static bool applies_q(const struct hc_call *call, enum hc_distribution distribution)
{
    return distribution != HC_DRAW_SPECIALS || holds_specials(call);
}

static struct hc_run along_terms(const struct hc_call *call, int slot)
{
    const int64_t *d = call->in[slot].shape;
    const struct hc_gemm *p = &call->params.gemm;
    bool along_rows = slot == HC_GEMM_A ? p->transpose_a : !p->transpose_b;
    return along_rows ? (struct hc_run){d[1], d[0]} : (struct hc_run){1, d[1]};
}

static struct hc_run along_rows(const struct hc_call *call, int slot)
{
    return (struct hc_run){1, call->in[slot].shape[1]};
}

static bool is_first(const struct hc_draw_site *p, int slot)
{
    const int64_t *d = p->call->in[slot].shape;
    int64_t i = (int64_t)p->index;
    return p->call->params.gemm.transpose_b ? i % d[1] == 0 : i < d[1];
}

static bool is_first_q(const struct hc_draw_site *p, int slot)
{
    return (int64_t)p->index % p->call->in[slot].shape[1] == 0;
}

static double whole(const struct hc_draw_site *p, int slot)
{
    return slot == HC_GEMM_C ? hc_whole_unit(p->call) : hc_whole_factor(p, slot);
}

static bool has_whole(const struct hc_call *call)
{
    const struct hc_gemm *g = &call->params.gemm;
    return g->alpha == 1 && (g->beta == 0 || g->beta == 1) && hc_whole_fits(call);
}

static const struct hc_family_sums sums = {
    .terms = HC_GEMM_B, .is_first = is_first, .whole = whole, .has_whole = has_whole};
static const struct hc_family_sums sums_q = {
    .terms = HC_GEMM_Q_B, .is_first = is_first_q, .whole = whole, .in_codes = true};

static void border_shape(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    d[0] = extent == HC_EXTENT_GEMM_M ? size : 3;
    d[1] = extent == HC_EXTENT_GEMM_N ? size : 5;
    d[2] = extent == HC_EXTENT_GEMM_K ? size : extent == HC_EXTENT_GEMM_N ? 9 : 7;
}

static const struct hc_family_extent extents[] = {{HC_EXTENT_GEMM_M, 0, true},
                                                  {HC_EXTENT_GEMM_N, 1, true},
                                                  {HC_EXTENT_GEMM_K, 2, true},
                                                  {HC_EXTENT_COUNT, 0, false}};

/* The last chooses transpositions, alpha, beta and C. */
static const struct hc_family_choices choices = {
    {{4, {1, 7, 16, 65}},
     {4, {1, 9, 16, 33}},
     {4, {1, 8, 17, 64}},
     [HC_PAIR_FACTORS - 1] = {12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}};

static void integer_parameters(struct hc_variant *variant, int number)
{
    variant->params.gemm = (struct hc_gemm){.transpose_a = number % 2,
                                            .transpose_b = number / 2 % 2,
                                            .alpha = number % 3 ? 1 : -1,
                                            .beta = number % 3 - 1};
    variant->row = number / 4 % 2;
}

static void integer_parameters_q(struct hc_variant *variant, int number)
{
    static const struct hc_gemm_q blocks[] = {
        {0}, {1, 32, 1, 32, 0}, {1, 128, 128, 128, 128}, {3, 7, 5, 11, 13}};
    variant->params.gemm_q = blocks[number % 4];
    variant->bare = number / 4 % 2;
}

static bool gemm_integers(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_gemm *p = &call->params.gemm;
    int64_t m = call->out[HC_GEMM_OUT].shape[0];
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    int64_t terms = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1];
    int32_t most = hc_integers_factor(z, terms);
    if (most == 0)
        return false;
    hc_integers_fill_slot(z, HC_GEMM_A, most, 1);
    hc_integers_fill_slot(z, HC_GEMM_B, most, 1);
    hc_integers_fill_slot(z, HC_GEMM_C, 8, 1);
    for (int64_t at = 0; at < m * n; at++) {
        int64_t i = at / n;
        int64_t j = at % n;
        int64_t sum = 0;
        for (int64_t k = 0; k < terms; k++)
            sum += z->value[HC_GEMM_A][p->transpose_a ? k * m + i : i * terms + k] *
                   z->value[HC_GEMM_B][p->transpose_b ? j * terms + k : k * n + j];
        sum *= (int64_t)p->alpha;
        if (p->beta != 0)
            sum += (int64_t)p->beta * z->value[HC_GEMM_C][call->in[HC_GEMM_C].rank == 1 ? j : at];
        z->want[HC_GEMM_OUT][at] = (double)sum;
    }
    return true;
}

/* gemm_q of integers: codes and scales are integers, the scales powers of two, and so are the sums
   of all pieces. Integers up to this are numbers of the format. */
static int32_t largest(enum hc_format format)
{
    return format == HC_E2M1 ? 4 : format == HC_E2M3 ? 7 : 8;
}

/* 1 or 2, of a tensor 2, or nothing where the slot is absent. */
static void fill_scales(const struct hc_integers *z, int slot)
{
    bool tensor = slot == HC_GEMM_Q_A_TENSOR || slot == HC_GEMM_Q_B_TENSOR;
    int64_t n = z->call.in[slot].data ? hc_tensor_count(&z->call.in[slot]) : 0;
    for (int64_t i = 0; i < n; i++)
        z->value[slot][i] = !tensor && hc_integers_draw(z, slot, i, 1) > 0 ? 1 : 2;
    if (n)
        hc_integers_set(z, slot, 1);
}

static int64_t scale_at(const struct hc_integers *z, int slot, int64_t row, int64_t rows,
                        int64_t column, int64_t columns)
{
    int64_t down = rows > 0 ? row / rows : 0;
    int64_t across = columns > 0 ? column / columns : 0;
    return z->value[slot][down * z->call.in[slot].shape[1] + across];
}

static int64_t sum_at(const struct hc_integers *z, int64_t i, int64_t j)
{
    const struct hc_gemm_q *p = &z->call.params.gemm_q;
    int64_t terms = z->call.in[HC_GEMM_Q_A].shape[1];
    int64_t sum = 0;
    for (int64_t k = 0; k < terms; k++)
        sum += z->value[HC_GEMM_Q_A][i * terms + k] * z->value[HC_GEMM_Q_B][j * terms + k] *
               scale_at(z, HC_GEMM_Q_A_SCALES, i, p->a_rows, k, p->a_columns) *
               scale_at(z, HC_GEMM_Q_B_SCALES, j, p->b_rows, k, p->b_columns);
    return sum;
}

static bool gemm_q_integers(struct hc_integers *z)
{
    enum { SCALES = 16 }; /* four of up to 2 */
    const struct hc_call *call = &z->call;
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    int32_t most = hc_integers_factor(z, a->shape[1] * SCALES);
    if (most == 0)
        return false;
    hc_integers_fill_slot(z, HC_GEMM_Q_A, most < largest(a->format) ? most : largest(a->format), 1);
    hc_integers_fill_slot(z, HC_GEMM_Q_B, most < largest(b->format) ? most : largest(b->format), 1);
    if (call->in[HC_GEMM_Q_C].data)
        hc_integers_fill_slot(z, HC_GEMM_Q_C, 8, 1);
    for (int slot = HC_GEMM_Q_A_SCALES; slot <= HC_GEMM_Q_B_TENSOR; slot++)
        fill_scales(z, slot);
    for (int64_t at = 0; at < hc_tensor_count(&call->out[HC_GEMM_Q_OUT]); at++) {
        int64_t sum = sum_at(z, at / b->shape[0], at % b->shape[0]);
        const int factors[] = {HC_GEMM_Q_A_TENSOR, HC_GEMM_Q_B_TENSOR};
        for (int f = 0; f < 2; f++)
            sum *= call->in[factors[f]].data ? z->value[factors[f]][0] : 1;
        if (call->in[HC_GEMM_Q_C].data)
            sum += z->value[HC_GEMM_Q_C][at];
        z->want[HC_GEMM_Q_OUT][at] = (double)sum;
    }
    return true;
}

/* How many different rows and columns a large product has. */
enum { ROWS = 13, COLUMNS = 11 };

static void small(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(ROWS, d[0]);
    d[1] = hc_at_most(COLUMNS, d[1]);
}

static void layout(const struct hc_call *call, int slot, const struct hc_tensor *few,
                   const struct hc_tensor *large, struct hc_axes *to)
{
    const struct hc_gemm *p = &call->params.gemm;
    enum hc_axis_kind a[] = {HC_AXIS_ROWS, HC_AXIS_TERMS};
    enum hc_axis_kind b[] = {HC_AXIS_TERMS, HC_AXIS_COLUMNS};
    enum hc_axis_kind c[] = {HC_AXIS_ROWS, HC_AXIS_COLUMNS};
    if (p->transpose_a)
        a[0] = HC_AXIS_TERMS, a[1] = HC_AXIS_ROWS;
    if (p->transpose_b)
        b[0] = HC_AXIS_COLUMNS, b[1] = HC_AXIS_TERMS;
    bool row = slot == HC_GEMM_C && large->rank == 1;
    hc_axes_plain(to, few, large, slot == HC_GEMM_A ? a : slot == HC_GEMM_B ? b : row ? &c[1] : c);
}

/* Blocks are of one row or of all rows; scales of all rows have one row themselves. */
static void layout_q(const struct hc_call *call, int slot, const struct hc_tensor *few,
                     const struct hc_tensor *large, struct hc_axes *to)
{
    static const enum hc_axis_kind kinds[][2] = {
        [HC_GEMM_Q_A] = {HC_AXIS_ROWS, HC_AXIS_TERMS},
        [HC_GEMM_Q_B] = {HC_AXIS_COLUMNS, HC_AXIS_TERMS},
        [HC_GEMM_Q_C] = {HC_AXIS_ROWS, HC_AXIS_COLUMNS},
        [HC_GEMM_Q_A_SCALES] = {HC_AXIS_ROWS, HC_AXIS_TERMS},
        [HC_GEMM_Q_B_SCALES] = {HC_AXIS_COLUMNS, HC_AXIS_TERMS},
        [HC_GEMM_Q_A_TENSOR] = {HC_AXIS_TERMS, HC_AXIS_TERMS},
        [HC_GEMM_Q_B_TENSOR] = {HC_AXIS_TERMS, HC_AXIS_TERMS},
    };
    bool out = slot >= hc_ops[call->op].inputs;
    hc_axes_plain(to, few, large, kinds[out ? HC_GEMM_Q_C : slot]);
}

static const struct hc_family_size sizes[] = {
    {HC_QUICK, "fp32", "", {128, 128, 32}},
    {HC_STANDARD, "fp32", "-ta", {257, 255, 129}},
    {HC_STANDARD, "fp32", "-tb-bias", {129, 385, 257}},
    {HC_STANDARD, "fp32", "-ta-tb-scaled", {127, 127, 255}},
    {HC_STANDARD, "fp32", "", {64, 65, 4097}},
    {HC_STANDARD, "fp32", "", {1, 1025, 1024}},
    {HC_STANDARD, "fp16", "", {256, 256, 128}},
    {HC_STANDARD, "fp16", "-ta", {129, 127, 511}},
    {HC_STANDARD, "fp16", "-tb-bias", {385, 129, 257}},
    {HC_STANDARD, "fp16", "-ta-tb-scaled", {255, 513, 65}},
    {HC_STANDARD, "fp16-fp32", "", {128, 257, 256}},
    {HC_STANDARD, "bf16", "", {129, 129, 129}},
    {HC_STANDARD, "bf16", "-ta", {256, 128, 512}},
    {HC_STANDARD, "bf16", "-tb-bias", {257, 257, 65}},
    {HC_STANDARD, "bf16-fp32", "-ta-tb-scaled", {128, 256, 129}},
    {HC_STANDARD, "fp64", "", {129, 255, 64}},
    {HC_STANDARD, "fp64", "-plain", {257, 257, 65}},
    {HC_STANDARD, "fp32-as-tf32", "", {257, 129, 128}},
    {HC_STANDARD, "e4m3-fp32", "-tb-bias", {129, 257, 129}},
    {HC_STANDARD, "fp32", "-plain", {257, 257, 257}},
    {HC_STANDARD, "fp32", "-plain", {512, 512, 256}},
    {HC_STANDARD, "fp32", "-added", {257, 257, 257}},
    {HC_STANDARD, "fp32", "-added", {512, 512, 256}},
    {HC_STANDARD, "fp16", "-plain", {257, 257, 257}},
    {HC_STANDARD, "fp16", "-plain", {512, 512, 256}},
    {HC_STANDARD, "fp16", "-added", {257, 257, 257}},
    {HC_STANDARD, "fp16", "-added", {512, 512, 256}},
    {HC_STANDARD, "bf16", "-plain", {257, 257, 257}},
    {HC_STANDARD, "bf16", "-plain", {512, 512, 256}},
    {HC_STANDARD, "bf16", "-added", {257, 257, 257}},
    {HC_STANDARD, "bf16", "-added", {512, 512, 256}},
    {HC_STANDARD, HC_OTHER_SETS, "-plain", {129, 129, 65}},
    {HC_EXHAUSTIVE, "fp16-in-fp16", "-plain", {512, 512, 33}}, /* longer sums lie in the bound */
    {HC_EXHAUSTIVE, "fp16-in-fp16-fp32", "-plain", {512, 512, 33}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, "-plain", {512, 512, 256}},
    {HC_EXHAUSTIVE, "fp32", "", {4096, 4096, 4096}},
    {HC_EXHAUSTIVE, "fp16", "-tb-bias", {4096, 4096, 4096}},
    {HC_EXHAUSTIVE, "bf16", "-ta", {4097, 4095, 4097}},
    {.set = NULL},
};

static const struct hc_family_size sizes_q[] = {
    {HC_STANDARD, "e4m3-fp32", "", {129, 257, 129}},
    {HC_STANDARD, "e4m3-fp32", "-rowwise", {257, 129, 160}},
    {HC_STANDARD, "e4m3-e8m0-fp32", "-1x32", {128, 127, 256}},
    {HC_STANDARD, "e2m1-ue4m3-fp32", "-1x16-factors", {129, 255, 272}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {129, 129, 129}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {257, 257, 257}},
    {.set = NULL},
};

#define ALL_PRODUCTS                                                                               \
    .addends = 1u << HC_GEMM_C, .multiplies = true, .extents = extents,                            \
    .border_shape = border_shape, .choices = &choices, .small = small

const struct hc_family hc_family_gemm = {
    ALL_PRODUCTS,
    .sets = hc_sets_multiplied,
    .shapes = products,
    .variants = gemms,
    .open = open_gemm,
    .applies = applies,
    .run = along_terms,
    .sums = &sums,
    .accumulator = accumulator,
    .turns = 2, /* with a factor as it is, and transposed */
    .integers = gemm_integers,
    .integer_parameters = integer_parameters,
    .layout = layout,
    .sizes = sizes,
    .cuts = hc_cut_gemm,
};

_Static_assert((int)HC_GEMM_Q_C == (int)HC_GEMM_C && (int)HC_GEMM_Q_B == (int)HC_GEMM_B,
               "both products share their rows");
const struct hc_family hc_family_gemm_q = {
    ALL_PRODUCTS,
    .sets = quantised,
    .shapes = block_products,
    .variants = quantised_gemms,
    .open = open_gemm_q,
    .applies = applies_q,
    .half_subnormal = true, /* codes of few bits, whose sums would have none to round */
    .run = along_rows,
    .sums = &sums_q,
    .integers = gemm_q_integers,
    .integer_parameters = integer_parameters_q,
    .layout = layout_q,
    .sizes = sizes_q,
    .cuts = hc_cut_gemm_q,
};
