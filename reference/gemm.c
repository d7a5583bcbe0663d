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
