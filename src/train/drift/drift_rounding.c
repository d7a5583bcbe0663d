/* Roundings put into a training in fp64: whether a unit takes a product, what fp64 needs in place
   of im2col, the rounder, and convolutions below half. */
#include "train/drift/drift_rounding.h"

#include <string.h>

#include "op/descriptor.h"

/* Calls of an ordinary size, which the backend is asked about and which are not run. */
static struct hc_accumulator accumulator_of(const struct hc_backend *backend, enum hc_op op,
                                            enum hc_format format)
{
    struct hc_tensor x = op == HC_OP_gemm ? hc_tensor2(format, 64, 64, NULL)
                                          : hc_tensor4(format, 16, 16, 16, 64, NULL);
    struct hc_tensor w = op == HC_OP_gemm ? x : hc_tensor4(format, 64, 3, 3, 64, NULL);
    bool filter = op == HC_OP_conv2d_bwd_filter;
    struct hc_call call = {.op = op, .in = {x, filter ? x : w}, .out = {filter ? w : x}};
    if (op == HC_OP_gemm)
        call.params.gemm = (struct hc_gemm){.alpha = 1};
    else
        call.params.conv = (struct hc_conv){.stride = 1, .pad = 1};
    return hc_backend_accumulator(backend, &call);
}

/* Whether it sums this product, of codes, otherwise than products in fp32. */
static bool call_meets_unit(const struct hc_call *call, const struct hc_backend *backend)
{
    struct hc_accumulator own = hc_backend_accumulator(backend, call);
    struct hc_accumulator ordinary = accumulator_of(backend, HC_OP_gemm, HC_FP32);
    return !hc_accumulator_same(&own, &ordinary);
}

/* A product of the recipe, of an ordinary size, which the backend is asked about and which is not
   run. */
static struct hc_call product_of(const struct hc_quant_products *p)
{
    return (struct hc_call){
        .op = HC_OP_gemm_q,
        .in = {[HC_GEMM_Q_A] = hc_tensor2(p->a.codes, 64, 64, NULL),
               [HC_GEMM_Q_B] = hc_tensor2(p->b.codes, 64, 64, NULL),
               [HC_GEMM_Q_A_SCALES].format = hc_scale_format(p->a.rule),
               [HC_GEMM_Q_B_SCALES].format = hc_scale_format(p->b.rule)},
        .out = {[HC_GEMM_Q_OUT] = hc_tensor2(HC_FP32, 64, 64, NULL)},
        .params.gemm_q = {p->a.rows, p->a.columns, p->b.rows, p->b.columns, p->promote}};
}

static bool codes_meet_unit(const struct hc_quant_recipe *q, const struct hc_backend *backend)
{
    bool meets = false;
    for (int i = 0; i < HC_QUANT_PRODUCTS && q != &hc_quant_recipes[HC_BY_NONE]; i++) {
        struct hc_call call = product_of(&q->product[i]);
        meets |= !q->product[i].plain && call_meets_unit(&call, backend);
    }
    return meets;
}

bool hc_recipe_meets_unit(const struct hc_recipe *recipe, const struct hc_backend *backend)
{
    static const enum hc_op products[] = {HC_OP_gemm, HC_OP_conv2d, HC_OP_conv2d_bwd_data,
                                          HC_OP_conv2d_bwd_filter};
    if (codes_meet_unit(&hc_quant_recipes[recipe->quant], backend))
        return true;
    if (recipe->model != HC_FP16 && recipe->model != HC_BF16)
        return false;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        struct hc_accumulator narrow = accumulator_of(backend, products[i], recipe->model);
        struct hc_accumulator ordinary = accumulator_of(backend, products[i], HC_FP32);
        if (!hc_accumulator_same(&narrow, &ordinary))
            return true;
    }
    return false;
}

/* +++-+------+-+--, the signs of op/quant.h. */
static const int signs[HC_HADAMARD] = {1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};

/* 16 neighbours times the signs and Sylvester's matrix / 4, in fp64. */
static void rotate(double v[HC_HADAMARD])
{
    for (int i = 0; i < HC_HADAMARD; i++)
        v[i] *= signs[i] / 4.0;
    for (int apart = 1; apart < HC_HADAMARD; apart *= 2)
        for (int i = 0; i < HC_HADAMARD; i++)
            if (!(i & apart)) {
                double a = v[i];
                v[i] = a + v[i + apart];
                v[i + apart] = a - v[i + apart];
            }
}

