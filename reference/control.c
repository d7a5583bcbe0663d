/* rates and step_log copy numbers; clip is a chain of fp32 operations, each of them rounded. */
#include "op/counts.h"
#include "reference/split.h"

hc_reference hc_reference_rates;
void hc_reference_rates(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_tensor *table = &e->call->in[HC_RATES_TABLE];
    const struct hc_tensor *counts = &e->call->in[HC_RATES_COUNTS];
    double row = hc_tensor_get(counts, HC_COUNT_STEPS);
    double last = (double)(table->shape[0] - 1);
    mpfr_t x;
    mpfr_init2(x, precision);
    if (e->index == HC_HYPER_STEP) {
        hc_load_real(x, counts, HC_COUNT_TAKEN);
        mpfr_add_si(x, x, 1, MPFR_RNDN);
    } else {
        hc_load_real(x, table, HC_TABLE_COLUMNS * (int64_t)(row > last ? last : row) + e->index);
    }
    hc_split(x, want);
    mpfr_clear(x);
}

hc_reference hc_reference_step_log;
void hc_reference_step_log(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *rows = &call->in[HC_STEP_LOG_ROWS];
    int64_t column = e->index % HC_STEP_LOG_COLUMNS;
    const struct hc_tensor *scalar = &call->in[HC_STEP_LOG_SCALARS + column];
    int64_t step = (int64_t)hc_tensor_get(&call->in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS);
    mpfr_t x;
    mpfr_init2(x, precision);
    mpfr_set_zero(x, 1);
    if (step % rows->shape[0] != e->index / HC_STEP_LOG_COLUMNS)
        hc_load_real(x, rows, e->index);
    else if (scalar->data)
        hc_load_real(x, scalar, 0);
    hc_split(x, want);
    mpfr_clear(x);
}

/* d has fp32's precision, and MPFR's numbers of that precision are fp32's as long as nothing is
   subnormal or 2^128 or more. A root, a number from 1e-6 on and its reciprocal never are. The
   product has at most 48 bits and is not rounded here. */
hc_reference hc_reference_clip;
void hc_reference_clip(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    mpfr_t d;
    mpfr_t factor;
    mpfr_init2(d, hc_formats[HC_FP32].precision);
    mpfr_init2(factor, precision);
    hc_load_real(d, &call->in[HC_CLIP_SUM_SQUARES], 0);
    mpfr_sqrt(d, d, MPFR_RNDN);
    mpfr_add_d(d, d, (double)1e-6F, MPFR_RNDN);
    mpfr_ui_div(d, 1, d, MPFR_RNDN);
    mpfr_mul_d(factor, d, hc_round(HC_FP32, call->params.clip.max_norm), MPFR_RNDN);
    bool overflowed = hc_is_set(&call->in[HC_CLIP_OVERFLOWED]);
    if (overflowed || (!mpfr_nan_p(factor) && mpfr_cmp_ui(factor, 1) > 0))
        mpfr_set_ui(factor, 1, MPFR_RNDN);
    hc_split(factor, want);
    mpfr_clears(d, factor, (mpfr_ptr)0);
}
