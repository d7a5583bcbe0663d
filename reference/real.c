#include "reference.h"

#include <assert.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

#include "reference/memory.h"

#include "reference/split.h"

struct hc_real {
    mpfr_t x;
};

enum { MAX_FORMAT_PRECISION = 53 };

struct hc_real *hc_real_new(double value)
{
    return hc_real_new_bits(value, HC_REFERENCE_PRECISION);
}

struct hc_real *hc_real_new_bits(double value, long precision)
{
    struct hc_real *r = hc_reference_memory(sizeof *r);
    mpfr_init2(r->x, precision);
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
    bool is_number = hc_real_read(x, decimal, NULL);
    assert(is_number);
    (void)is_number;
}

bool hc_real_read(struct hc_real *x, const char *decimal, bool *exact)
{
    char *end;
    int above = mpfr_strtofr(x->x, decimal, &end, 10, MPFR_RNDN);
    bool is_number = end != decimal && *end == '\0';
    if (!is_number)
        mpfr_set_nan(x->x);
    if (exact)
        *exact = is_number && above == 0;
    /* A number of so few bits may lie half way between two numbers of a format, which the decimal
       does not: x becomes the neighbour on the decimal's side. */
    if (above != 0 && mpfr_regular_p(x->x) && mpfr_min_prec(x->x) <= MAX_FORMAT_PRECISION + 1)
        above > 0 ? mpfr_nextbelow(x->x) : mpfr_nextabove(x->x);
    return is_number;
}

void hc_real_pi(struct hc_real *x)
{
    mpfr_const_pi(x->x, MPFR_RNDN);
}

typedef int of_one(mpfr_t x, mpfr_srcptr a, mpfr_rnd_t rounding);

static int angle(struct hc_real *x, const struct hc_real *a, of_one *function)
{
    if (!mpfr_number_p(a->x) || isfinite(mpfr_get_d(a->x, MPFR_RNDN)))
        return function(x->x, a->x, MPFR_RNDN);
    mpfr_set_nan(x->x);
    return 1;
}

int hc_real_cos(struct hc_real *x, const struct hc_real *a)
{
    return angle(x, a, mpfr_cos);
}

int hc_real_sin(struct hc_real *x, const struct hc_real *a)
{
    return angle(x, a, mpfr_sin);
}

#define UNARY(name, function)                                                                      \
    int hc_real_##name(struct hc_real *x, const struct hc_real *a)                                 \
    {                                                                                              \
        return mpfr_##function(x->x, a->x, MPFR_RNDN);                                             \
    }
/* mpfr_floor would take the next integer below that has the destination's bits. */
UNARY(floor, rint_floor)
UNARY(copy, set)
UNARY(neg, neg)
UNARY(abs, abs)
UNARY(sqrt, sqrt)
UNARY(exp, exp)
UNARY(log, log)
UNARY(log1p, log1p)
UNARY(tanh, tanh)
UNARY(erf, erf)

#define BINARY(name)                                                                               \
    int hc_real_##name(struct hc_real *x, const struct hc_real *a, const struct hc_real *b)        \
    {                                                                                              \
        return mpfr_##name(x->x, a->x, b->x, MPFR_RNDN);                                           \
    }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)

int hc_real_fma(struct hc_real *x, const struct hc_real *a, const struct hc_real *b,
                const struct hc_real *c)
{
    return mpfr_fma(x->x, a->x, b->x, c->x, MPFR_RNDN);
}

int hc_real_pow(struct hc_real *x, const struct hc_real *a, long n)
{
    return mpfr_pow_si(x->x, a->x, n, MPFR_RNDN);
}

bool hc_real_is_nan(const struct hc_real *x)
{
    return mpfr_nan_p(x->x) != 0;
}

bool hc_real_is_inf(const struct hc_real *x)
{
    return mpfr_inf_p(x->x) != 0;
}

int hc_real_compare(const struct hc_real *a, const struct hc_real *b)
{
    return mpfr_unordered_p(a->x, b->x) ? 0 : mpfr_cmp(a->x, b->x);
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