void hc_matrix_decode(const struct hc_call *quantize, double *to)
{
    const struct hc_tensor *codes = &quantize->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &quantize->out[HC_QUANTIZE_SCALES];
    double tensor = hc_tensor_get(&quantize->out[HC_QUANTIZE_TENSOR], 0);
    int64_t rows = hc_quant_block(codes->shape[0], quantize->params.quantize.rows);
    int64_t columns = hc_quant_block(codes->shape[1], quantize->params.quantize.columns);
    double number[256];
    uint8_t code[256];
    struct hc_tensor all = hc_tensor1(codes->format, 256, code);
    const uint8_t *from = codes->data;
    for (int i = 0; i < 256; i++) {
        code[i] = (uint8_t)(i & ((1 << hc_formats[codes->format].bits) - 1));
        number[i] = hc_tensor_get(&all, i);
    }
    for (int64_t i = 0; i < codes->shape[0]; i++)
        for (int64_t j = 0; j < codes->shape[1]; j += columns) {
            int64_t block = i / rows * scales->shape[1] + j / columns;
            double scale = hc_tensor_get(scales, block) * tensor;
            int64_t n = j + columns < codes->shape[1] ? columns : codes->shape[1] - j;
            for (int64_t k = 0; k < n; k++)
                *to++ = number[*from++] * scale;
        }
}

void hc_matrix_take(const struct hc_call *quantize, double *to)
{
    const struct hc_tensor *x = &quantize->in[HC_QUANTIZE_X];
    const struct hc_quantize *p = &quantize->params.quantize;
    const double *from = x->data;
    int64_t n = hc_tensor_count(x);
    int64_t rows = x->shape[0];
    int64_t columns = x->shape[1];
    if (p->transpose)
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++)
                to[j * rows + i] = from[i * columns + j];
    else
        memcpy(to, from, (size_t)n * sizeof *to);
    for (int64_t i = 0; i < n && p->hadamard; i += HC_HADAMARD)
        rotate(to + i);
}

/* An image, and how a filter goes over it. */
struct walk {
    double *x;
    int64_t images, height, width, channels;
    int64_t kernel, stride, pad;
};

static struct walk walk_of(const struct hc_tensor *x, const struct hc_columns *p)
{
    return (struct walk){x->data,     x->shape[0], x->shape[1], x->shape[2],
                         x->shape[3], p->kernel,   p->stride,   p->pad};
}

static int64_t positions(const struct walk *w, int64_t extent)
{
    return (extent + 2 * w->pad - w->kernel) / w->stride + 1;
}

/* The channels of pixel (h, w) of image n; NULL: padding. */
static double *pixel(const struct walk *w, int64_t n, int64_t h, int64_t v)
{
    if (h < 0 || h >= w->height || v < 0 || v >= w->width)
        return NULL;
    return w->x + ((n * w->height + h) * w->width + v) * w->channels;
}

/* Copies the channels of a pixel into a column, or adds the column to them. Padding is 0. */
static void meet(double *pixel, double *column, int64_t channels, bool back)
{
    for (int64_t c = 0; c < channels; c++)
        if (!back)
            column[c] = pixel ? pixel[c] : 0;
        else if (pixel)
            pixel[c] += column[c];
}

/* Takes each pixel that the filter meets together with its place in the columns. */
static void each(const struct walk *w, double *columns, bool back)
{
    for (int64_t n = 0; n < w->images; n++)
        for (int64_t p = 0; p < positions(w, w->height); p++)
            for (int64_t q = 0; q < positions(w, w->width); q++)
                for (int64_t i = 0; i < w->kernel * w->kernel; i++) {
                    int64_t h = p * w->stride - w->pad + i / w->kernel;
                    int64_t v = q * w->stride - w->pad + i % w->kernel;
                    meet(pixel(w, n, h, v), columns, w->channels, back);
                    columns += w->channels;
                }
}

void hc_matrix_gather(const struct hc_call *call)
{
    struct walk w = walk_of(&call->in[HC_IM2COL_X], &call->params.columns);
    each(&w, call->out[HC_IM2COL_COLUMNS].data, false);
}

