/* alpha * op(A) op(B) + beta * C. alpha and beta are rounded to fp32 first, or to fp16 with a
   half_accumulator. */
#include <math.h>

#include "reference/split.h"

hc_reference hc_reference_gemm;
void hc_reference_gemm(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    int64_t columns = call->out[HC_GEMM_OUT].shape[1];
    int64_t m = e->index / columns;
    int64_t n = e->index % columns;
    int64_t length = a->shape[p->transpose_a ? 0 : 1];
    bool half = p->half_accumulator;
    double alpha = half ? hc_round(HC_FP16, p->alpha) : hc_single(p->alpha, p->as_given);
    double beta = half ? hc_round(HC_FP16, p->beta) : hc_single(p->beta, p->as_given);
    struct hc_terms s;
    hc_terms_begin(&s, precision);
    s.tf32 = hc_call_tf32(call);
    for (int64_t k = 0; k < length; k++)
        hc_terms_product(&s, a, p->transpose_a ? k * a->shape[1] + m : m * length + k, b,
                         p->transpose_b ? n * length + k : k * columns + n);
    hc_terms_fold(&s);
    mpfr_set_d(s.factor, alpha, MPFR_RNDN);
    mpfr_mul(s.sum, s.sum, s.factor, MPFR_RNDN);
    mpfr_mul_d(s.magnitude, s.magnitude, fabs(alpha), MPFR_RNDU);
    if (p->beta != 0) {
        hc_load_real(s.term, c, c->rank == 1 ? n : e->index);
        mpfr_set_d(s.factor, beta, MPFR_RNDN);
        mpfr_mul(s.term, s.term, s.factor, MPFR_RNDN);
        hc_terms_add(&s);
    }
    hc_terms_end(&s, want);
}

/* gemm_q: the sum of the pieces, each with its two scales, times the tensors' factors, plus C. */

/* The scale of the block in which element (row, column) of the codes lies. */
static double scale_of(const struct hc_tensor *scales, const struct hc_tensor *codes, int64_t row,
                       int64_t column, int64_t rows, int64_t columns)
{
    int64_t down = rows > 0 ? row / rows : 0;
    int64_t across = columns > 0 ? column / columns : 0;
    int64_t blocks = columns > 0 ? (codes->shape[1] - 1) / columns + 1 : 1;
    return hc_tensor_get(scales, down * blocks + across);
}

/* Adds a piece's sum times both scales to s, and its magnitudes where they are finite. */
static void add_piece(struct hc_terms *s, struct hc_terms *piece, double da, double db)
{
    hc_terms_fold(piece);
    mpfr_mul_d(piece->sum, piece->sum, da, MPFR_RNDN);
    mpfr_mul_d(piece->sum, piece->sum, db, MPFR_RNDN);
    mpfr_mul_d(piece->magnitude, piece->magnitude, da, MPFR_RNDN);
    mpfr_mul_d(piece->magnitude, piece->magnitude, db, MPFR_RNDN);
    mpfr_abs(piece->magnitude, piece->magnitude, MPFR_RNDN);
    mpfr_add(s->sum, s->sum, piece->sum, MPFR_RNDN);
    if (mpfr_number_p(piece->magnitude))
        mpfr_add(s->magnitude, s->magnitude, piece->magnitude, MPFR_RNDN);
    mpfr_set_zero(piece->sum, 1);
    mpfr_set_zero(piece->magnitude, 1);
}

static void multiply(struct hc_terms *s, const struct hc_tensor *factor)
{
    if (!factor->data)
        return;
    mpfr_set_d(s->factor, hc_tensor_get(factor, 0), MPFR_RNDN);
    mpfr_mul(s->sum, s->sum, s->factor, MPFR_RNDN);
    mpfr_abs(s->factor, s->factor, MPFR_RNDN);
    mpfr_mul(s->magnitude, s->magnitude, s->factor, MPFR_RNDU);
}

hc_reference hc_reference_gemm_q;
void hc_reference_gemm_q(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_gemm_q *p = &call->params.gemm_q;
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    const struct hc_tensor *c = &call->in[HC_GEMM_Q_C];
    int64_t m = e->index / b->shape[0];
    int64_t n = e->index % b->shape[0];
    int64_t length = a->shape[1];
    struct hc_terms s;
    struct hc_terms piece;
    hc_terms_begin(&s, precision);
    hc_terms_begin(&piece, precision);
    for (int64_t k = 0; k < length; k++) {
        hc_terms_product(&piece, a, m * length + k, b, n * length + k);
        bool last = (p->a_columns > 0 && (k + 1) % p->a_columns == 0) ||
                    (p->b_columns > 0 && (k + 1) % p->b_columns == 0) || k + 1 == length;
        if (last)
            add_piece(&s, &piece,
                      scale_of(&call->in[HC_GEMM_Q_A_SCALES], a, m, k, p->a_rows, p->a_columns),
                      scale_of(&call->in[HC_GEMM_Q_B_SCALES], b, n, k, p->b_rows, p->b_columns));
    }
    if (length > 0) {
        multiply(&s, &call->in[HC_GEMM_Q_A_TENSOR]);
        multiply(&s, &call->in[HC_GEMM_Q_B_TENSOR]);
    }
    if (c->data) {
        hc_load_real(s.term, c, e->index);
        hc_terms_add(&s);
    }
    struct hc_exact unused;
    hc_terms_end(&piece, &unused);
    hc_terms_end(&s, want);
}
