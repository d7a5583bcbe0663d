/* Quantised convolutions: what is kept of each, its operands and products, and the state of their
   scales. */
#include "train/quant/quant.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "train/net/parameter.h"

/* An operand's codes, their scales, and what of the rule's results is one number. */
struct quant_buffers {
    struct hc_storage *codes;
    struct hc_storage *scales;
    struct hc_storage *numbers; /* tensor, and an amax that nobody asks for */
};

/* The scales of one pass under delayed scaling: x and w of each layer, or dy. */
struct quant_group {
    int64_t tensors;
    struct hc_storage *amax;
    struct hc_storage *zero; /* what amax is before a step */
    struct hc_storage *history;
    struct hc_storage *scale;
};

enum { HC_QUANT_GROUPS = 2 };

struct hc_quant {
    struct hc_device *device;
    const struct hc_quant_recipe *recipe;
    enum hc_format format;
    int count;
    struct hc_quant_shape *shape;
    int64_t history;
    struct hc_storage *columns;      /* im2col of x, in the model's format */
    struct hc_storage *back;         /* gradient of the columns, in fp32, or fp64 as the model */
    struct hc_storage *weight;       /* masters in the model's format, for a plain product */
    struct quant_buffers operand[2]; /* A and B */
    struct quant_group group[HC_QUANT_GROUPS];
    uint64_t seed;
    int64_t step;
    bool holds;
    hc_quant_watch *watch; /* or NULL */
    void *watch_context;
    hc_quant_run *run; /* or NULL */
    void *run_context;
};

/* Rows of the columns, and numbers in a row. */
struct quant_extent {
    int64_t pixels;
    int64_t taps;
};

/* The three products of a quantised convolution. */

enum { QUANT_STREAM = 0x5155414e }; /* "QUAN" */

enum { OF_A, OF_B };
enum { NUMBER_TENSOR, NUMBER_AMAX };

/* An operand as gemm_q takes it. */
struct quantised {
    struct hc_tensor codes, scales, tensor;
    const struct hc_quant_operand *as;
};

static int64_t blocks(int64_t extent, int size)
{
    return hc_quant_blocks(extent, size);
}

static enum hc_status quant_call(struct hc_quant *q, enum hc_quant_role role, struct hc_call *call)
{
    return q->run ? q->run(q->run_context, role, call) : hc_device_run(q->device, call);
}

/* Where delayed scaling keeps the scale and the amax of a tensor. */
static int64_t delayed_place(const struct hc_quant *q, int layer, enum hc_quant_role role,
                             const struct quant_group **group)
{
    *group = &q->group[role == HC_QUANT_OF_DY];
    return role == HC_QUANT_OF_W ? q->count + layer : layer;
}

/* Each tensor and each product has random numbers of its own; a product quantises a tensor once. */
static uint64_t seed_of(const struct hc_quant *q, int layer, enum hc_quant_role role,
                        enum hc_quant_product product)
{
    uint64_t index = ((uint64_t)layer * 4 + role) * HC_QUANT_PRODUCTS + product;
    return hc_random(q->seed, (uint64_t)QUANT_STREAM << 32, index);
}

/* Quantises matrix m [rows, columns], or its transpose, as operand A or B of a product. */
static enum hc_status quantise(struct hc_quant *q, int layer, enum hc_quant_role role,
                               enum hc_quant_product product, int which, struct hc_tensor m,
                               bool transpose, struct quantised *to)
{
    const struct hc_quant_products *p = &q->recipe->product[product];
    const struct hc_quant_operand *as = which == OF_A ? &p->a : &p->b;
    const struct quant_buffers *b = &q->operand[which];
    const struct quant_group *group;
    int64_t place = delayed_place(q, layer, role, &group);
    int64_t rows = m.shape[transpose ? 1 : 0];
    int64_t columns = m.shape[transpose ? 0 : 1];
    bool delayed = as->rule == HC_SCALE_GIVEN;
    to->as = as;
    to->codes = hc_tensor2(as->codes, rows, columns, b->codes->data);
    to->scales = hc_tensor2(hc_scale_format(as->rule), blocks(rows, as->rows),
                            blocks(columns, as->columns), b->scales->data);
    to->tensor = hc_storage_element(b->numbers, NUMBER_TENSOR);
    assert(hc_tensor_bytes(&to->scales) <= (size_t)b->scales->count * sizeof(float));
    struct hc_call call = {
        .op = HC_OP_quantize,
        .in = {[HC_QUANTIZE_X] = m},
        .out = {[HC_QUANTIZE_CODES] = to->codes,
                [HC_QUANTIZE_SCALES] = to->scales,
                [HC_QUANTIZE_TENSOR] = to->tensor,
                [HC_QUANTIZE_AMAX] = hc_storage_element(b->numbers, NUMBER_AMAX)},
        .params.quantize = {.rule = as->rule,
                            .rows = as->rows,
                            .columns = as->columns,
                            .transpose = transpose,
                            .hadamard = as->hadamard,
                            .random_bits = as->random_bits,
                            .seed = seed_of(q, layer, role, product),
                            .step = q->step}};
    if (delayed)
        call.in[HC_QUANTIZE_SCALE] = hc_storage_element(group->scale, place);
    if (delayed && !q->holds)
        call.out[HC_QUANTIZE_AMAX] = hc_storage_element(group->amax, place);
    enum hc_status status = quant_call(q, role, &call);
    return status == HC_OK && q->watch ? q->watch(q->watch_context, layer, role, &call) : status;
}