void hc_matrix_scatter(const struct hc_call *call)
{
    const struct hc_tensor *dx = &call->out[HC_COL2IM_DX];
    struct walk w = walk_of(dx, &call->params.columns);
    memset(dx->data, 0, hc_tensor_bytes(dx));
    each(&w, call->in[HC_COL2IM_COLUMNS].data, true);
}

void *hc_rounder_buffer(struct hc_rounder *r, int which, size_t bytes)
{
    if (r->buffer[which].bytes < bytes) {
        hc_device_release(r->device, r->buffer[which].data, r->buffer[which].bytes);
        r->buffer[which].data = hc_device_memory_unset(r->device, bytes);
        r->buffer[which].bytes = r->buffer[which].data ? bytes : 0;
    }
    return r->buffer[which].data;
}

enum hc_status hc_rounded(struct hc_rounder *r, enum hc_format format, double *x, int64_t n)
{
    if (format == HC_FP64 || n == 0)
        return HC_OK;
    struct hc_tensor wide = hc_tensor1(HC_FP64, n, x);
    struct hc_tensor narrow = hc_tensor1(format, n, NULL);
    narrow.data = hc_rounder_buffer(r, HC_ROUNDER_NARROW, hc_tensor_bytes(&narrow));
    enum hc_status status = narrow.data ? hc_device_cast(r->device, wide, narrow) : HC_NO_MEMORY;
    return status == HC_OK ? hc_device_cast(r->device, narrow, wide) : status;
}

static enum hc_status round_tensor(struct hc_rounder *r, enum hc_source source,
                                   const struct hc_tensor *t)
{
    return hc_rounded(r, r->rounding.format[source][0], t->data, hc_tensor_count(t));
}

static enum hc_status override(struct hc_device *device, const struct hc_call *call, void *context);

/* The call as it is. */
static enum hc_status run_as_it_is(struct hc_rounder *r, struct hc_call *call)
{
    r->device->override = NULL;
    enum hc_status status = hc_device_run(r->device, call);
    r->device->override = override;
    return status;
}

static size_t padded(const struct hc_tensor *t)
{
    return (hc_tensor_bytes(t) + 63) / 64 * 64;
}

enum hc_status hc_rounder_carry_out(struct hc_rounder *r, enum hc_format factors,
                                    enum hc_format format, const struct hc_call *call)
{
    struct hc_call narrow = *call;
    int inputs = hc_ops[call->op].inputs;
    int slots = inputs + hc_ops[call->op].outputs;
    struct hc_tensor *slot[HC_MAX_IN + HC_MAX_OUT];
    struct hc_tensor wide[HC_MAX_IN + HC_MAX_OUT];
    size_t bytes = 0;
    if (format == HC_FP64)
        return run_as_it_is(r, &narrow);
    hc_call_compute_in(&narrow, format);
    for (int i = 0; i < slots; i++) {
        slot[i] = i < inputs ? &narrow.in[i] : &narrow.out[i - inputs];
        wide[i] = *slot[i];
        if (wide[i].format == HC_FP64)
            slot[i]->format = i < inputs ? factors : HC_FP32;
        bytes += padded(slot[i]);
    }
    unsigned char *at = hc_rounder_buffer(r, HC_ROUNDER_NARROW, bytes);
    enum hc_status status = at ? HC_OK : HC_NO_MEMORY;
    for (int i = 0; i < slots && status == HC_OK; i++) {
        if (!wide[i].data || wide[i].format != HC_FP64)
            continue;
        slot[i]->data = at;
        at += padded(slot[i]);
        if (i < inputs)
            status = hc_device_cast(r->device, wide[i], *slot[i]);
    }
    if (status == HC_OK)
        status = run_as_it_is(r, &narrow);
    for (int i = inputs; i < slots && status == HC_OK; i++)
        if (wide[i].data && wide[i].format == HC_FP64)
            status = hc_device_cast(r->device, *slot[i], wide[i]);
    return status;
}

/* Carries the call out with tensors in fp32 in place of those in fp64, and casts its results back.
   `format` is that of its arithmetic; HC_FP64: the call runs as it is. */
static enum hc_status carried_out(struct hc_rounder *r, enum hc_format format,
                                  const struct hc_call *call)
{
    return hc_rounder_carry_out(r, HC_FP32, format, call);
}

