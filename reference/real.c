#include "reference.h"

#include <assert.h>
#include <mpfr.h>
#include <stdlib.h>

#include "reference/split.h"

struct hc_real {
    mpfr_t x;
};

struct hc_real *hc_real_new(double value)
{
    struct hc_real *r = malloc(sizeof *r);
    assert(r);
    mpfr_init2(r->x, HC_REFERENCE_PRECISION);
    mpfr_set_d(r->x, value, MPFR_RNDN);
    return r;
}

void hc_real_free(struct hc_real *x)
{
    mpfr_clear(x->x);
    free(x);
}

void hc_real_set(struct hc_real *x, double value)
{
    mpfr_set_d(x->x, value, MPFR_RNDN);
}

void hc_real_set_text(struct hc_real *x, const char *decimal)
{
    int failed = mpfr_set_str(x->x, decimal, 10, MPFR_RNDN);
    assert(!failed);
    (void)failed;
}

void hc_real_copy(struct hc_real *x, const struct hc_real *a)
{
    mpfr_set(x->x, a->x, MPFR_RNDN);
}

void hc_real_add(struct hc_real *x, const struct hc_real *a, const struct hc_real *b)
{
    mpfr_add(x->x, a->x, b->x, MPFR_RNDN);
}

void hc_real_sub(struct hc_real *x, const struct hc_real *a, const struct hc_real *b)
{
    mpfr_sub(x->x, a->x, b->x, MPFR_RNDN);
}

void hc_real_mul(struct hc_real *x, const struct hc_real *a, const struct hc_real *b)
{
    mpfr_mul(x->x, a->x, b->x, MPFR_RNDN);
}

void hc_real_div(struct hc_real *x, const struct hc_real *a, const struct hc_real *b)
{
    mpfr_div(x->x, a->x, b->x, MPFR_RNDN);
}

void hc_real_sqrt(struct hc_real *x, const struct hc_real *a)
{
    mpfr_sqrt(x->x, a->x, MPFR_RNDN);
}

void hc_real_exp(struct hc_real *x, const struct hc_real *a)
{
    mpfr_exp(x->x, a->x, MPFR_RNDN);
}

void hc_real_log(struct hc_real *x, const struct hc_real *a)
{
    mpfr_log(x->x, a->x, MPFR_RNDN);
}

void hc_real_pow(struct hc_real *x, const struct hc_real *a, long n)
{
    mpfr_pow_si(x->x, a->x, n, MPFR_RNDN);
}

double hc_real_double(const struct hc_real *x)
{
    return mpfr_get_d(x->x, MPFR_RNDN);
}

struct hc_exact hc_real_exact(const struct hc_real *x)
{
    struct hc_exact want;
    hc_split(x->x, &want);
    return want;
}

uint64_t hc_real_bits(const struct hc_real *x, enum hc_format format, enum hc_direction direction)
{
    struct hc_exact want = hc_real_exact(x);
    return hc_encode(format, want.hi, want.lo, direction);
}
