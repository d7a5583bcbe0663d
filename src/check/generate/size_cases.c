/* The generated cases size/: every op at sizes as models have them, with one, two and more tiles of
   a kernel in all extents at once, and one more or one less. Every element is judged
   (check/repeats.h), but for the ops below that look at all elements in one number.

   A tile of a GEMM is 64, 128 or 256 wide, a vector of a GPU's grid has 2^16 blocks or more, and
   K is split where the rows and columns alone do not fill the machine. None of that happens in
   products of 65 x 33 x 64. */
#include "check/generate/size_cases.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "check/generate/border_points.h"
#include "check/generate/distribution.h"
#include "check/generate/size_layout.h"
#include "check/check_inner.h"
#include "op/descriptor.h"

/* Calls of an op. `sets` and `variants` are names of op_space.h, NULL the first one. A large one is
   left to fast backends: `exact` and simulated units would take minutes. */
struct size {
    enum hc_op op;
    enum hc_level level;
    const char *set;
    const char *variant;
    int64_t d[8];
};

#define VECTOR                                                                                     \
    {                                                                                              \
        (1 << 20) + 1027                                                                           \
    }
#define VECTORS                                                                                    \
    {                                                                                              \
        (1 << 24) + 1027                                                                           \
    }

static const struct size sizes[] = {
    {HC_OP_gemm, HC_QUICK, "fp32", "", {128, 128, 32}},
    {HC_OP_gemm, HC_STANDARD, "fp32", "-ta", {257, 255, 129}},
    {HC_OP_gemm, HC_STANDARD, "fp32", "-tb-bias", {129, 385, 257}},
    {HC_OP_gemm, HC_STANDARD, "fp32", "-ta-tb-scaled", {127, 127, 255}},
    {HC_OP_gemm, HC_STANDARD, "fp32", "", {64, 65, 4097}},
    {HC_OP_gemm, HC_STANDARD, "fp32", "", {1, 1025, 1024}},
    {HC_OP_gemm, HC_STANDARD, "fp16", "", {256, 256, 128}},
    {HC_OP_gemm, HC_STANDARD, "fp16", "-ta", {129, 127, 511}},
    {HC_OP_gemm, HC_STANDARD, "fp16", "-tb-bias", {385, 129, 257}},
    {HC_OP_gemm, HC_STANDARD, "fp16", "-ta-tb-scaled", {255, 513, 65}},
    {HC_OP_gemm, HC_STANDARD, "fp16-fp32", "", {128, 257, 256}},
    {HC_OP_gemm, HC_STANDARD, "bf16", "", {129, 129, 129}},
    {HC_OP_gemm, HC_STANDARD, "bf16", "-ta", {256, 128, 512}},
    {HC_OP_gemm, HC_STANDARD, "bf16", "-tb-bias", {257, 257, 65}},
    {HC_OP_gemm, HC_STANDARD, "bf16-fp32", "-ta-tb-scaled", {128, 256, 129}},
    {HC_OP_gemm, HC_STANDARD, "fp64", "", {129, 255, 64}},
    {HC_OP_gemm, HC_STANDARD, "fp32-as-tf32", "", {257, 129, 128}},
    {HC_OP_gemm, HC_STANDARD, "e4m3-fp32", "-tb-bias", {129, 257, 129}},
    {HC_OP_gemm_q, HC_STANDARD, "e4m3-fp32", "", {129, 257, 129}},
    {HC_OP_gemm_q, HC_STANDARD, "e4m3-fp32", "-rowwise", {257, 129, 160}},
    {HC_OP_gemm_q, HC_STANDARD, "e4m3-e8m0-fp32", "-1x32", {128, 127, 256}},
    {HC_OP_gemm_q, HC_STANDARD, "e2m1-ue4m3-fp32", "-1x16-factors", {129, 255, 272}},
    {HC_OP_conv2d, HC_STANDARD, "fp32", "", {2, 14, 14, 64, 65, 3, 1, 1}},
    {HC_OP_conv2d, HC_STANDARD, "fp16", "", {3, 28, 28, 33, 129, 1, 1, 0}},
    {HC_OP_conv2d, HC_STANDARD, "fp16", "", {2, 29, 29, 32, 33, 3, 2, 1}},
    {HC_OP_conv2d_bwd_data, HC_STANDARD, "fp32", "", {2, 14, 14, 64, 65, 3, 1, 1}},
    {HC_OP_conv2d_bwd_data, HC_STANDARD, "bf16", "", {3, 28, 28, 33, 129, 1, 1, 0}},
    {HC_OP_conv2d_bwd_data, HC_STANDARD, "bf16", "", {2, 29, 29, 32, 33, 3, 2, 1}},
    {HC_OP_conv2d_bwd_filter, HC_STANDARD, "fp32", "", {2, 14, 14, 64, 65, 3, 1, 1}},
    {HC_OP_conv2d_bwd_filter, HC_STANDARD, "fp16", "", {3, 28, 28, 33, 129, 1, 1, 0}},
    {HC_OP_conv2d_bwd_filter, HC_STANDARD, "fp16", "", {2, 29, 29, 32, 33, 3, 2, 1}},
    {HC_OP_conv2d, HC_STANDARD, "fp16", "", {2, 64, 64, 3, 64, 7, 2, 3}},
    {HC_OP_im2col, HC_STANDARD, "fp16", "", {3, 28, 28, 65, 0, 3, 1, 1}},
    {HC_OP_col2im, HC_STANDARD, "fp32", "", {3, 28, 28, 65, 0, 3, 1, 1}},
    {HC_OP_avg_pool, HC_STANDARD, "fp16", "", {33, 8, 8, 513, 8}},
    {HC_OP_avg_pool_bwd, HC_STANDARD, "fp32", "", {33, 8, 8, 513, 8}},
    {HC_OP_bn_train, HC_STANDARD, "fp16", "", {33, 8, 8, 513}},
    {HC_OP_bn_infer, HC_STANDARD, "fp16", "", {33, 8, 8, 513}},
    {HC_OP_bn_bwd, HC_STANDARD, "bf16", "", {33, 8, 8, 513}},
    {HC_OP_bn_leaky_train, HC_STANDARD, "fp32", "", {33, 8, 8, 513}},
    {HC_OP_bn_leaky_infer, HC_STANDARD, "bf16", "", {33, 8, 8, 513}},
    {HC_OP_bn_leaky_bwd, HC_STANDARD, "fp16", "", {33, 8, 8, 513}},
    {HC_OP_bn_moments, HC_STANDARD, "fp16", "", {33, 8, 8, 513}},
    {HC_OP_bn_bwd_sums, HC_STANDARD, "fp32", "", {33, 8, 8, 513}},
    {HC_OP_bn_bwd_apply, HC_STANDARD, "fp16", "", {33, 8, 8, 513}},
    {HC_OP_xent_bwd, HC_STANDARD, "fp32", "", {4097, 1000}},
    {HC_OP_xent_bwd, HC_STANDARD, "fp16", "", {8193, 129}},
    {HC_OP_xent, HC_STANDARD, "fp32", "", {4097, 1000}},
    {HC_OP_xent, HC_STANDARD, "fp16", "", {8193, 129}},
    {HC_OP_sum, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_dot, HC_STANDARD, "fp16-fp32", "", VECTOR},
    {HC_OP_sum_squares, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_cast, HC_STANDARD, "fp32-fp16", "", VECTOR},
    {HC_OP_cast, HC_STANDARD, "fp32-bf16", "", VECTOR},
    {HC_OP_cast, HC_STANDARD, "fp32-e4m3", "-saturating", VECTOR},
    {HC_OP_add, HC_STANDARD, "fp16", "", VECTOR},
    {HC_OP_sub, HC_STANDARD, "bf16", "", VECTOR},
    {HC_OP_mul, HC_STANDARD, "fp16", "", VECTOR},
    {HC_OP_div, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_sqrt, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_fma, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_axpy, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_scale, HC_STANDARD, "fp16", "", VECTOR},
    {HC_OP_unscale, HC_STANDARD, "fp16", "", VECTOR},
    {HC_OP_leaky_relu, HC_STANDARD, "fp16", "", VECTOR},
    {HC_OP_leaky_relu_bwd, HC_STANDARD, "bf16", "", VECTOR},
    {HC_OP_master_to_model, HC_STANDARD, "fp32-fp16", "", VECTOR},
    {HC_OP_sgd, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_adam, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_adamw, HC_STANDARD, "fp32", "", VECTOR},
    {HC_OP_all_reduce, HC_STANDARD, "fp32", "", {4, 262151}},
    {HC_OP_quantize, HC_STANDARD, "fp32-e4m3", "-rule-mx-floor", {1025, 1056}},
    {HC_OP_dequantize, HC_STANDARD, "e4m3-e8m0-bf16", "-1x32-bare", {1025, 1056}},
    {HC_OP_gemm, HC_EXHAUSTIVE, "fp32", "", {4096, 4096, 4096}},
    {HC_OP_gemm, HC_EXHAUSTIVE, "fp16", "-tb-bias", {4096, 4096, 4096}},
    {HC_OP_gemm, HC_EXHAUSTIVE, "bf16", "-ta", {4097, 4095, 4097}},
    {HC_OP_conv2d, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64, 64, 3, 1, 1}},
    {HC_OP_conv2d_bwd_data, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64, 64, 3, 1, 1}},
    {HC_OP_conv2d_bwd_filter, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64, 64, 3, 1, 1}},
    {HC_OP_bn_train, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64}},
    {HC_OP_bn_infer, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64}},
    {HC_OP_bn_bwd, HC_EXHAUSTIVE, "bf16", "", {64, 56, 56, 64}},
    {HC_OP_bn_leaky_train, HC_EXHAUSTIVE, "fp32", "", {64, 56, 56, 64}},
    {HC_OP_bn_leaky_infer, HC_EXHAUSTIVE, "bf16", "", {64, 56, 56, 64}},
    {HC_OP_bn_leaky_bwd, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64}},
    {HC_OP_bn_moments, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64}},
    {HC_OP_bn_bwd_sums, HC_EXHAUSTIVE, "fp32", "", {64, 56, 56, 64}},
    {HC_OP_bn_bwd_apply, HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64}},
    {HC_OP_cast, HC_EXHAUSTIVE, "fp32-fp16", "", VECTORS},
    {HC_OP_cast, HC_EXHAUSTIVE, "fp32-bf16", "", VECTORS},
    {HC_OP_cast, HC_EXHAUSTIVE, "fp32-e4m3", "-saturating", VECTORS},
    {HC_OP_add, HC_EXHAUSTIVE, "fp16", "", VECTORS},
    {HC_OP_sub, HC_EXHAUSTIVE, "bf16", "", VECTORS},
    {HC_OP_mul, HC_EXHAUSTIVE, "fp16", "", VECTORS},
    {HC_OP_div, HC_EXHAUSTIVE, "fp32", "", VECTORS},
    {HC_OP_sqrt, HC_EXHAUSTIVE, "fp32", "", VECTORS},
    {HC_OP_fma, HC_EXHAUSTIVE, "fp32", "", VECTORS},
    {HC_OP_axpy, HC_EXHAUSTIVE, "fp32", "", VECTORS},
    {HC_OP_scale, HC_EXHAUSTIVE, "fp16", "", VECTORS},
    {HC_OP_unscale, HC_EXHAUSTIVE, "fp16", "", VECTORS},
    {HC_OP_leaky_relu, HC_EXHAUSTIVE, "fp16", "", VECTORS},
    {HC_OP_leaky_relu_bwd, HC_EXHAUSTIVE, "bf16", "", VECTORS},
    {HC_OP_master_to_model, HC_EXHAUSTIVE, "fp32-fp16", "", VECTORS},
    {HC_OP_sgd, HC_EXHAUSTIVE, "fp32", "", VECTORS},
    {HC_OP_adam, HC_EXHAUSTIVE, "fp32", "", VECTORS},
    {HC_OP_adamw, HC_EXHAUSTIVE, "fp32", "", VECTORS},
};