/* out [M, N] = A [M, K] B' [N, K] */
static enum hc_status multiply_operands(struct hc_quant *q, const struct quantised *a,
                                        const struct quantised *b, int promote,
                                        struct hc_tensor out)
{
    struct hc_call call = {.op = HC_OP_gemm_q,
                           .in = {[HC_GEMM_Q_A] = a->codes,
                                  [HC_GEMM_Q_A_SCALES] = a->scales,
                                  [HC_GEMM_Q_A_TENSOR] = a->tensor,
                                  [HC_GEMM_Q_B] = b->codes,
                                  [HC_GEMM_Q_B_SCALES] = b->scales,
                                  [HC_GEMM_Q_B_TENSOR] = b->tensor},
                           .out = {[HC_GEMM_Q_OUT] = out},
                           .params.gemm_q = {.a_rows = a->as->rows,
                                             .a_columns = a->as->columns,
                                             .b_rows = b->as->rows,
                                             .b_columns = b->as->columns,
                                             .promote = promote}};
    return quant_call(q, HC_QUANT_OF_X, &call);
}

/* out = op(A) op(B) in the model's format. */
static enum hc_status multiply_plainly(struct hc_quant *q, struct hc_tensor a, bool transpose_a,
                                       struct hc_tensor b, bool transpose_b, struct hc_tensor out)
{
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = a, [HC_GEMM_B] = b},
        .out = {[HC_GEMM_OUT] = out},
        .params.gemm = {.transpose_a = transpose_a, .transpose_b = transpose_b, .alpha = 1}};
    return quant_call(q, HC_QUANT_OF_X, &call);
}

/* The tensor as a matrix of so many columns. */
static struct hc_tensor matrix(struct hc_tensor t, int64_t columns)
{
    return hc_tensor2(t.format, hc_tensor_count(&t) / columns, columns, t.data);
}

/* A filter of one pixel that goes everywhere meets x as it is. */
static bool is_itself(const struct hc_quant_shape *s)
{
    return s->kernel == 1 && s->stride == 1 && s->pad == 0;
}

static struct hc_columns columns_of(const struct hc_quant_shape *s)
{
    return (struct hc_columns){s->kernel, s->stride, s->pad};
}

static struct quant_extent quant_extent(const struct hc_quant_shape *s)
{
    int64_t side = (s->side + 2 * (int64_t)s->pad - s->kernel) / s->stride + 1;
    return (struct quant_extent){s->images * side * side,
                                 (int64_t)s->kernel * s->kernel * s->channels};
}

static enum hc_status gather_columns(struct hc_quant *q, int layer, struct hc_tensor x,
                                     struct hc_tensor *columns)
{
    struct quant_extent e = quant_extent(&q->shape[layer]);
    *columns = hc_tensor2(x.format, e.pixels, e.taps,
                          is_itself(&q->shape[layer]) ? x.data : q->columns->data);
    if (is_itself(&q->shape[layer]))
        return HC_OK;
    struct hc_call call = {.op = HC_OP_im2col,
                           .in = {[HC_IM2COL_X] = x},
                           .out = {[HC_IM2COL_COLUMNS] = *columns},
                           .params.columns = columns_of(&q->shape[layer])};
    return quant_call(q, HC_QUANT_OF_X, &call);
}

