/* gemm_q on a unit: each piece is a product of its own, from C = 0, whose end in fp32 is scaled and
   added outside the unit, as kernels that promote do. A unit that takes the scales itself is
   scaled.c's. */
#include "kernels/element/load.h"
#include "kernels/element/quant_gemm.h"
#include "kernels/sim/sim.h"
#include "num/bits.h"

/* A piece; `call` is what the product hands to `add`. */
struct piece {
    struct hc_call call;
    struct hc_block_scales a, b;
    int64_t from;
    bool only;
    float *acc;
};

static void add_code(const struct hc_call *call, int64_t row, int64_t column, uint32_t code)
{
    const struct piece *piece = (const struct piece *)(const void *)call;
    float *acc = &piece->acc[row * call->in[HC_GEMM_Q_B].shape[0] + column];
    *acc = hc_add_piece(*acc, hc_fp32_value(code), hc_block_scale(&piece->a, row, piece->from),
                        hc_block_scale(&piece->b, column, piece->from), piece->only);
}

/* Terms `from` to `end` of both factors. */
static struct hc_sim_product product_of(const struct hc_unit *u, const struct hc_call *call,
                                        int64_t from, int64_t end, int threads)
{
    struct hc_tensor a = call->in[HC_GEMM_Q_A];
    struct hc_tensor b = call->in[HC_GEMM_Q_B];
    a.data = a.data ? (uint8_t *)a.data + from : NULL;
    b.data = b.data ? (uint8_t *)b.data + from : NULL;
    return (struct hc_sim_product){
        .unit = u,
        .engine = hc_sim_engine_for(u),
        .a = hc_sim_matrix(&a, a.shape[1], 1),
        .b = hc_sim_matrix(&b, b.shape[1], 1),
        .rows = a.shape[0],
        .columns = b.shape[0],
        .terms = end - from,
        .threads = threads,
        .finish = add_code,
    };
}

static size_t acc_bytes(const struct hc_call *call)
{
    size_t bytes = (size_t)hc_tensor_count(&call->out[HC_GEMM_Q_OUT]) * sizeof(float);
    return (bytes + 63) / 64 * 64;
}

size_t hc_sim_gemm_q_scratch(const struct hc_unit *u, const struct hc_call *call, int threads)
{
    if (u->scale != HC_OPERAND_NONE)
        return acc_bytes(call) + hc_sim_scaled_scratch(u, call, threads);
    struct hc_sim_product p = product_of(u, call, 0, call->in[HC_GEMM_Q_A].shape[1], threads);
    return acc_bytes(call) + hc_sim_product_scratch(&p);
}

/* Piece by piece, with the scales outside the unit. */
static void sum_pieces(const struct hc_unit *u, const struct hc_call *call, int threads, float *acc,
                       void *scratch)
{
    int64_t k = call->in[HC_GEMM_Q_A].shape[1];
    struct piece piece = {*call, hc_gemm_q_a_scales(call), hc_gemm_q_b_scales(call), 0, false, acc};
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_GEMM_Q_OUT]); i++)
        acc[i] = 0;
    for (int64_t end; piece.from < k; piece.from = end) {
        end = hc_gemm_q_piece_end(&call->params.gemm_q, piece.from, k);
        piece.only = piece.from == 0 && end == k;
        struct hc_sim_product product = product_of(u, call, piece.from, end, threads);
        product.call = &piece.call;
        hc_sim_product_run(&product, scratch);
    }
}

void hc_sim_gemm_q(const struct hc_unit *u, const struct hc_call *call, int threads)
{
    const struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    const struct hc_tensor *out = &call->out[HC_GEMM_Q_OUT];
    struct hc_gemm_q_end ends =
        hc_gemm_q_end_of(call->in[HC_GEMM_Q_A_TENSOR].data, call->in[HC_GEMM_Q_B_TENSOR].data);
    float *acc = call->scratch;
    (u->scale == HC_OPERAND_NONE ? sum_pieces : hc_sim_scaled)(
        u, call, threads, acc, (char *)call->scratch + acc_bytes(call));
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        float value = hc_gemm_q_scaled(&ends, acc[i], call->in[HC_GEMM_Q_A].shape[1]);
        if (c->data)
            value += hc_load(c->format, c->data, i);
        hc_store(out->format, out->data, i, value);
    }
}
