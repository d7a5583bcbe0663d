#include <math.h>

#include "check/generate/draw.h"
#include "check/family/family.h"
#include "check/generate/op_space.h"
#include "num/rng.h"
#include "num/ulp.h"
#include "op/descriptor.h"

double hc_draw_uniform(const struct hc_draw_site *p, uint64_t more)
{
    return hc_random_uniform(p->seed, p->stream + 16 * more, p->index);
}

double hc_draw_normal(const struct hc_draw_site *p)
{
    double x = hc_random_normal(p->seed, p->stream, p->index);
    return p->format == HC_I32 ? rint(1000 * x) : x;
}

double hc_draw_sign(const struct hc_draw_site *p)
{
    return hc_draw_uniform(p, 1) < 0.5 ? -1 : 1;
}

enum hc_format hc_op_narrow(const struct hc_call *call, enum hc_format least)
{
    const enum hc_format others[] = {call->in[HC_FIRST].format, call->in[HC_FIRST + 1].format,
                                     call->out[HC_FIRST].format};
    for (int i = hc_ops[call->op].inputs > 1 ? 0 : 1; i < 3; i++)
        if (others[i] != HC_I32 && hc_formats[others[i]].emin > hc_formats[least].emin)
            least = others[i];
    if (call->op == HC_OP_all_reduce &&
        hc_formats[call->params.all_reduce.sum].emin > hc_formats[least].emin)
        least = call->params.all_reduce.sum;
    return least;
}

/* Whether it is a format below 16 bits, of the factors of a product. */
static bool is_codes(enum hc_format format)
{
    return HC_CODE_FORMATS >> format & 1;
}

/* A factor of these has all its exponents, but for what one of two factors must leave to the other
   where the output has no more, and for the last one, where there is not every number. */
static void exponents_of_codes(const struct hc_draw_site *p, double *low, double *high)
{
    const struct hc_format_info *own = &hc_formats[p->format];
    const struct hc_format_info *out = &hc_formats[p->call->out[HC_FIRST].format];
    *low = own->emin - own->precision + 1;
    *high = fmin(own->emax - 1, out->emax / 2.0 - 6);
}

/* Exponents that keep intermediate results in fp32 and most outputs in their format, where two
   factors are multiplied: each has half of them. */
static void exponents(const struct hc_draw_site *p, double *low, double *high)
{
    const struct hc_format_info *f = &hc_formats[hc_op_narrow(p->call, p->format)];
    if (is_codes(p->format)) {
        exponents_of_codes(p, low, high);
        return;
    }
    *high = f->emax / 2.0 - 6;
    *low = f->emin / 2.0;
}

double hc_draw_power(const struct hc_draw_site *p)
{
    const struct hc_family *f = hc_family(p->call->op);
    double low;
    double high;
    if (f->exponents)
        f->exponents(p, &low, &high);
    else
        exponents(p, &low, &high);
    return ldexp(1, (int)floor(low + hc_draw_uniform(p, 2) * (high - low + 1)));
}

static double lognormal(const struct hc_draw_site *p)
{
    return hc_draw_sign(p) * hc_draw_power(p) * (1 + hc_draw_uniform(p, 3));
}

static double subnormal(const struct hc_draw_site *p)
{
    enum hc_format f = is_codes(p->format) ? p->format : hc_op_narrow(p->call, p->format);
    double least = ldexp(1, hc_formats[f].emin);
    return hc_draw_sign(p) *
           fmax(least * hc_draw_uniform(p, 2) * hc_draw_uniform(p, 3), hc_format_tiny(p->format));
}

/* A power of two or a neighbour of one, or zero. */
static double boundary(const struct hc_draw_site *p)
{
    double x = hc_draw_power(p);
    double u = hc_draw_uniform(p, 4);
    if (u < 0.1)
        x = 0;
    else if (u < 0.4)
        x += hc_ulp(p->format, x);
    else if (u < 0.7)
        x -= hc_ulp(p->format, x) / 2;
    return hc_draw_sign(p) * x;
}

static const double specials[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, -0.0};

