/* Sums of elements and of products; and averages, over windows and over ranks. */
#include "reference/split.h"

hc_reference hc_reference_sum;
void hc_reference_sum(const struct hc_element *e, long precision, struct hc_exact *want)
{
    struct hc_terms s;
    hc_terms_begin(&s, precision);
    for (int64_t i = 0; i < hc_tensor_count(&e->call->in[HC_REDUCE_X]); i++) {
        hc_load_real(s.term, &e->call->in[HC_REDUCE_X], i);
        hc_terms_add(&s);
    }
    hc_terms_end(&s, want);
}

hc_reference hc_reference_dot;
void hc_reference_dot(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    struct hc_terms s;
    hc_terms_begin(&s, precision);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_REDUCE_X]); i++)
        hc_terms_product(&s, &call->in[HC_REDUCE_X], i, &call->in[HC_DOT_Y], i);
    hc_terms_end(&s, want);
}

hc_reference hc_reference_sum_squares;
void hc_reference_sum_squares(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    struct hc_terms s;
    hc_terms_begin(&s, precision);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_REDUCE_X]); i++)
        hc_terms_product(&s, &call->in[HC_REDUCE_X], i, &call->in[HC_REDUCE_X], i);
    hc_terms_fold(&s);
    if (call->in[HC_SUM_SQUARES_PARTIAL].data) {
        hc_load_real(s.term, &call->in[HC_SUM_SQUARES_PARTIAL], 0);
        hc_terms_add(&s);
    }
    hc_terms_end(&s, want);
}

/* Means over disjoint windows. */
hc_reference hc_reference_avg_pool;
void hc_reference_avg_pool(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *x = &call->in[HC_POOL_X];
    const struct hc_tensor *y = &call->out[HC_POOL_Y];
    int64_t window = call->params.pool.window;
    int64_t c = e->index % y->shape[3];
    int64_t q = e->index / y->shape[3] % y->shape[2];
    int64_t np = e->index / y->shape[3] / y->shape[2]; /* n P + p: its rows begin at np window */
    struct hc_terms s;
    hc_terms_begin(&s, precision);
    for (int64_t i = 0; i < window; i++)
        for (int64_t j = 0; j < window; j++) {
            hc_load_real(s.term, x,
                         ((np * window + i) * x->shape[2] + q * window + j) * x->shape[3] + c);
            hc_terms_add(&s);
        }
    mpfr_div_si(s.sum, s.sum, (long)(window * window), MPFR_RNDN);
    mpfr_div_si(s.magnitude, s.magnitude, (long)(window * window), MPFR_RNDU);
    hc_terms_end(&s, want);
}

hc_reference hc_reference_avg_pool_bwd;
void hc_reference_avg_pool_bwd(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *dy = &call->in[HC_POOL_BWD_DY];
    const struct hc_tensor *dx = &call->out[HC_POOL_BWD_DX];
    int64_t window = call->params.pool.window;
    int64_t c = e->index % dx->shape[3];
    int64_t q = e->index / dx->shape[3] % dx->shape[2] / window;
    int64_t np = e->index / dx->shape[3] / dx->shape[2] / window;
    mpfr_t x;
    mpfr_init2(x, precision);
    hc_load_real(x, dy, (np * dy->shape[2] + q) * dy->shape[3] + c);
    mpfr_div_si(x, x, (long)(window * window), MPFR_RNDN);
    hc_split(x, want);
    mpfr_clear(x);
}

/* The average over ranks: a sum of terms in any order, divided by both divisors. Whether these are
   divided by or multiplied by, and when, is a matter of rounding. */
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
