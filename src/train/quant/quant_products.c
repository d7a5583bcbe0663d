/* The three products of a quantised convolution. */
#include <assert.h>

#include "num/rng.h"
#include "train/quant/quant_inner.h"

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

static enum hc_status run(struct hc_quant *q, enum hc_quant_role role, struct hc_call *call)
{
    return q->run ? q->run(q->run_context, role, call) : hc_device_run(q->device, call);
}

/* Where delayed scaling keeps the scale and the amax of a tensor. */
static int64_t place_of(const struct hc_quant *q, int layer, enum hc_quant_role role,
                        const struct hc_quant_group **group)
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
    const struct hc_quant_buffers *b = &q->operand[which];
    const struct hc_quant_group *group;
    int64_t place = place_of(q, layer, role, &group);
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
    enum hc_status status = run(q, role, &call);
    return status == HC_OK && q->watch ? q->watch(q->watch_context, layer, role, &call) : status;
}

/* out [M, N] = A [M, K] B' [N, K] */
static enum hc_status multiply(struct hc_quant *q, const struct quantised *a,
                               const struct quantised *b, int promote, struct hc_tensor out)
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
    return run(q, HC_QUANT_OF_X, &call);
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
    return run(q, HC_QUANT_OF_X, &call);
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

static enum hc_status gather(struct hc_quant *q, int layer, struct hc_tensor x,
                             struct hc_tensor *columns)
{
    struct hc_quant_extent e = hc_quant_extent(&q->shape[layer]);
    *columns = hc_tensor2(x.format, e.pixels, e.taps,
                          is_itself(&q->shape[layer]) ? x.data : q->columns->data);
    if (is_itself(&q->shape[layer]))
        return HC_OK;
    struct hc_call call = {.op = HC_OP_im2col,
                           .in = {[HC_IM2COL_X] = x},
                           .out = {[HC_IM2COL_COLUMNS] = *columns},
                           .params.columns = columns_of(&q->shape[layer])};
    return run(q, HC_QUANT_OF_X, &call);
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
    struct hc_quant_extent e = hc_quant_extent(&q->shape[layer]);
    struct hc_tensor columns;
    struct quantised a;
    struct quantised b;
    enum hc_status status = gather(q, layer, x, &columns);
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
    return status == HC_OK ? multiply(q, &a, &b, p->promote, y) : status;
}

/* The gradient of the columns, in fp32, is that of x where the columns are x. */
enum hc_status hc_quant_to_input(struct hc_quant *q, int layer, struct hc_tensor dy,
                                 struct hc_tensor w, struct hc_tensor dx)
{
    const struct hc_quant_products *p = &q->recipe->product[HC_QUANT_DX];
    const struct hc_quant_shape *shape = &q->shape[layer];
    struct hc_quant_extent e = hc_quant_extent(shape);
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
            status = multiply(q, &a, &b, p->promote, back);
    }
    if (status != HC_OK || is_itself(shape))
        return status;
    struct hc_call call = {.op = HC_OP_col2im,
                           .in = {[HC_COL2IM_COLUMNS] = back},
                           .out = {[HC_COL2IM_DX] = dx},
                           .params.columns = columns_of(shape)};
    return run(q, HC_QUANT_OF_DY, &call);
}

enum hc_status hc_quant_to_filter(struct hc_quant *q, int layer, struct hc_tensor x,
                                  struct hc_tensor dy, struct hc_tensor dw)
{
    const struct hc_quant_products *p = &q->recipe->product[HC_QUANT_DW];
    struct hc_tensor columns;
    struct quantised a;
    struct quantised b;
    enum hc_status status = gather(q, layer, x, &columns);
    dy = matrix(dy, q->shape[layer].filters);
    dw = matrix(dw, columns.shape[1]);
    if (status == HC_OK && p->plain)
        return multiply_plainly(q, dy, true, columns, false, dw);
    if (status == HC_OK)
        status = quantise(q, layer, HC_QUANT_OF_DY, HC_QUANT_DW, OF_A, dy, true, &a);
    if (status == HC_OK)
        status = quantise(q, layer, HC_QUANT_OF_X, HC_QUANT_DW, OF_B, columns, true, &b);
    return status == HC_OK ? multiply(q, &a, &b, p->promote, dw) : status;
}