enum { SIZES = sizeof sizes / sizeof sizes[0] };

struct row {
    const struct size *size;
    const struct hc_format_set *set;
    const struct hc_variant *variant;
    char name[96];
    char title[160];
};

static void allocate(struct hc_check *check, struct hc_call *call, bool outputs)
{
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        if (!hc_op_absent(call, s) && (outputs || s < hc_ops[call->op].inputs))
            t->data = hc_check_memory(check, hc_tensor_bytes(t));
    }
}

/* Labels name classes that are not repeated, so that an element of a gradient is right or wrong by
   its kind alone. */
static void hold_labels(const struct hc_call *call)
{
    const struct hc_tensor *labels = &call->in[HC_XENT_LABELS];
    if (hc_ops[call->op].class_ != HC_CLASS_LOSS)
        return;
    for (int64_t i = 0; i < hc_tensor_count(labels); i++)
        ((int32_t *)labels->data)[i] %= HC_SIZE_ALONE;
}

/* The terms of a product are independent of each other, those of a mean over repeated rows not. */
static enum hc_inputs inputs_of(enum hc_op op)
{
    enum hc_op_class class_ = hc_ops[op].class_;
    return class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV ? HC_INPUTS_RANDOM : HC_INPUTS_ANY;
}

/* One number that is made of all elements: a sum, a loss. In random numbers its bound has room for
   thousands of elements that are left out; in integers one more or less shows. */
