/* The average over ranks: a sum of terms in any order, divided by both divisors. Whether these are
   divided by or multiplied by, and when, is a matter of rounding. */
#include "reference/split.h"

static void divide(mpfr_t x, const struct hc_all_reduce *p)
{
    mpfr_div_d(x, x, hc_round(HC_FP32, p->before), MPFR_RNDN);
    mpfr_div_d(x, x, hc_round(HC_FP32, p->after), MPFR_RNDN);
}

hc_reference hc_reference_all_reduce;
void hc_reference_all_reduce(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_tensor *x = &e->call->in[HC_ALL_REDUCE_X];
    struct hc_terms s;
    hc_terms_begin(&s, precision);
    for (int64_t rank = 0; rank < x->shape[0]; rank++) {
        hc_load_real(s.term, x, rank * x->shape[1] + e->index);
        hc_terms_add(&s);
    }
    hc_terms_fold(&s);
    divide(s.sum, &e->call->params.all_reduce);
    divide(s.magnitude, &e->call->params.all_reduce);
    hc_terms_end(&s, want);
}