/* w in the model's format, for a product that is not quantised. */
static enum hc_status plain_weight(struct hc_quant *q, struct hc_tensor *w)
{
    struct hc_tensor to = *w;
    if (w->format == q->format)
        return HC_OK;
    to.format = q->format;
    to.data = q->weight->data;
    enum hc_status status = hc_device_cast(q->device, *w, to);
    *w = to;
    return status;
}

enum hc_status hc_quant_forward(struct hc_quant *q, int layer, struct hc_tensor x,
                                struct hc_tensor w, struct hc_tensor y)
{
    const struct hc_quant_products *p = &q->recipe->product[HC_QUANT_Y];
    struct quant_extent e = quant_extent(&q->shape[layer]);
    struct hc_tensor columns;
    struct quantised a;
    struct quantised b;
    enum hc_status status = gather_columns(q, layer, x, &columns);
    w = matrix(w, e.taps);
    y = matrix(y, q->shape[layer].filters);
    if (p->plain && status == HC_OK)
        status = plain_weight(q, &w);
    if (p->plain)
        return status == HC_OK ? multiply_plainly(q, columns, false, w, true, y) : status;
    if (status == HC_OK)
        status = quantise(q, layer, HC_QUANT_OF_X, HC_QUANT_Y, OF_A, columns, false, &a);
    if (status == HC_OK)
        status = quantise(q, layer, HC_QUANT_OF_W, HC_QUANT_Y, OF_B, w, false, &b);
    return status == HC_OK ? multiply_operands(q, &a, &b, p->promote, y) : status;
}

/* The gradient of the columns, in fp32, is that of x where the columns are x. */
enum hc_status hc_quant_to_input(struct hc_quant *q, int layer, struct hc_tensor dy,
                                 struct hc_tensor w, struct hc_tensor dx)
{
    const struct hc_quant_products *p = &q->recipe->product[HC_QUANT_DX];
    const struct hc_quant_shape *shape = &q->shape[layer];
    struct quant_extent e = quant_extent(shape);
    struct hc_tensor back = is_itself(shape)
                                ? matrix(dx, e.taps)
                                : hc_tensor2(q->back->format, e.pixels, e.taps, q->back->data);
    struct quantised a;
    struct quantised b;
    enum hc_status status = HC_OK;
    w = matrix(w, e.taps);
    dy = matrix(dy, shape->filters);
    if (p->plain) {
        status = plain_weight(q, &w);
        if (status == HC_OK)
            status = multiply_plainly(q, dy, false, w, false, back);
    } else {
        status = quantise(q, layer, HC_QUANT_OF_DY, HC_QUANT_DX, OF_A, dy, false, &a);
        if (status == HC_OK)
            status = quantise(q, layer, HC_QUANT_OF_W, HC_QUANT_DX, OF_B, w, true, &b);
        if (status == HC_OK)
            status = multiply_operands(q, &a, &b, p->promote, back);
    }
    if (status != HC_OK || is_itself(shape))
        return status;
    struct hc_call call = {.op = HC_OP_col2im,
                           .in = {[HC_COL2IM_COLUMNS] = back},
                           .out = {[HC_COL2IM_DX] = dx},
                           .params.columns = columns_of(shape)};
    return quant_call(q, HC_QUANT_OF_DY, &call);
}

enum hc_status hc_quant_to_filter(struct hc_quant *q, int layer, struct hc_tensor x,
                                  struct hc_tensor dy, struct hc_tensor dw)
{
    const struct hc_quant_products *p = &q->recipe->product[HC_QUANT_DW];
    struct hc_tensor columns;
    struct quantised a;
    struct quantised b;
    enum hc_status status = gather_columns(q, layer, x, &columns);
    dy = matrix(dy, q->shape[layer].filters);
    dw = matrix(dw, columns.shape[1]);
    if (status == HC_OK && p->plain)
        return multiply_plainly(q, dy, true, columns, false, dw);
    if (status == HC_OK)
        status = quantise(q, layer, HC_QUANT_OF_DY, HC_QUANT_DW, OF_A, dy, true, &a);
    if (status == HC_OK)
        status = quantise(q, layer, HC_QUANT_OF_X, HC_QUANT_DW, OF_B, columns, true, &b);
    return status == HC_OK ? multiply_operands(q, &a, &b, p->promote, dw) : status;
}

/* What quantised convolutions need beside their operands. */

const char *const hc_quant_state_names[HC_QUANT_STATES] = {
    "quant.forward.amax_history", "quant.forward.scale", "quant.backward.amax_history",
    "quant.backward.scale"};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* After a failure, which it remembers in *status, it does nothing any more. */
