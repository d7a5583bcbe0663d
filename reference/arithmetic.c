#include "reference/split.h"

static void binary(const struct hc_call *call, int64_t index, long precision, struct hc_want *want,
                   int (*operation)(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t))
{
    mpfr_t x;
    mpfr_t y;
    mpfr_inits2(precision, x, y, (mpfr_ptr)0);
    hc_load_real(x, &call->in[0], index);
    hc_load_real(y, &call->in[1], index);
    operation(x, x, y, MPFR_RNDN);
    hc_split(x, want);
    mpfr_clears(x, y, (mpfr_ptr)0);
}

hc_reference hc_reference_add;
void hc_reference_add(const struct hc_call *call, int out, int64_t index, long precision,
                      struct hc_want *want)
{
    (void)out;
    binary(call, index, precision, want, mpfr_add);
}

hc_reference hc_reference_sub;
void hc_reference_sub(const struct hc_call *call, int out, int64_t index, long precision,
                      struct hc_want *want)
{
    (void)out;
    binary(call, index, precision, want, mpfr_sub);
}

hc_reference hc_reference_mul;
void hc_reference_mul(const struct hc_call *call, int out, int64_t index, long precision,
                      struct hc_want *want)
{
    (void)out;
    binary(call, index, precision, want, mpfr_mul);
}

hc_reference hc_reference_div;
void hc_reference_div(const struct hc_call *call, int out, int64_t index, long precision,
                      struct hc_want *want)
{
    (void)out;
    binary(call, index, precision, want, mpfr_div);
}
