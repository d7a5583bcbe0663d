/* The ops as products of matrices. The terms of a chain come in the order of k in gemm, of the
   elements in dot, of r, s, c in conv2d, of r, s, k in conv2d_bwd_data and of n, p, q in
   conv2d_bwd_filter. */
#include "kernels/element/load.h"
#include "kernels/element/round.h"
#include "kernels/sim/sim.h"
#include "num/bits.h"

static float addend_of(const struct hc_call *call, int64_t row, int64_t column)
{
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    return hc_load(c->format, c->data, c->rank == 1 ? column : row * n + column);
}

/* With alpha = beta = 1 the unit adds C itself, if it is in the format of the unit's. */
static bool starts_with_c(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    enum hc_format format = p->half_accumulator ? HC_FP16 : HC_FP32;
    return hc_parameter(p->alpha) == 1 && hc_parameter(p->beta) == 1 &&
           call->in[HC_GEMM_C].format == format;
}

static uint32_t start_with_c(const struct hc_call *call, int64_t row, int64_t column)
{
    float c = addend_of(call, row, column);
    return call->params.gemm.half_accumulator ? hc_fp16_bits(c) : hc_fp32_bits(c);
}

static void finish_gemm(const struct hc_call *call, int64_t row, int64_t column, uint32_t code)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    float beta = hc_parameter(p->beta);
    bool empty = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1] == 0;
    float value = empty ? 0 : hc_parameter(p->alpha) * hc_fp32_value(code);
    if (beta != 0 && (empty || !starts_with_c(call)))
        value += beta * addend_of(call, row, column);
    hc_store(out->format, out->data, row * out->shape[1] + column, value);
}

/* alpha and beta are taken as fp16, and every step is rounded to it. */
static void finish_half(const struct hc_call *call, int64_t row, int64_t column, uint32_t code)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    bool empty = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1] == 0;
    float alpha = hc_coefficient(HC_FP16, p->alpha);
    float value = empty ? 0 : hc_fp16_round(alpha * hc_fp16_value((uint16_t)code));
    if (p->beta != 0 && (empty || !starts_with_c(call))) {
        float addend = hc_fp16_round(addend_of(call, row, column));
        value = hc_fp16_round(value + hc_fp16_round(hc_coefficient(HC_FP16, p->beta) * addend));
    }
    hc_store(out->format, out->data, row * out->shape[1] + column, value);
}

static void finish_sum(const struct hc_call *call, int64_t row, int64_t column, uint32_t code)
{
    const struct hc_tensor *out = &call->out[HC_CONV_RESULT];
    int64_t columns = call->op == HC_OP_conv2d_bwd_filter ? hc_tensor_count(out) / out->shape[0]
                      : out->rank == 4                    ? out->shape[3]
                                                          : 1;
    hc_store(out->format, out->data, row * columns + column, hc_fp32_value(code));
}

static struct hc_sim_product gemm(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    int64_t m = call->out[HC_GEMM_OUT].shape[0];
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    int64_t k = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1];
    return (struct hc_sim_product){
        .a = hc_sim_matrix(&call->in[HC_GEMM_A], p->transpose_a ? 1 : k, p->transpose_a ? m : 1),
        .b = hc_sim_matrix(&call->in[HC_GEMM_B], p->transpose_b ? k : 1, p->transpose_b ? 1 : n),
        .rows = m,
        .columns = n,
        .terms = k,
        .start = starts_with_c(call) ? start_with_c : NULL,
        .finish = p->half_accumulator ? finish_half : finish_gemm,
    };
}

static struct hc_sim_product dot(const struct hc_call *call)
{
    return (struct hc_sim_product){
        .a = hc_sim_matrix(&call->in[HC_REDUCE_X], 0, 1),
        .b = hc_sim_matrix(&call->in[HC_DOT_Y], 0, 1),
        .rows = 1,
        .columns = 1,
        .terms = hc_tensor_count(&call->in[HC_REDUCE_X]),
        .finish = finish_sum,
    };
}

static struct hc_sim_product conv(const struct hc_call *call)
{
    struct hc_conv_shape g = hc_conv_shape_of(call);
    const struct hc_tensor *first = &call->in[HC_CONV_FIRST];
    const struct hc_tensor *second = &call->in[HC_CONV_SECOND];
    int64_t taps = g.r * g.s;
    struct hc_sim_product p = {.finish = finish_sum};
    if (call->op == HC_OP_conv2d_bwd_filter) {
        p.a = hc_sim_matrix(second, 1, g.k);
        p.b = hc_sim_images(first, &g);
        p.rows = g.k, p.columns = taps * g.c, p.terms = g.n * g.p * g.q;
    } else if (call->op == HC_OP_conv2d) {
        p.a = hc_sim_images(first, &g);
        p.b = hc_sim_matrix(second, taps * g.c, 1);
        p.rows = g.n * g.p * g.q, p.columns = g.k, p.terms = taps * g.c;
    } else {
        p.a = hc_sim_images(first, &g);
        p.b = hc_sim_filters(second, &g);
        p.rows = g.n * g.h * g.w, p.columns = g.c, p.terms = taps * g.k;
    }
    return p;
}

struct hc_sim_product hc_sim_product_of(const struct hc_unit *u, const struct hc_call *call,
                                        int threads)
{
    struct hc_sim_product p = call->op == HC_OP_gemm  ? gemm(call)
                              : call->op == HC_OP_dot ? dot(call)
                                                      : conv(call);
    p.unit = u;
    p.engine = hc_sim_engine_for(u);
    p.threads = threads;
    p.call = call;
    return p;
}
