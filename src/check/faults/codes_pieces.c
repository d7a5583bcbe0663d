/* Defects of the text that all backends take the pieces of gemm_q from: exact, host and the ends of
   pieces that bounds know are wrong in the same way. */
#include "check/selftest/change.h"

/* The row's number. */
enum { ENDS_LATE, NOT_FUSED };

static double scale_of(const struct hc_call *call, int slot, int64_t row, int64_t k)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    bool first = slot == HC_GEMM_Q_A_SCALES;
    const struct hc_tensor *t = &call->in[slot];
    int64_t rows = first ? p->a_rows : p->b_rows;
    int64_t columns = first ? p->a_columns : p->b_columns;
    int64_t down = rows > 0 ? row / rows : 0;
    return hc_tensor_get(t, down * t->shape[1] + (columns > 0 ? k / columns : 0));
}

/* The sum of the terms from k to `end`; a term has the scales of the one before it if pieces end
   late. */
static float added(const struct hc_call *call, const int64_t at[2], int64_t k, int64_t end,
                   float acc)
{
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    float piece = 0;
    float x = (float)scale_of(call, HC_GEMM_Q_A_SCALES, at[0], k);
    float y = (float)scale_of(call, HC_GEMM_Q_B_SCALES, at[1], k);
    for (; k < end; k++)
        piece += (float)(hc_tensor_get(a, at[0] * a->shape[1] + k) *
                         hc_tensor_get(b, at[1] * a->shape[1] + k));
    float scaled = piece * x;
    scaled *= y;
    return acc + scaled;
}

static enum hc_status wrong_pieces(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_GEMM_Q_OUT];
    const struct hc_gemm_q *p = &call->params.gemm_q;
    int64_t length = call->in[HC_GEMM_Q_A].shape[1];
    bool late = site->fault->number == ENDS_LATE;
    if (call->in[HC_GEMM_Q_C].data || call->in[HC_GEMM_Q_A_TENSOR].data ||
        call->in[HC_GEMM_Q_B_TENSOR].data)
        return site->right(queue, call);
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        const int64_t at[2] = {i / out->shape[1], i % out->shape[1]};
        float acc = 0;
        for (int64_t k = 0, end; k < length; k = end) {
            end = hc_gemm_q_piece_end(p, k, length);
            end += late && end < length;
            acc = added(call, at, k, end, acc);
        }
        hc_tensor_set(out, i, (double)acc);
    }
    return HC_OK;
}

static void never_promoted(struct hc_call *call, double number)
{
    (void)number;
    call->params.gemm_q.promote = 0;
}

static const struct hc_fault faults[] = {
    {"pieces-end-late", "a piece of a product of codes ends one term late in all backends",
     HC_FAULT_COMMON, "gemm_q", "products/codes-pieces-end-at-blocks", HC_PLACE_BOTH,
     .wrong = wrong_pieces, .number = ENDS_LATE},
    {"pieces-not-fused", "a piece is scaled and then added with two roundings in all backends",
     HC_FAULT_COMMON, "gemm_q", "products/codes-pieces-are-rounded", HC_PLACE_BOTH,
     .wrong = wrong_pieces, .number = NOT_FUSED},
    {"pieces-never-promoted", "products of codes are never promoted in all backends",
     HC_FAULT_COMMON, "gemm_q", "products/codes-pieces-one-by-one", HC_PLACE_BOTH,
     .change = never_promoted},
};

HC_FAULTS(codes_pieces, faults);
