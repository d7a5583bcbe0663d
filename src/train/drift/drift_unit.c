#include "train/drift/drift_unit.h"

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

bool hc_call_meets_unit(const struct hc_call *call, const struct hc_backend *backend)
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
        meets |= !q->product[i].plain && hc_call_meets_unit(&call, backend);
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