/* Batch norm and leaky ReLU one after the other, because what passes between them is a value that
   is rounded, too. */
static enum hc_status norm_forward(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_format format = r->rounding.format[HC_SOURCE_NORM][0];
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    struct hc_call norm = *call;
    struct hc_call leaky = {.op = HC_OP_leaky_relu,
                            .in = {[HC_LEAKY_X] = *y},
                            .out = {[HC_LEAKY_Y] = *y},
                            .params.leaky = {call->params.bn.slope}};
    norm.op = HC_OP_bn_train;
    enum hc_status status = carried_out(r, format, &norm);
    if (status == HC_OK)
        status = round_tensor(r, HC_SOURCE_ACTIVATIONS, y);
    return status == HC_OK ? carried_out(r, format, &leaky) : status;
}

/* dz gets memory of its own: dy must stay as it is, since the gradient of a sum is also that of the
   sum's other side. */
static enum hc_status norm_backward(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_format format = r->rounding.format[HC_SOURCE_NORM][0];
    struct hc_tensor dy = call->in[HC_BN_LEAKY_BWD_DY];
    struct hc_tensor dz = dy;
    dz.data = hc_rounder_buffer(r, HC_ROUNDER_SPLIT, hc_tensor_bytes(&dz));
    struct hc_call leaky = {
        .op = HC_OP_leaky_relu_bwd,
        .in = {[HC_LEAKY_BWD_Y] = call->in[HC_BN_LEAKY_BWD_Y], [HC_LEAKY_BWD_DY] = dy},
        .out = {[HC_LEAKY_BWD_DX] = dz},
        .params.leaky = {call->params.bn.slope}};
    struct hc_call norm = {.op = HC_OP_bn_bwd,
                           .in = {[HC_BN_BWD_X] = call->in[HC_BN_LEAKY_BWD_X],
                                  [HC_BN_BWD_DY] = dz,
                                  [HC_BN_BWD_GAMMA] = call->in[HC_BN_LEAKY_BWD_GAMMA],
                                  [HC_BN_BWD_MEAN] = call->in[HC_BN_LEAKY_BWD_MEAN],
                                  [HC_BN_BWD_INVSTD] = call->in[HC_BN_LEAKY_BWD_INVSTD]},
                           .out = {[HC_BN_BWD_DX] = call->out[HC_BN_BWD_DX],
                                   [HC_BN_BWD_DGAMMA] = call->out[HC_BN_BWD_DGAMMA],
                                   [HC_BN_BWD_DBETA] = call->out[HC_BN_BWD_DBETA]},
                           .params = call->params};
    enum hc_status status = dz.data ? carried_out(r, format, &leaky) : HC_NO_MEMORY;
    if (status == HC_OK)
        status = round_tensor(r, HC_SOURCE_GRADIENTS, &dz);
    return status == HC_OK ? carried_out(r, format, &norm) : status;
}

/* One parameter's update. */
static enum hc_status optimize(struct hc_rounder *r, const struct hc_call *call)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call->op);
    const struct hc_tensor *g = &call->in[s->g];
    int p = 0;
    while (hc_update_tensor(r->update, HC_STATE_MASTER, p).data != call->in[s->w].data)
        p++;
    int norm = r->parameters[p]->role == HC_ROLE_NORM;
    enum hc_status status = hc_rounded(r, r->rounding.unscaled[norm], g->data, hc_tensor_count(g));
    return status == HC_OK ? carried_out(r, r->rounding.format[HC_SOURCE_OPTIMIZER][norm], call)
                           : status;
}

/* Whether this call is the first to read the input since it was computed: activations are read by
   the forward pass, gradients by the backward pass. The loss's gradient reads the logits again; a
   gemm reads activations or gradients from A, save that of a bias, which is ones x dy. */
static bool is_new(const struct hc_rounder *r, const struct hc_call *call, int slot)
{
    enum hc_pass_data pass = hc_slot(call->op, slot)->pass;
    if (call->op == HC_OP_xent_bwd || call->op == HC_OP_cast)
        return false;
    if (call->op == HC_OP_gemm) {
        bool bias = r->backward && call->out[HC_GEMM_OUT].shape[0] == 1;
        return slot == (bias ? HC_GEMM_B : HC_GEMM_A);
    }
    return pass == HC_PASS_EITHER || pass == (r->backward ? HC_PASS_GRADIENT : HC_PASS_ACTIVATION);
}

