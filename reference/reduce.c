/* Sums of elements and of products. */
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
