#include "check/generate/draw.h"

#include <math.h>

#include "check/bound/bound.h"
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

/* Of a block: between 2^-4 and 2^4; 1 where sums are counted. With specials one is
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
    if (distribution == HC_DRAW_SPECIALS && f->is_special && f->is_special(&p, slot))
        return specials[(int)(hc_draw_uniform(&p, 3) * 3)];
    if (values == HC_VALUES_SCALE)
        return scale_of_block(&p, distribution);
    if (hc_distribution_of_sums(distribution))
        return hc_draw_sum(&p, slot, values, distribution);
    switch (values) {
    case HC_VALUES_GAIN:
        return 0.5 + hc_draw_uniform(&p, 2);
    case HC_VALUES_OFFSET:
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
