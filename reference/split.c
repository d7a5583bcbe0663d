#include "reference/split.h"

#include <math.h>

#include "num/bits.h"
#include "op/descriptor.h"

void hc_split(mpfr_srcptr x, struct hc_exact *want)
{
    *want = (struct hc_exact){.hi = mpfr_get_d(x, MPFR_RNDN)};
    want->magnitude = fabs(want->hi);
    if (!isfinite(want->hi))
        return;
    /* A number of 53 bits that is no smaller than normal ones is the double itself. */
    if (mpfr_zero_p(x) || (want->magnitude >= 0x1p-1022 && mpfr_min_prec(x) <= 53))
        return;
    /* Nearly every precision has room here, so that no memory is asked for. */
    enum { LIMBS = 12 };
    mp_limb_t limbs[LIMBS];
    mpfr_prec_t precision = mpfr_get_prec(x) + 64;
    bool fits = mpfr_custom_get_size(precision) <= sizeof limbs;
    mpfr_t rest;
    if (fits)
        mpfr_custom_init_set(rest, MPFR_ZERO_KIND, 0, precision, limbs);
    else
        mpfr_init2(rest, precision);
    mpfr_sub_d(rest, x, want->hi, MPFR_RNDN);
    want->lo = mpfr_get_d(rest, MPFR_RNDA);
    if (!fits)
        mpfr_clear(rest);
}

void hc_load_real(mpfr_t x, const struct hc_tensor *t, int64_t i)
{
    mpfr_set_d(x, hc_tensor_get(t, i), MPFR_RNDN);
}

void hc_terms_begin(struct hc_terms *s, long precision)
{
    s->tf32 = false;
    mpfr_inits2(precision, s->sum, s->magnitude, s->term, s->factor, (mpfr_ptr)0);
    mpfr_set_zero(s->sum, 1);
    mpfr_set_zero(s->magnitude, 1);
    s->halves = (struct hc_exact_dot){0};
}

void hc_terms_add(struct hc_terms *s)
{
    mpfr_add(s->sum, s->sum, s->term, MPFR_RNDN);
    if (!mpfr_number_p(s->term))
        return;
    mpfr_abs(s->term, s->term, MPFR_RNDN);
    mpfr_add(s->magnitude, s->magnitude, s->term, MPFR_RNDN);
}

/* What a factor that may be taken as tf32 counts as in the magnitude (struct hc_exact). */
static double size_in_tf32(double x)
{
    double size = fabs(x);
    if (isfinite(x) && isinf(hc_round(HC_TF32, x)))
        return (double)INFINITY;
    return size > 0 ? fmax(size, 0x1p-126) : size;
}

/* Adds s->term, the product of x and y. */
static void add_tf32(struct hc_terms *s, double x, double y)
{
    bool finite = isfinite(x) && isfinite(y);
    mpfr_add(s->sum, s->sum, s->term, MPFR_RNDN);
    if (!finite)
        return;
    mpfr_set_d(s->term, size_in_tf32(x), MPFR_RNDN);
    mpfr_mul_d(s->term, s->term, size_in_tf32(y), MPFR_RNDU);
    mpfr_add(s->magnitude, s->magnitude, s->term, MPFR_RNDU);
}

/* Every number of the formats of codes is one of fp16. */
static bool is_half(enum hc_format format)
{
    return format == HC_FP16 || HC_CODE_FORMATS >> format & 1;
}

static uint16_t half_of(const struct hc_tensor *t, int64_t i)
{
    return t->format == HC_FP16 ? ((const uint16_t *)t->data)[i]
                                : hc_fp16_bits((float)hc_tensor_get(t, i));
}

/* The product of two numbers of at most 24 bits is one of fp64: it has 48 bits at most, and lies
   between 2^-298 and 2^256. */
static bool is_single(enum hc_format format)
{
    return hc_formats[format].precision <= 24 && hc_formats[format].special != HC_SPECIAL_INTEGER;
}

void hc_terms_product(struct hc_terms *s, const struct hc_tensor *x, int64_t i,
                      const struct hc_tensor *y, int64_t j)
{
    if (is_half(x->format) && is_half(y->format) &&
        mpfr_get_prec(s->sum) <= HC_REFERENCE_PRECISION) {
        hc_exact_dot_add(&s->halves, half_of(x, i), half_of(y, j));
        return;
    }
    if (is_single(x->format) && is_single(y->format)) {
        mpfr_set_d(s->term, hc_tensor_get(x, i) * hc_tensor_get(y, j), MPFR_RNDN);
    } else {
        hc_load_real(s->term, x, i);
        hc_load_real(s->factor, y, j);
        mpfr_mul(s->term, s->term, s->factor, MPFR_RNDN);
    }
    if (s->tf32)
        add_tf32(s, hc_tensor_get(x, i), hc_tensor_get(y, j));
    else
        hc_terms_add(s);
}

void hc_terms_fold(struct hc_terms *s)
{
    double value;
    double rest;
    double magnitude;
    if (s->halves.terms == 0)
        return;
    hc_exact_dot_end(&s->halves, &value, &rest, &magnitude);
    s->halves = (struct hc_exact_dot){0};
    mpfr_add_d(s->sum, s->sum, value, MPFR_RNDN);
    mpfr_add_d(s->sum, s->sum, rest, MPFR_RNDN);
    mpfr_add_d(s->magnitude, s->magnitude, magnitude, MPFR_RNDN);
}

void hc_terms_end(struct hc_terms *s, struct hc_exact *want)
{
    hc_terms_fold(s);
    hc_split(s->sum, want);
    want->magnitude = mpfr_get_d(s->magnitude, MPFR_RNDU);
    mpfr_clears(s->sum, s->magnitude, s->term, s->factor, (mpfr_ptr)0);
}