static bool is_one_number(enum hc_op op)
{
    return hc_ops[op].class_ == HC_CLASS_REDUCTION || op == HC_OP_xent;
}

static void run_on_integers(struct hc_check *check, const struct row *row)
{
    struct hc_border_row what = {row->size->op, row->set, HC_EXTENT_COUNT, true};
    struct hc_border_point point = {.text = "large"};
    memcpy(point.shape.d, row->size->d, sizeof point.shape.d);
    hc_claim_integers(check, &what, &point, 1);
}

static void run(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    enum hc_op op = row->size->op;
    enum { LONG = 1 << 16 }; /* terms, from where on a random sum is no larger than its bound */
    bool pixels = op == HC_OP_conv2d_bwd_filter;
    const int64_t *d = row->size->d;
    if (is_one_number(op) || (pixels && d[0] * d[1] * d[2] > LONG)) {
        run_on_integers(check, row);
        return;
    }
    struct hc_op_shape shape = {.name = ""};
    memcpy(shape.d, row->size->d, sizeof shape.d);
    struct hc_op_shape few = hc_size_small(op, row->variant, &shape);
    struct hc_call small = hc_op_call(op, row->set, &few, row->variant);
    struct hc_call large = hc_op_call(op, row->set, &shape, row->variant);
    struct hc_repeats repeats = {.seed = hc_case_seed(check)};
    if (!hc_check_ok(check, hc_backend_has(check->backend, &large)))
        return;
    hc_size_layout(&small, &large, &repeats);
    allocate(check, &small, false);
    allocate(check, &large, true);
    hc_draw_inputs(&small, HC_DRAW_NORMAL, repeats.seed);
    hold_labels(&small);
    if (!hc_repeats_fill(&repeats, &small, &large)) {
        (void)hc_fail(HC_NO_MEMORY, "%s: no memory for its inputs", hc_ops[op].name);
        hc_check_failed(check);
        return;
    }
    hc_claim_repeated(check, &large, &repeats, inputs_of(op));
}

