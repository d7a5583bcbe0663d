/* stochastic_cast (op/quant.h): |x| is cut to units of 2^-k of the last place that the format has
   at x, the random bits are added to these units, and the sum is cut to that last place. What is
   too large is the caller's. */
#include "reference/split.h"

hc_reference hc_reference_stochastic_cast;
void hc_reference_stochastic_cast(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    const struct hc_format_info *f = &hc_formats[call->out[HC_STOCHASTIC_OUT].format];
    long k = call->params.stochastic_cast.bits;
    unsigned long word = (unsigned long)hc_tensor_bits(&call->in[HC_STOCHASTIC_WORDS], e->index);
    mpfr_t x;
    mpfr_init2(x, precision);
    hc_load_real(x, &call->in[HC_STOCHASTIC_X], e->index);
    if (mpfr_regular_p(x)) {
        long exponent = (long)mpfr_get_exp(x) - 1;
        long last = (exponent < f->emin ? f->emin : exponent) - f->precision + 1;
        int sign = mpfr_signbit(x);
        mpfr_abs(x, x, MPFR_RNDN);
        mpfr_mul_2si(x, x, k - last, MPFR_RNDN);
        mpfr_floor(x, x);
        mpfr_add_ui(x, x, word & ((1UL << k) - 1), MPFR_RNDN);
        mpfr_div_2si(x, x, k, MPFR_RNDN);
        mpfr_floor(x, x);
        mpfr_mul_2si(x, x, last, MPFR_RNDN);
        mpfr_setsign(x, x, sign, MPFR_RNDN);
    }
    hc_split(x, want);
    mpfr_clear(x);
}