/* One in eight elementwise; in sums so rarely that some of them stay finite, the more so where many
   sums share an element. Of a filter or a matrix's column one element has one and no other, as it
   takes a whole channel or column with it. It stands at a quarter, since the scale in the middle of
   a quantised matrix is NaN, which would hide it. */
static double special(const struct hc_draw_site *p, int slot)
{
    const struct hc_tensor *t = &p->call->in[slot];
    const struct hc_family *f = hc_family(p->call->op);
    bool shared = f->multiplies;
    if (f->first_row_is_finite && p->index < (uint64_t)t->shape[t->rank - 1])
        return hc_draw_normal(p);
    double length = fmax(hc_call_length(p->call), 4);
    double u = hc_draw_uniform(p, 3);
    if (p->index == (uint64_t)hc_tensor_count(t) / 4)
        return specials[f->never_minus_infinity ? 2 * (int)(u * 2) : (int)(u * 3)];
    if ((shared && slot > 0) || hc_draw_uniform(p, 2) > 1 / ((shared ? 8 : 2) * length))
        return hc_draw_normal(p);
    /* A limit as one of several terms would overflow by itself. */
    if (length <= 4 && u > 0.8)
        return hc_format_max(p->format);
    return specials[(int)(u * 4)];
}

/* Neighbours along the sum are a pair: their factors y agree, and their x agree but for the sign.
   The one that is taken away is larger by up to 2^-6, and comes first in half of the pairs. What
   pairs leave has one sign, so that the sum is between 2^-10 and 2^-6 of its terms' magnitude and
   never less than a rounding error. Pairs differ in size by up to 2^8, so that sums have more bits
   than fp32. A last term without a partner is 2^-12 of the others' size. */
static double paired(struct hc_draw_site p, int slot, enum hc_values values)
{
    const struct hc_family *f = hc_family(p.call->op);
    struct hc_run run =
        f->run ? f->run(p.call, slot) : (struct hc_run){1, hc_tensor_count(&p.call->in[slot])};
    uint64_t along = p.index / (uint64_t)run.stride % (uint64_t)run.extent;
    bool second = along % 2;
    bool alone = !second && along + 1 == (uint64_t)run.extent;
    bool swapped = (uint32_t)(along / 2) * 2654435761u >> 31;
    bool taken = !alone && second != swapped;
    double beside = taken ? 0x1p-7 * (1 + hc_draw_uniform(&p, 2)) / 2 : 0;
    double flip = values == HC_VALUES_DATA && taken ? -1 : 1;
    p.index -= second ? (uint64_t)run.stride : 0;
    int smaller = (int)(8 * hc_draw_uniform(&p, 3)) + (alone ? 12 : 0);
    return flip * ldexp(fabs(hc_draw_normal(&p)) * (1 + beside), -smaller);
}

/* Optimizers with a compensation: the sum of a subnormal weight and its update would be exact, and
   leave nothing for it. */
static bool compensates(const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        if (hc_slot(call->op, i)->values == HC_VALUES_COMPENSATION)
            return !hc_op_absent(call, i);
    return false;
}

/* Data. */
static double data(const struct hc_draw_site *p, int slot, enum hc_values values,
                   enum hc_distribution distribution)
{
    const struct hc_family *f = hc_family(p->call->op);
    switch (distribution) {
    case HC_DRAW_LOGNORMAL:
        return lognormal(p);
    case HC_DRAW_SUBNORMALS:
        if (slot == 0 && compensates(p->call))
            return hc_draw_normal(p);
        if (f->half_subnormal && hc_draw_uniform(p, 12) < 0.5)
            return hc_draw_normal(p);
        return values == HC_VALUES_FACTOR
                   ? ldexp(hc_draw_normal(p), -(int)(12 * hc_draw_uniform(p, 8)))
                   : subnormal(p);
    case HC_DRAW_BOUNDARIES:
        return f->boundary && values != HC_VALUES_FACTOR ? f->boundary(p) : boundary(p);
    case HC_DRAW_CANCELLATION:
        return f->cancelling ? f->cancelling(p, slot, values) : paired(*p, slot, values);
    case HC_DRAW_SPECIALS:
        return !f->has_specials || f->has_specials(p->call, slot) ? special(p, slot)
                                                                  : hc_draw_normal(p);
    default:
        return hc_draw_normal(p);
    }
}