static void make_quant_storage(struct hc_quant *q, enum hc_status *status,
                               struct hc_storage **storage, enum hc_format format, int64_t n)
{
    if (*status != HC_OK)
        return;
    *storage = hc_storage_new(q->device, format, n);
    if (!*storage)
        *status = HC_NO_MEMORY;
}

/* Rows and columns of an operand of a product. */
static void extent_of(const struct hc_quant_shape *shape, enum hc_quant_product product, int which,
                      int64_t extent[2])
{
    struct quant_extent e = quant_extent(shape);
    const int64_t all[HC_QUANT_PRODUCTS][2][2] = {
        [HC_QUANT_Y] = {{e.pixels, e.taps}, {shape->filters, e.taps}},
        [HC_QUANT_DX] = {{e.pixels, shape->filters}, {e.taps, shape->filters}},
        [HC_QUANT_DW] = {{shape->filters, e.pixels}, {e.taps, e.pixels}}};
    memcpy(extent, all[product][which], 2 * sizeof *extent);
}

/* Codes and scales of the largest operand A or B of all products. */
static enum hc_status make_operand(struct hc_quant *q, int which)
{
    struct quant_buffers *operand = &q->operand[which];
    int64_t codes = 0;
    int64_t scales = 0;
    for (int l = 0; l < q->count; l++)
        for (int p = 0; p < HC_QUANT_PRODUCTS; p++) {
            const struct hc_quant_products *of = &q->recipe->product[p];
            const struct hc_quant_operand *as = which == 0 ? &of->a : &of->b;
            int64_t extent[2];
            extent_of(&q->shape[l], (enum hc_quant_product)p, which, extent);
            codes = larger(codes, extent[0] * extent[1]);
            scales = larger(scales, hc_quant_blocks(extent[0], as->rows) *
                                        hc_quant_blocks(extent[1], as->columns));
        }
    enum hc_status status = HC_OK;
    make_quant_storage(q, &status, &operand->codes, HC_U8, codes);
    make_quant_storage(q, &status, &operand->scales, HC_FP32, scales);
    make_quant_storage(q, &status, &operand->numbers, HC_FP32, 2);
    return status;
}

static enum hc_status make_buffers(struct hc_quant *q)
{
    int64_t columns = 0;
    int64_t weight = 0;
    enum hc_status status = HC_OK;
    for (int l = 0; l < q->count; l++) {
        struct quant_extent e = quant_extent(&q->shape[l]);
        columns = larger(columns, e.pixels * e.taps);
        weight = larger(weight, q->shape[l].filters * e.taps);
    }
    make_quant_storage(q, &status, &q->columns, q->format, columns);
    make_quant_storage(q, &status, &q->back, q->format == HC_FP64 ? HC_FP64 : HC_FP32, columns);
    make_quant_storage(q, &status, &q->weight, q->format, weight);
    for (int i = 0; i < 2 && status == HC_OK; i++)
        status = make_operand(q, i);
    return status;
}

static enum hc_status make_groups(struct hc_quant *q)
{
    enum hc_status status = HC_OK;
    for (int g = 0; g < HC_QUANT_GROUPS; g++) {
        struct quant_group *group = &q->group[g];
        group->tensors = g == 0 ? 2 * q->count : q->count;
        make_quant_storage(q, &status, &group->amax, HC_FP32, group->tensors);
        make_quant_storage(q, &status, &group->zero, HC_FP32, group->tensors);
        make_quant_storage(q, &status, &group->history, HC_FP32, q->history * group->tensors);
        make_quant_storage(q, &status, &group->scale, HC_FP32, group->tensors);
        float *ones = status == HC_OK ? malloc((size_t)group->tensors * sizeof *ones) : NULL;
        if (status == HC_OK && !ones)
            return hc_fail(HC_NO_MEMORY, "no memory for scales");
        for (int64_t i = 0; ones && i < group->tensors; i++)
            ones[i] = 1;
        if (ones)
            status = hc_storage_write(group->scale, ones);
        free(ones);
    }
    return status;
}

/* Hadamard's matrix takes 16 neighbours along the inner dimension, which of dw are pixels. */
static enum hc_status check_groups(const struct hc_quant *q)
{
    for (int l = 0; l < q->count && q->recipe->product[HC_QUANT_DW].a.hadamard; l++)
        if (quant_extent(&q->shape[l]).pixels % HC_HADAMARD != 0)
            return hc_fail(
                HC_INVALID, "%s multiplies groups of %d pixels, and a layer of this batch has %lld",
                q->recipe->name, HC_HADAMARD, (long long)quant_extent(&q->shape[l]).pixels);
    return HC_OK;
}