static enum hc_status round_inputs(struct hc_rounder *r, const struct hc_call *call)
{
    enum hc_source source = r->backward ? HC_SOURCE_GRADIENTS : HC_SOURCE_ACTIVATIONS;
    enum hc_status status = HC_OK;
    for (int i = 0; i < hc_ops[call->op].inputs && status == HC_OK; i++)
        if (is_new(r, call, i))
            status = round_tensor(r, source, &call->in[i]);
    r->backward |= call->op == HC_OP_xent_bwd;
    return status;
}

static enum hc_format arithmetic_of(const struct hc_rounder *r, enum hc_op_class class_)
{
    switch (class_) {
    case HC_CLASS_GEMM:
    case HC_CLASS_CONV:
    case HC_CLASS_POOL:
        return r->rounding.format[HC_SOURCE_ACCUMULATION][0];
    case HC_CLASS_LOSS:
        return r->rounding.format[HC_SOURCE_LOSS][0];
    default:
        return HC_FP64;
    }
}

static bool is_gpt(const struct hc_rounder *r)
{
    return r->net && hc_net_plan(r->net)->network->gpt;
}

static enum hc_status override(struct hc_device *device, const struct hc_call *call, void *context)
{
    struct hc_rounder *r = context;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    if (call->op == HC_OP_cast || call->in[HC_FIRST].format != HC_FP64)
        return device->backend->kernel[call->op](device->queue, call);
    if (is_gpt(r) && class_ != HC_CLASS_OPTIMIZER)
        return hc_rounder_run_gpt(r, call);
    enum hc_status status = round_inputs(r, call);
    if (status != HC_OK)
        return status;
    if (call->op == HC_OP_bn_leaky_train)
        return norm_forward(r, call);
    if (call->op == HC_OP_bn_leaky_bwd)
        return norm_backward(r, call);
    if (class_ == HC_CLASS_OPTIMIZER)
        return optimize(r, call);
    enum hc_format unit = r->rounding.format[HC_SOURCE_UNIT][0];
    if (unit != HC_FP64 && (class_ == HC_CLASS_GEMM || class_ == HC_CLASS_CONV))
        return hc_rounder_carry_out(r, unit, HC_FP32, call);
    return carried_out(r, arithmetic_of(r, class_), call);
}

void hc_rounder_attach(struct hc_rounder *r)
{
    r->device->override = override;
    r->device->override_context = r;
}

void hc_rounder_end(struct hc_rounder *r)
{
    for (int i = 0; i < HC_ROUNDER_BUFFERS; i++)
        hc_device_release(r->device, r->buffer[i].data, r->buffer[i].bytes);
}

/* Convolutions below half in a training in fp64. The net makes the calls of a recipe that
   quantises, on tensors in fp64 that no kernel takes; here they are carried out with the roundings
   that are put in, and otherwise in fp64. */

/* An operand in fp64, with the product's inner dimension inside unless it is transposed. What is
   not coded is taken where it lies, but for a copy that is turned. */
static enum hc_status matrix_of(struct hc_rounder *r, int which, struct hc_tensor *matrix,
                                bool *transposed)
{
    const struct hc_call *quantize = &r->operand[which].quantize;
    const struct hc_quantize *p = &quantize->params.quantize;
    *transposed = !r->operand[which].coded && !p->hadamard && p->transpose;
    *matrix = quantize->in[HC_QUANTIZE_X];
    if (!r->operand[which].coded && !p->hadamard)
        return HC_OK;
    *matrix = quantize->out[HC_QUANTIZE_CODES];
    matrix->format = HC_FP64;
    matrix->data = hc_rounder_buffer(r, HC_ROUNDER_OPERAND + which, hc_tensor_bytes(matrix));
    if (!matrix->data)
        return HC_NO_MEMORY;
    (r->operand[which].coded ? hc_matrix_decode : hc_matrix_take)(quantize, matrix->data);
    return HC_OK;
}

/* A and B have buffers for codes of their own, by which they are told apart. */
static int operand_at(const struct hc_rounder *r, const void *codes)
{
    const struct hc_call *first = &r->operand[0].quantize;
    const void *of_first = first->out[HC_QUANTIZE_CODES].data;
    return of_first && of_first != codes;
}

