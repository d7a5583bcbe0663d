/* Inputs for sums that show what the accumulator is. On random numbers of both signs the rounding
   errors of a sum cancel, and come to little of what the contract allows.

   whole: integers, times a power of two, whose sums fill the accumulator and never leave it. Then
   no partial sum and no product is rounded, in any order, and the result is settled to the bit. An
   accumulator with fewer bits, products that are rounded first, or a missing term cannot give it.
   stagnation: one term, and after it many equal ones of just below half an ulp of it in the
   accumulator. Added one at a time none of them changes the sum, which ends as far off as the
   contract allows. cut: the same with three quarters of an ulp. Rounded to nearest, each of them
   adds a whole ulp, and the error is half of what the contract allows; cut off, they add nothing,
   and it is one and a half. positive: random numbers of one sign. Their roundings are as random as
   before, but a systematic error of the accumulator adds up. */
#include <math.h>

#include "check/bound/bound.h"
#include "check/family/family.h"
#include "check/generate/draw.h"

static const struct hc_family_sums *sums_of(const struct hc_call *call)
{
    return hc_family(call->op)->sums;
}

static int precision(const struct hc_call *call)
{
    const struct hc_family *f = hc_family(call->op);
    enum hc_format format = f->accumulator ? f->accumulator(call) : HC_FP32;
    return hc_formats[hc_call_fp64(call) ? HC_FP64 : format].precision;
}

double hc_sum_tail(const struct hc_call *call, double half_ulps)
{
    return half_ulps * ldexp(1, HC_SUM_HEAD - precision(call));
}

static double stagnating(const struct hc_draw_site *p, int slot, enum hc_values values,
                         double half_ulps)
{
    const struct hc_family_sums *s = sums_of(p->call);
    bool first = s->is_first ? s->is_first(p, slot) : p->index == 0;
    double term = first ? ldexp(1, HC_SUM_HEAD) : hc_sum_tail(p->call, half_ulps);
    if (slot != s->terms)
        return values == HC_VALUES_OFFSET ? 0 : 1;
    return s->input ? s->input(p, term) : term;
}

/* A bit is left over in matrix units, which align their addends. */
double hc_whole_largest(const struct hc_call *call, enum hc_format format)
{
    int spare = hc_family(call->op)->multiplies ? 1 : 0;
    double sum = ldexp(1, precision(call) - spare) / (hc_call_length(call) + 1);
    double least = ldexp(1, hc_call_tf32(call) ? 11 : hc_formats[format].precision) - 1;
    return fmin(floor(sums_of(call)->added ? sum : sqrt(sum)), least);
}

/* Sums stay below 2^15, so that they are finite in fp16. Codes of few exponents have no smaller
   unit than their least number. */
double hc_whole_unit(const struct hc_call *call)
{
    int beyond = precision(call) - 15;
    double least = sums_of(call)->in_codes ? hc_format_tiny(call->in[HC_FIRST].format) : 0;
    return fmax(ldexp(1, beyond > 0 ? -beyond : 0), least);
}

double hc_whole_odd(const struct hc_draw_site *p, double most)
{
    double x = floor(most * (1 + hc_draw_uniform(p, 2)) / 2);
    return fmax(fmod(x, 2) == 0 ? x - 1 : x, 1);
}

double hc_whole_sign(const struct hc_draw_site *p, double x)
{
    return hc_draw_uniform(p, 3) < 0.25 ? -x : x;
}

double hc_whole_term(const struct hc_draw_site *p)
{
    double x = hc_whole_odd(p, hc_whole_largest(p->call, p->format));
    return hc_whole_sign(p, x) * hc_whole_unit(p->call);
}

double hc_whole_factor(const struct hc_draw_site *p, int slot)
{
    double x = hc_whole_odd(p, hc_whole_largest(p->call, p->format));
    return slot == HC_FIRST ? x * hc_whole_unit(p->call) : hc_whole_sign(p, x);
}

bool hc_whole_fits(const struct hc_call *call)
{
    return hc_whole_largest(call, call->in[HC_FIRST].format) >= 1;
}

/* Below this many terms nothing stagnates. */
enum { FEW = 4 };

bool hc_op_sums(const struct hc_call *call, enum hc_distribution distribution)
{
    const struct hc_family *f = hc_family(call->op);
    const struct hc_family_sums *s = f->sums;
    if (!s || (s->has && !s->has(call)))
        return false;
    double n = hc_call_length(call);
    if (n < FEW || hc_tensor_count(&call->out[HC_FIRST]) == 0)
        return false;
    if (distribution == HC_DRAW_WHOLE)
        return s->has_whole ? s->has_whole(call) : hc_whole_fits(call);
    if (distribution == HC_DRAW_POSITIVE)
        return f->reduces || f->multiplies;
    if (hc_formats[call->in[s->terms].format].emax < HC_SUM_HEAD)
        return false;
    return n * hc_sum_tail(call, 2) < 0x1p14;
}

/* Numbers of fp8 have so few bits that their exponents, too, must differ, or nothing is rounded. */
static double positive(const struct hc_draw_site *p)
{
    int smaller = HC_CODE_FORMATS >> p->format & 1 ? (int)(6 * hc_draw_uniform(p, 4)) : 0;
    return ldexp((1 + hc_draw_uniform(p, 2)) / 2, -smaller);
}

double hc_draw_sum(const struct hc_draw_site *p, int slot, enum hc_values values,
                   enum hc_distribution distribution)
{
    const struct hc_family_sums *s = sums_of(p->call);
    double half_ulps = distribution == HC_DRAW_STAGNATION ? 0.98 : 1.5;
    switch (distribution) {
    case HC_DRAW_WHOLE:
        return s->whole ? s->whole(p, slot) : hc_whole_factor(p, slot);
    case HC_DRAW_POSITIVE:
        return positive(p);
    default:
        return s->stagnating ? s->stagnating(p, half_ulps) : stagnating(p, slot, values, half_ulps);
    }
}
