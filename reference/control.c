/* rates and journal: what is copied from where. */
#include "op/counts.h"
#include "reference/split.h"

hc_reference hc_reference_rates;
void hc_reference_rates(const struct hc_call *call, int out, int64_t index, long precision,
                        struct hc_want *want)
{
    (void)out;
    const struct hc_tensor *table = &call->in[0];
    const struct hc_tensor *counts = &call->in[1];
    double row = hc_tensor_get(counts, HC_COUNT_STEPS);
    double last = (double)(table->shape[0] - 1);
    mpfr_t x;
    mpfr_init2(x, precision);
    if (index == 2) {
        hc_load_real(x, counts, HC_COUNT_TAKEN);
        mpfr_add_si(x, x, 1, MPFR_RNDN);
    } else {
        hc_load_real(x, table, 2 * (int64_t)(row > last ? last : row) + index);
    }
    hc_split(x, want);
    mpfr_clear(x);
}

hc_reference hc_reference_journal;
void hc_reference_journal(const struct hc_call *call, int out, int64_t index, long precision,
                          struct hc_want *want)
{
    (void)out;
    const struct hc_tensor *journal = &call->in[0];
    const struct hc_tensor *scalar = &call->in[2 + index % 4];
    int64_t step = (int64_t)hc_tensor_get(&call->in[1], HC_COUNT_STEPS);
    mpfr_t x;
    mpfr_init2(x, precision);
    mpfr_set_zero(x, 1);
    if (step % journal->shape[0] != index / 4)
        hc_load_real(x, journal, index);
    else if (scalar->data)
        hc_load_real(x, scalar, 0);
    hc_split(x, want);
    mpfr_clear(x);
}