enum hc_status hc_quant_open(struct hc_quant **out, struct hc_device *device,
                             const struct hc_quant_recipe *recipe, int64_t history,
                             const struct hc_quant_shape *shapes, int count, enum hc_format format)
{
    *out = NULL;
    struct hc_quant *q = calloc(1, sizeof *q);
    struct hc_quant_shape *own = malloc((size_t)count * sizeof *own + 1);
    if (!q || !own) {
        free(q);
        free(own);
        return hc_fail(HC_NO_MEMORY, "no memory for quantised convolutions");
    }
    memcpy(own, shapes, (size_t)count * sizeof *own);
    *q = (struct hc_quant){.device = device,
                           .recipe = recipe,
                           .format = format,
                           .count = count,
                           .shape = own,
                           .history = history > 0 ? history : recipe->history};
    enum hc_status status = check_groups(q);
    if (status == HC_OK)
        status = make_buffers(q);
    if (status == HC_OK && recipe->delayed)
        status = make_groups(q);
    if (status == HC_OK)
        *out = q;
    else
        hc_quant_close(q);
    return status;
}

void hc_quant_close(struct hc_quant *q)
{
    if (!q)
        return;
    hc_storage_drop(q->columns);
    hc_storage_drop(q->back);
    hc_storage_drop(q->weight);
    for (int i = 0; i < 2; i++) {
        hc_storage_drop(q->operand[i].codes);
        hc_storage_drop(q->operand[i].scales);
        hc_storage_drop(q->operand[i].numbers);
    }
    for (int g = 0; g < HC_QUANT_GROUPS; g++) {
        hc_storage_drop(q->group[g].amax);
        hc_storage_drop(q->group[g].zero);
        hc_storage_drop(q->group[g].history);
        hc_storage_drop(q->group[g].scale);
    }
    free(q->shape);
    free(q);
}

void hc_quant_step(struct hc_quant *q, uint64_t seed, int64_t step)
{
    q->seed = seed;
    q->step = step;
}

void hc_quant_hold(struct hc_quant *q, bool holds)
{
    q->holds = holds;
}

void hc_quant_watch_with(struct hc_quant *q, hc_quant_watch *watch, void *context)
{
    q->watch = watch;
    q->watch_context = context;
}

void hc_quant_run_with(struct hc_quant *q, hc_quant_run *run, void *context)
{
    q->run = run;
    q->run_context = context;
}

struct hc_tensor hc_quant_state(const struct hc_quant *q, int which)
{
    const struct quant_group *group = &q->group[which / 2];
    const struct hc_storage *storage = which % 2 == 0 ? group->history : group->scale;
    if (!storage)
        return (struct hc_tensor){.data = NULL};
    return which % 2 == 0 ? hc_tensor2(HC_FP32, q->history, group->tensors, storage->data)
                          : hc_tensor1(HC_FP32, group->tensors, storage->data);
}

/* A layer that no pass of the next step runs through is idle: its amax is 0, as the op's rule
   expects. */
enum hc_status hc_quant_update(struct hc_quant *q)
{
    static const enum hc_quant_product of_group[HC_QUANT_GROUPS] = {HC_QUANT_Y, HC_QUANT_DX};
    enum hc_status status = HC_OK;
    for (int g = 0; g < HC_QUANT_GROUPS && status == HC_OK && q->recipe->delayed; g++) {
        struct hc_tensor history = hc_quant_state(q, 2 * g);
        struct hc_tensor scale = hc_quant_state(q, 2 * g + 1);
        struct hc_call call = {
            .op = HC_OP_delayed_scale,
            .in = {[HC_DELAYED_AMAX] = hc_storage_tensor(q->group[g].amax),
                   [HC_DELAYED_HISTORY] = history,
                   [HC_DELAYED_SCALE] = scale},
            .out = {[HC_DELAYED_NEW_HISTORY] = history, [HC_DELAYED_NEW_SCALE] = scale},
            .params.delayed_scale = {.rule = q->recipe->delayed_rule,
                                     .codes = q->recipe->product[of_group[g]].a.codes,
                                     .most_recent = q->recipe->most_recent}};
        status = hc_device_run(q->device, &call);
        if (status == HC_OK)
            status = hc_device_cast(q->device, hc_storage_tensor(q->group[g].zero),
                                    hc_storage_tensor(q->group[g].amax));
    }
    return status;
}
