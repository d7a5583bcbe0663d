/* Inputs of quantize, dequantize and delayed_scale.

   What is to be quantised is small enough in normal numbers that few codes are 0. On boundaries one
   element in eight is the codes' largest number M times 2^j, with one j for the whole tensor: a
   block that has one has a power of two for its scale under most rules, and the other elements then
   are the codes' numbers, the midpoints between them and what lies beside these. */
#include <math.h>

#include "check/generate/op_quant.h"
#include "num/ulp.h"

static double sign(const struct hc_draw_site *p)
{
    return hc_draw_uniform(p, 1) < 0.5 ? -1 : 1;
}

/* A magnitude between 2^low and 2^high. */
static double between(const struct hc_draw_site *p, int low, int high)
{
    return ldexp(1 + hc_draw_uniform(p, 3), (int)floor(low + hc_draw_uniform(p, 2) * (high - low)));
}

/* A number of the codes' format or a midpoint, which fp32 holds, or a neighbour of that. */
static double tie(const struct hc_draw_site *p, enum hc_format codes)
{
    const struct hc_format_info *f = &hc_formats[codes];
    double most = hc_format_max(codes);
    double x = hc_round(codes, fmin(between(p, f->emin - f->precision, f->emax + 1), most));
    if (hc_draw_uniform(p, 4) < 0.7 && x < most)
        x += hc_ulp(codes, x) / 2;
    return x;
}

static double boundary(const struct hc_draw_site *p)
{
    enum hc_format codes = p->call->out[HC_QUANTIZE_CODES].format;
    int j = (int)(p->seed % 5) - 2;
    double x = hc_draw_uniform(p, 5) < 0.125 ? hc_format_max(codes) : tie(p, codes);
    double beside = floor(hc_draw_uniform(p, 7) * 3) - 1;
    x = ldexp(x, j);
    return sign(p) * (x == 0 ? x : x + beside * hc_ulp(p->format, x));
}

static const double specials[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, -0.0};

/* Whether an infinite element would leave nothing but zeros or NaNs of the whole tensor. */
static bool is_lost_to_infinity(const struct hc_call *call)
{
    enum hc_scale_rule rule = call->params.quantize.rule;
    bool keeps = rule == HC_SCALE_TE_CURRENT || rule == HC_SCALE_TE_BLOCK;
    bool one = hc_tensor_count(&call->out[HC_QUANTIZE_SCALES]) == 1;
    return call->op == HC_OP_quantize &&
           ((one && !keeps) || hc_scale_rules[rule].kind == HC_SCALE_OF_LEVELS);
}

/* One of fifty elements of the first half, so that half of the blocks stay finite. */
static double special(const struct hc_draw_site *p)
{
    uint64_t half = (uint64_t)hc_tensor_count(&p->call->in[p->stream]) / 2;
    int first = is_lost_to_infinity(p->call) ? 2 : 0;
    if (p->index == 0)
        return (double)NAN;
    if (p->index < half && hc_draw_uniform(p, 2) < 0.02)
        return specials[first + (int)(hc_draw_uniform(p, 3) * (4 - first))];
    return hc_draw_normal(p);
}

/* 32 neighbours of 64, so that whole blocks are subnormal and others are not. */
static double subnormal(const struct hc_draw_site *p)
{
    const struct hc_format_info *f = &hc_formats[p->format];
    if (p->index / 32 % 2 == 1)
        return hc_draw_normal(p);
    return sign(p) * fmax(ldexp(hc_draw_uniform(p, 2), f->emin), hc_format_tiny(p->format));
}

static double element(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    switch (distribution) {
    case HC_DRAW_LOGNORMAL:
        return sign(p) * between(p, -4, 4);
    case HC_DRAW_SUBNORMALS:
        return subnormal(p);
    case HC_DRAW_BOUNDARIES:
        return boundary(p);
    case HC_DRAW_SPECIALS:
        return special(p);
    default:
        return hc_draw_normal(p);
    }
}

static double code(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    const struct hc_format_info *f = &hc_formats[p->format];
    if (distribution == HC_DRAW_SPECIALS)
        return special(p);
    if (distribution == HC_DRAW_SUBNORMALS)
        return subnormal(p);
    if (distribution == HC_DRAW_NORMAL)
        return hc_draw_normal(p);
    return sign(p) * between(p, f->emin - f->precision + 1, f->emax);
}

/* A scale that is positive; with specials now and then one that is 0, infinite or NaN. */
static double scale(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    static const double bad[] = {0, (double)INFINITY, (double)NAN};
    bool one = hc_tensor_count(&p->call->in[p->stream]) == 1;
    if (distribution == HC_DRAW_SPECIALS && !one && p->index == 1)
        return (double)NAN;
    if (distribution == HC_DRAW_SPECIALS && !one && hc_draw_uniform(p, 4) < 0.1)
        return bad[(int)(hc_draw_uniform(p, 5) * 3)];
    if (distribution == HC_DRAW_BOUNDARIES)
        return between(p, -6, 6);
    if (distribution == HC_DRAW_SUBNORMALS && p->format == HC_E8M0 && p->index % 4 == 1)
        return hc_format_tiny(p->format);
    return between(p, -2, 2);
}

/* What tensors' magnitudes may come to; one in eight is idle. On boundaries it is M 2^j, or beside
   it, and in all of fp32's range log-normally. Every second tensor is subnormal, or has specials,
   and no other. */
static double amax(const struct hc_draw_site *p, enum hc_distribution distribution)
{
    const struct hc_format_info *f = &hc_formats[HC_FP32];
    double most = hc_format_max(p->call->params.delayed_scale.codes);
    bool second = p->index % (uint64_t)p->call->in[HC_DELAYED_AMAX].shape[0] % 2;
    if (hc_draw_uniform(p, 6) < 0.125)
        return 0;
    switch (distribution) {
    case HC_DRAW_LOGNORMAL:
        return between(p, f->emin, f->emax);
    case HC_DRAW_SUBNORMALS:
        if (second)
            return fabs(hc_draw_normal(p));
        return fmax(ldexp(hc_draw_uniform(p, 2), f->emin), hc_format_tiny(HC_FP32));
    case HC_DRAW_BOUNDARIES:
        most = ldexp(most, (int)floor(80 * hc_draw_uniform(p, 2)) - 60);
        return most + (floor(hc_draw_uniform(p, 3) * 5) - 2) * hc_ulp(HC_FP32, most);
    case HC_DRAW_SPECIALS:
        if (!second && hc_draw_uniform(p, 4) < 0.1)
            return hc_draw_uniform(p, 5) < 0.5 ? (double)INFINITY : (double)NAN;
        return fabs(hc_draw_normal(p));
    default:
        return fabs(hc_draw_normal(p));
    }
}

double hc_draw_quant(const struct hc_draw_site *p, enum hc_values values,
                     enum hc_distribution distribution)
{
    if (values == HC_VALUES_AMAX)
        return amax(p, distribution);
    if (values != HC_VALUES_DATA)
        return scale(p, distribution);
    return p->call->op == HC_OP_dequantize ? code(p, distribution) : element(p, distribution);
}
