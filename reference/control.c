/* rates and journal: what is copied from where; clip: its roundings one after the other. */
#include "op/counts.h"
#include "reference/split.h"

hc_reference hc_reference_rates;
void hc_reference_rates(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_tensor *table = &e->call->in[0];
    const struct hc_tensor *counts = &e->call->in[1];
    double row = hc_tensor_get(counts, HC_COUNT_STEPS);
    double last = (double)(table->shape[0] - 1);
    mpfr_t x;
    mpfr_init2(x, precision);
    if (e->index == 2) {
        hc_load_real(x, counts, HC_COUNT_TAKEN);
        mpfr_add_si(x, x, 1, MPFR_RNDN);
    } else {
        hc_load_real(x, table, 2 * (int64_t)(row > last ? last : row) + e->index);
    }
    hc_split(x, want);
    mpfr_clear(x);
}

hc_reference hc_reference_step_log;
void hc_reference_step_log(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *journal = &call->in[0];
    const struct hc_tensor *scalar = &call->in[2 + e->index % 4];
    int64_t step = (int64_t)hc_tensor_get(&call->in[1], HC_COUNT_STEPS);
    mpfr_t x;
    mpfr_init2(x, precision);
    mpfr_set_zero(x, 1);
    if (step % journal->shape[0] != e->index / 4)
        hc_load_real(x, journal, e->index);
    else if (scalar->data)
        hc_load_real(x, scalar, 0);
    hc_split(x, want);
    mpfr_clear(x);
}

/* MPFR's numbers of fp32's precision are those of fp32 where nothing is subnormal or beyond 2^128: a root,
   what is 1e-6 or more, and its reciprocal are not. The product is left whole: 48 bits. */
hc_reference hc_reference_clip;
void hc_reference_clip(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t d;
    mpfr_t factor;
    mpfr_init2(d, hc_formats[HC_FP32].precision);
    mpfr_init2(factor, precision);
    hc_load_real(d, &call->in[0], 0);
    mpfr_sqrt(d, d, MPFR_RNDN);
    mpfr_add_d(d, d, (double)1e-6F, MPFR_RNDN);
    mpfr_ui_div(d, 1, d, MPFR_RNDN);
    mpfr_mul_d(factor, d, hc_round(HC_FP32, call->params.clip.max_norm), MPFR_RNDN);
    bool held = call->in[1].data && hc_tensor_get(&call->in[1], 0) != 0;
    if (held || (!mpfr_nan_p(factor) && mpfr_cmp_ui(factor, 1) > 0))
        mpfr_set_ui(factor, 1, MPFR_RNDN);
    hc_split(factor, want);
    mpfr_clears(d, factor, (mpfr_ptr)0);
}