/* What w lacks of a weight: within half an ulp of it, but now and then anything. */
static double compensation(const struct hc_draw_site *p, int slot, enum hc_values values,
                           enum hc_distribution distribution)
{
    double w = hc_tensor_get(&p->call->in[HC_FIRST], (int64_t)p->index);
    if (!isfinite(w) || hc_draw_uniform(p, 10) < 0.1)
        return data(p, slot, values, distribution);
    return hc_ulp(p->format, w) * (hc_draw_uniform(p, 11) - 0.5);
}

/* The scale of a block is between 2^-4 and 2^4, or 1 where sums are counted. With specials one is
   NaN, where not all elements share one, and one in eight is 0, where the format has it. */
static double scale_of_block(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    if (distribution == HC_DRAW_WHOLE || distribution == HC_DRAW_STAGNATION ||
        distribution == HC_DRAW_CUT || distribution == HC_DRAW_CANCELLATION)
        return 1;
    const struct hc_tensor *t = &p->call->in[p->stream];
    bool several = distribution == HC_DRAW_SPECIALS && t->shape[0] > 1;
    if (several && p->index == (uint64_t)hc_tensor_count(t) / 2)
        return (double)NAN;
    if (several && p->format != HC_E8M0 && hc_draw_uniform(p, 4) < 0.125)
        return 0;
    return ldexp(1 + hc_draw_uniform(p, 3), (int)floor(8 * hc_draw_uniform(p, 2)) - 4);
}

double hc_op_value(const struct hc_call *call, int slot, enum hc_values values, int64_t i,
                   enum hc_distribution distribution, uint64_t seed)
{
    struct hc_draw_site p = {call, call->in[slot].format, seed, (uint64_t)slot, (uint64_t)i};
    const struct hc_family *f = hc_family(call->op);
    if (f->draw)
        return f->draw(&p, values, distribution);
    if (distribution == HC_DRAW_SPECIALS && f->is_special && f->is_special(&p, slot)) {
        double u = hc_draw_uniform(&p, 3);
        return specials[f->never_minus_infinity ? 2 * (int)(u * 2) : (int)(u * 3)];
    }
    if (values == HC_VALUES_SCALE)
        return scale_of_block(&p, distribution);
    if (hc_distribution_of_sums(distribution))
        return hc_draw_sum(&p, slot, values, distribution);
    switch (values) {
    case HC_VALUES_GAIN:
        return 0.5 + hc_draw_uniform(&p, 2);
    case HC_VALUES_OFFSET:
        if (f->kept)
            return f->kept(&p, slot);
        if (distribution == HC_DRAW_SUBNORMALS)
            return subnormal(&p);
        if (distribution == HC_DRAW_CANCELLATION)
            return f->addends ? 0x1p-10 * hc_draw_normal(&p) : 500;
        return data(&p, slot, values,
                    distribution == HC_DRAW_SPECIALS ? distribution : HC_DRAW_NORMAL);
    case HC_VALUES_VARIANCE:
        return distribution == HC_DRAW_LOGNORMAL ? fabs(lognormal(&p))
                                                 : 0.5 + hc_draw_uniform(&p, 2);
    case HC_VALUES_SUM_OF_SQUARES:
        return fabs(data(&p, slot, HC_VALUES_DATA, distribution));
    case HC_VALUES_COMPENSATION:
        return compensation(&p, slot, values, distribution);
    case HC_VALUES_SECOND_MOMENT:
        p.stream = 1; /* like the square of the gradient */
        if (distribution == HC_DRAW_SPECIALS || distribution == HC_DRAW_SUBNORMALS)
            return fabs(distribution == HC_DRAW_SPECIALS ? hc_draw_normal(&p) : subnormal(&p));
        return pow(data(&p, HC_ADAM_G, HC_VALUES_DATA, distribution), 2) *
               (0.5 + hc_draw_uniform(&p, 9));
    default:
        return data(&p, slot, values, distribution);
    }
}

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