static struct row rows[SIZES];
static struct hc_case cases[SIZES];

static const struct hc_format_set *set_of(const struct size *s)
{
    const struct hc_format_set *set = hc_opspace(s->op).sets;
    while (set->name && strcmp(set->name, s->set) != 0)
        set++;
    assert(set->name);
    return set;
}

static const struct hc_variant *variant_of(const struct size *s)
{
    const struct hc_variant *variant = hc_opspace(s->op).variants;
    while (variant->name && strcmp(variant->name, s->variant) != 0)
        variant++;
    assert(variant->name);
    return variant;
}

/* How many of a shape's numbers are extents; those of windows and strides have letters. */
static void write_shape(const struct size *s, char *text, size_t size)
{
    static const char *const before[] = {"", "x", "x", "x", "-k", "r", "-s", "p"};
    bool conv =
        hc_ops[s->op].class_ == HC_CLASS_CONV || s->op == HC_OP_im2col || s->op == HC_OP_col2im;
    bool pool = hc_ops[s->op].class_ == HC_CLASS_POOL;
    int count = 8;
    while (count > 1 && s->d[count - 1] == 0 && !conv)
        count--;
    size_t at = 0;
    for (int i = 0; i < count && at < size; i++) {
        if (conv &&
            ((i == 4 && s->d[i] == 0) || (i == 6 && s->d[6] == 1 && s->d[7] == s->d[5] / 2)))
            continue;
        if (conv && i == 7 && s->d[7] == s->d[5] / 2)
            continue;
        const char *mark = conv ? before[i] : i == 0 ? "" : pool && i == 4 ? "-" : "x";
        at += (size_t)snprintf(text + at, size - at, "%s%lld", mark, (long long)s->d[i]);
    }
}

const struct hc_case_table *hc_size_cases(void)
{
    static struct hc_case_table table = {cases, 0};
    if (table.count > 0)
        return &table;
    for (int i = 0; i < SIZES; i++) {
        const struct size *s = &sizes[i];
        struct row *row = &rows[i];
        char shape[64];
        *row = (struct row){.size = s, .set = set_of(s), .variant = variant_of(s)};
        assert(hc_format_set_allowed(s->op, row->set, row->variant));
        write_shape(s, shape, sizeof shape);
        (void)snprintf(row->name, sizeof row->name, "size/%s/%s/%s%s", hc_ops[s->op].name,
                       row->set->name, shape, row->variant->name);
        (void)snprintf(row->title, sizeof row->title,
                       "%s: every element right at a size that models have", hc_ops[s->op].title);
        cases[i] = (struct hc_case){.name = row->name,
                                    .title = row->title,
                                    .source = hc_op_contract(s->op),
                                    .level = s->level,
                                    .run = run,
                                    .data = row,
                                    .fast_only = s->level == HC_EXHAUSTIVE};
    }
    table.count = SIZES;
    return &table;
}
