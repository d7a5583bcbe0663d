/* Batch norm, gradients, from the saved statistics. */
#include "reference/norm.h"

/* x = (x[i] - mean) * invstd */
static void normalized(mpfr_t x, const struct hc_call *call, int64_t i, int64_t c)
{
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(x));
    hc_load_real(x, &call->in[0], i);
    hc_load_real(t, &call->in[3], c);
    mpfr_sub(x, x, t, MPFR_RNDN);
    hc_load_real(t, &call->in[4], c);
    mpfr_mul(x, x, t, MPFR_RNDN);
    mpfr_clear(t);
}

static void sums(mpfr_t dgamma, mpfr_t dbeta, const struct hc_call *call, int64_t c)
{
    int64_t channels = call->in[2].shape[0];
    mpfr_t dy;
    mpfr_t x;
    mpfr_inits2(mpfr_get_prec(dgamma), dy, x, (mpfr_ptr)0);
    mpfr_set_zero(dgamma, 1);
    mpfr_set_zero(dbeta, 1);
    for (int64_t i = c; i < hc_tensor_count(&call->in[0]); i += channels) {
        hc_load_real(dy, &call->in[1], i);
        normalized(x, call, i, c);
        mpfr_add(dbeta, dbeta, dy, MPFR_RNDN);
        mpfr_fma(dgamma, dy, x, dgamma, MPFR_RNDN);
    }
    mpfr_clears(dy, x, (mpfr_ptr)0);
}

/* dbeta becomes gamma * invstd * (dy - dbeta / M - xhat * dgamma / M). */
static void input_gradient(mpfr_t dgamma, mpfr_t dbeta, const struct hc_call *call, int64_t index,
                           int64_t c)
{
    int64_t m = hc_channel_length(&call->in[0]);
    mpfr_t t;
    mpfr_init2(t, mpfr_get_prec(dgamma));
    normalized(t, call, index, c);
    mpfr_mul(dgamma, dgamma, t, MPFR_RNDN);
    mpfr_add(dbeta, dbeta, dgamma, MPFR_RNDN);
    mpfr_div_si(dbeta, dbeta, (long)m, MPFR_RNDN);
    hc_load_real(t, &call->in[1], index);
    mpfr_sub(dbeta, t, dbeta, MPFR_RNDN);
    hc_load_real(t, &call->in[2], c);
    mpfr_mul(dbeta, dbeta, t, MPFR_RNDN);
    hc_load_real(t, &call->in[4], c);
    mpfr_mul(dbeta, dbeta, t, MPFR_RNDN);
    mpfr_clear(t);
}

hc_reference hc_reference_bn_bwd;
void hc_reference_bn_bwd(const struct hc_call *call, int out, int64_t index, long precision,
                         struct hc_want *want)
{
    int64_t c = index % call->in[2].shape[0];
    mpfr_t dgamma;
    mpfr_t dbeta;
    mpfr_inits2(precision, dgamma, dbeta, (mpfr_ptr)0);
    sums(dgamma, dbeta, call, c);
    if (out == 0)
        input_gradient(dgamma, dbeta, call, index, c);
    hc_split(out == 1 ? dgamma : dbeta, want);
    mpfr_clears(dgamma, dbeta, (mpfr_ptr)0);
}
