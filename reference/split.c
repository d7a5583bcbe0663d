#include "reference/split.h"

#include <math.h>

void hc_split(mpfr_srcptr x, struct hc_want *want)
{
    *want = (struct hc_want){.value = mpfr_get_d(x, MPFR_RNDN)};
    want->magnitude = fabs(want->value);
    if (!isfinite(want->value))
        return;
    mpfr_t rest;
    mpfr_init2(rest, mpfr_get_prec(x) + 64);
    mpfr_sub_d(rest, x, want->value, MPFR_RNDN);
    want->rest = mpfr_get_d(rest, MPFR_RNDA);
    mpfr_clear(rest);
}

void hc_load_real(mpfr_t x, const struct hc_tensor *t, int64_t i)
{
    mpfr_set_d(x, hc_tensor_get(t, i), MPFR_RNDN);
}
