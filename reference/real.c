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

/* A rounded number of so few bits may lie half way between two numbers of a format, which the
   number itself, of which it is known on which side it lies, does not: x becomes the neighbour
   there. */
static void leave_the_middle(mpfr_t x, int above)
{
    if (above != 0 && mpfr_regular_p(x) && mpfr_min_prec(x) <= MAX_FORMAT_PRECISION + 1)
        above > 0 ? mpfr_nextbelow(x) : mpfr_nextabove(x);
}

bool hc_real_read(struct hc_real *x, const char *text, bool *exact)
{
    char *end;
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    int above = mpfr_strtofr(x->x, text, &end, hexadecimal ? 16 : 10, MPFR_RNDN);
    bool is_number = end != text && *end == '\0';
    if (!is_number)
        mpfr_set_nan(x->x);
    if (exact)
        *exact = is_number && above == 0;
    leave_the_middle(x->x, above);
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
UNARY(round, rint_roundeven)

int hc_real_rsqrt(struct hc_real *x, const struct hc_real *a)
{
    bool negative = mpfr_zero_p(a->x) && mpfr_signbit(a->x);
    int above = mpfr_rec_sqrt(x->x, a->x, MPFR_RNDN);
    if (negative)
        mpfr_set_inf(x->x, -1);
    return above;
}

/* -a is exact in as many bits as a has. e^-a, the sum and the quotient are each off by at most
   2^-bits of themselves. With t = e^-a, the error of t moves 1 / (1 + t) by a factor of at most 1 +
   2^-bits t / (1 + t). The three together are below 2^(2-bits), so that all but the last two bits
   are good; Ziv's loop adds bits until these say how to round. It ends, since e^-a is irrational
   for every number but 0 and the infinities. Where |a| or t is below 2^(-2 to) the result is nearer
   to 1/2 or 1 than half of its last bit, and where t is infinite for MPFR the result is below all
   of MPFR's numbers. */
int hc_real_sigmoid(struct hc_real *x, const struct hc_real *a)
{
    mpfr_prec_t to = mpfr_get_prec(x->x);
    double ends = mpfr_zero_p(a->x) ? 0.5 : mpfr_nan_p(a->x) ? (double)NAN : mpfr_sgn(a->x) > 0;
    if (!mpfr_regular_p(a->x)) {
        mpfr_set_d(x->x, ends, MPFR_RNDN);
        return 0;
    }
    bool tiny = mpfr_get_exp(a->x) < -2 * to;
    bool known = false;
    mpfr_prec_t from = mpfr_get_prec(a->x);
    for (mpfr_prec_t bits = (from > to ? from : to) + 32; !known; bits += bits / 2) {
        mpfr_t t;
        mpfr_init2(t, bits);
        mpfr_neg(t, a->x, MPFR_RNDN);
        mpfr_exp(t, t, MPFR_RNDN);
        known = tiny || !mpfr_regular_p(t) || mpfr_get_exp(t) < -2 * to;
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        mpfr_ui_div(t, 1, t, MPFR_RNDN);
        known = known || mpfr_can_round(t, bits - 2, MPFR_RNDN, MPFR_RNDZ, to + 1);
        if (known)
            mpfr_set(x->x, t, MPFR_RNDN);
        mpfr_clear(t);
    }
    return 1;
}

#define BINARY(name)                                                                               \
    int hc_real_##name(struct hc_real *x, const struct hc_real *a, const struct hc_real *b)        \
    {                                                                                              \
        return mpfr_##name(x->x, a->x, b->x, MPFR_RNDN);                                           \
    }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)

int hc_real_add_double(struct hc_real *x, const struct hc_real *a, double b)
{
    return mpfr_add_d(x->x, a->x, b, MPFR_RNDN);
}

int hc_real_power(struct hc_real *x, const struct hc_real *a, const struct hc_real *b)
{
    int above = mpfr_pow(x->x, a->x, b->x, MPFR_RNDN);
    leave_the_middle(x->x, above);
    return above;
}

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

bool hc_real_is_zero(const struct hc_real *x)
{
    return mpfr_zero_p(x->x) != 0;
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