static enum hc_status quantise(struct hc_rounder *r, enum hc_quant_role role,
                               const struct hc_call *call)
{
    int which = operand_at(r, call->out[HC_QUANTIZE_CODES].data);
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    enum hc_source read = r->backward ? HC_SOURCE_GRADIENTS : HC_SOURCE_ACTIVATIONS;
    bool new = !is_gpt(r) && role == (r->backward ? HC_QUANT_OF_DY : HC_QUANT_OF_X);
    enum hc_status status = HC_OK;
    if (new)
        status = hc_rounded(r, r->rounding.format[read][0], x->data, hc_tensor_count(x));
    r->operand[which].quantize = *call;
    r->operand[which].coded = r->rounding.format[HC_SOURCE_CODES + role][0] != HC_FP64;
    return status == HC_OK && r->operand[which].coded ? carried_out(r, HC_FP32, call) : status;
}

/* Codes go through the product of codes, unless its sums are not put in: those of the backend's
   unit, or all. */
static enum hc_status multiply_codes(struct hc_rounder *r, const struct hc_call *call)
{
    const enum hc_format(*format)[2] = r->rounding.format;
    int a = operand_at(r, call->in[HC_GEMM_Q_A].data);
    int b = operand_at(r, call->in[HC_GEMM_Q_B].data);
    bool sums = format[HC_SOURCE_ACCUMULATION][0] != HC_FP64;
    bool unit = call_meets_unit(call, r->device->backend);
    struct hc_call product = {.op = HC_OP_gemm,
                              .out = {[HC_GEMM_OUT] = call->out[HC_GEMM_Q_OUT]},
                              .params.gemm.alpha = 1};
    bool transposed = false;
    if (r->operand[a].coded && r->operand[b].coded && sums &&
        (!unit || format[HC_SOURCE_UNIT][0] != HC_FP64))
        return carried_out(r, HC_FP32, call);
    enum hc_status status =
        matrix_of(r, a, &product.in[HC_GEMM_A], &product.params.gemm.transpose_a);
    if (status == HC_OK)
        status = matrix_of(r, b, &product.in[HC_GEMM_B], &transposed);
    product.params.gemm.transpose_b = !transposed;
    return status == HC_OK ? carried_out(r, sums ? HC_FP32 : HC_FP64, &product) : status;
}

/* The columns of an image hold its numbers, which are new in the forward pass. */
static enum hc_status gather_images(struct hc_rounder *r, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_IM2COL_X];
    enum hc_format format = r->backward ? HC_FP64 : r->rounding.format[HC_SOURCE_ACTIVATIONS][0];
    enum hc_status status = hc_rounded(r, format, x->data, hc_tensor_count(x));
    hc_matrix_gather(call);
    return status;
}

static enum hc_status scatter_images(struct hc_rounder *r, const struct hc_call *call)
{
    if (r->rounding.format[HC_SOURCE_ACCUMULATION][0] != HC_FP64)
        return carried_out(r, HC_FP32, call);
    hc_matrix_scatter(call);
    return HC_OK;
}

static enum hc_status run_rounded_call(void *context, enum hc_quant_role role, struct hc_call *call)
{
    struct hc_rounder *r = context;
    enum hc_status status;
    switch (call->op) {
    case HC_OP_im2col:
        return gather_images(r, call);
    case HC_OP_quantize:
        return quantise(r, role, call);
    case HC_OP_gemm_q:
        status = multiply_codes(r, call);
        return status == HC_OK && is_gpt(r) ? hc_rounder_finish_gpt(r, call) : status;
    case HC_OP_col2im:
        return scatter_images(r, call);
    default:
        return hc_device_run(r->device, call); /* a plain product */
    }
}

enum hc_status hc_rounder_quantise(struct hc_rounder *r, struct hc_net *net)
{
    const struct hc_coding *as = &r->rounding.coding;
    const struct hc_quant_recipe *row = as->row > HC_BY_NONE ? &hc_quant_recipes[as->row] : NULL;
    memset(r->operand, 0, sizeof r->operand);
    enum hc_status status = hc_net_requantise(net, row, as->history, (int)as->ends);
    if (status == HC_OK && row)
        hc_quant_run_with(hc_net_quant(net), run_rounded_call, r);
    return status;
}
