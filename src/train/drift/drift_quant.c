/* Convolutions below half in a training in fp64. The net makes the calls of a recipe that
   quantises, on tensors in fp64 that no kernel takes; here they are carried out with the roundings
   that are put in, and otherwise in fp64. */
#include <string.h>

#include "train/drift/drift_matrix.h"
#include "train/drift/drift_rounding.h"
#include "train/drift/drift_unit.h"

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
    bool new = role == (r->backward ? HC_QUANT_OF_DY : HC_QUANT_OF_X);
    enum hc_status status = HC_OK;
    if (new)
        status = hc_rounded(r, r->rounding.format[read][0], x->data, hc_tensor_count(x));
    r->operand[which].quantize = *call;
    r->operand[which].coded = r->rounding.format[HC_SOURCE_CODES + role][0] != HC_FP64;
    return status == HC_OK && r->operand[which].coded ? hc_carried_out(r, HC_FP32, call) : status;
}

/* Codes go through the product of codes, unless its sums are not put in: those of the backend's
   unit, or all. */
static enum hc_status multiply(struct hc_rounder *r, const struct hc_call *call)
{
    const enum hc_format(*format)[2] = r->rounding.format;
    int a = operand_at(r, call->in[HC_GEMM_Q_A].data);
    int b = operand_at(r, call->in[HC_GEMM_Q_B].data);
    bool sums = format[HC_SOURCE_ACCUMULATION][0] != HC_FP64;
    bool unit = hc_call_meets_unit(call, r->device->backend);
    struct hc_call product = {.op = HC_OP_gemm,
                              .out = {[HC_GEMM_OUT] = call->out[HC_GEMM_Q_OUT]},
                              .params.gemm.alpha = 1};
    bool transposed = false;
    if (r->operand[a].coded && r->operand[b].coded && sums &&
        (!unit || format[HC_SOURCE_UNIT][0] != HC_FP64))
        return hc_carried_out(r, HC_FP32, call);
    enum hc_status status =
        matrix_of(r, a, &product.in[HC_GEMM_A], &product.params.gemm.transpose_a);
    if (status == HC_OK)
        status = matrix_of(r, b, &product.in[HC_GEMM_B], &transposed);
    product.params.gemm.transpose_b = !transposed;
    return status == HC_OK ? hc_carried_out(r, sums ? HC_FP32 : HC_FP64, &product) : status;
}

/* The columns of an image hold its numbers, which are new in the forward pass. */
static enum hc_status gather(struct hc_rounder *r, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_IM2COL_X];
    enum hc_format format = r->backward ? HC_FP64 : r->rounding.format[HC_SOURCE_ACTIVATIONS][0];
    enum hc_status status = hc_rounded(r, format, x->data, hc_tensor_count(x));
    hc_matrix_gather(call);
    return status;
}

static enum hc_status scatter(struct hc_rounder *r, const struct hc_call *call)
{
    if (r->rounding.format[HC_SOURCE_ACCUMULATION][0] != HC_FP64)
        return hc_carried_out(r, HC_FP32, call);
    hc_matrix_scatter(call);
    return HC_OK;
}

static enum hc_status run(void *context, enum hc_quant_role role, struct hc_call *call)
{
    struct hc_rounder *r = context;
    switch (call->op) {
    case HC_OP_im2col:
        return gather(r, call);
    case HC_OP_quantize:
        return quantise(r, role, call);
    case HC_OP_gemm_q:
        return multiply(r, call);
    case HC_OP_col2im:
        return scatter(r, call);
    default:
        return hc_device_run(r->device, call); /* a plain product */
    }
}

enum hc_status hc_rounder_quantise(struct hc_rounder *r, struct hc_net *net)
{
    const struct hc_coding *as = &r->rounding.coding;
    const struct hc_quant_recipe *row = as->row > HC_BY_NONE ? &hc_quant_recipes[as->row] : NULL;
    memset(r->operand, 0, sizeof r->operand);
    enum hc_status status = hc_net_requantise(net, row, as->history);
    if (status == HC_OK && row)
        hc_quant_run_with(hc_net_quant(net), run, r);
    return status;
}
