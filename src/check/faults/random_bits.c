/* Defects of rounding with given random bits. */
#include "check/selftest/fault.h"

#include <math.h>

#include "num/format.h"

/* A number's magnitude in units of 2^-k of the last place of `to` at it, and its random bits. */
struct cut {
    const struct hc_stochastic_cast *p;
    enum hc_format to;
    double x; /* with its sign */
    int last;
    double units;
    uint32_t word;
    double r;
};

static struct cut cut_of(const struct hc_call *call, int64_t i)
{
    struct cut c;
    c.p = &call->params.stochastic_cast;
    c.to = call->out[HC_STOCHASTIC_OUT].format;
    c.x = hc_tensor_get(&call->in[HC_STOCHASTIC_X], i);
    const struct hc_format_info *f = &hc_formats[c.to];
    int exponent = c.x == 0 || ilogb(c.x) < f->emin ? f->emin : ilogb(c.x);
    c.last = exponent - f->precision + 1;
    c.units = ldexp(fabs(c.x), c.p->bits - c.last);
    c.word = (uint32_t)hc_tensor_bits(&call->in[HC_STOCHASTIC_WORDS], i);
    c.r = (double)(c.word & ((UINT32_C(1) << c.p->bits) - 1));
    return c;
}

static double kept(const struct cut *c, double units)
{
    return copysign(ldexp(floor(ldexp(units, -c->p->bits)), c->last), c->x);
}

static double to_nearest(const struct cut *c)
{
    return c->x;
}

static double by_the_nearest_unit(const struct cut *c)
{
    return kept(c, rint(c->units) + c->r);
}

static double only_beyond(const struct cut *c)
{
    return kept(c, floor(c->units) + c->r - 1 < 0 ? 0 : floor(c->units) + c->r - 1);
}

/* A negative number goes toward +infinity where a positive one goes away from 0. */
static double toward_infinity(const struct cut *c)
{
    double mask = ldexp(1, c->p->bits) - 1;
    return kept(c, floor(c->units) + (c->x < 0 ? mask - c->r : c->r));
}

static double by_the_upper_bits(const struct cut *c)
{
    return kept(c, floor(c->units) + (double)(c->word >> (32 - c->p->bits)));
}

/* The last place of a subnormal result is taken for that of a normal one with its exponent. */
static double subnormal_as_normal(const struct cut *c)
{
    const struct hc_format_info *f = &hc_formats[c->to];
    struct cut own = *c;
    own.last = (c->x == 0 ? f->emin : ilogb(c->x)) - f->precision + 1;
    return kept(&own, floor(ldexp(fabs(c->x), c->p->bits - own.last)) + c->r);
}

/* TransformerEngine's ptx.cuh, whose fma rounds into fp32. */
static double by_fma(const struct cut *c)
{
    float step = ldexpf(1, c->last);
    float t = fmaf(ldexpf((float)c->r, -c->p->bits), step, fabsf((float)c->x));
    return copysign((double)(floorf(t / step) * step), c->x);
}

struct mistake {
    double (*of)(const struct cut *c);
};

static enum hc_status mistaken(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    const struct mistake *mistake = site->fault->data;
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *out = &call->out[HC_STOCHASTIC_OUT];
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(out); i++) {
        struct cut c = cut_of(call, i);
        if (isfinite(c.x) && c.x != 0)
            hc_tensor_set_bits(out, i,
                               (c.p->saturate ? hc_encode_saturated
                                              : hc_encode)(c.to, mistake->of(&c), 0, HC_NEAREST));
    }
    return status;
}

#define WRONG(name, title, of)                                                                     \
    {                                                                                              \
        "random-bits-" name, (title), HC_FAULT_STOCHASTIC, "stochastic_cast",                      \
            "rounding/stochastic/*", .wrong = mistaken, .data = &(const struct mistake)            \
        {                                                                                          \
            of                                                                                     \
        }                                                                                          \
    }

static const struct hc_fault faults[] = {
    WRONG("ignored", "a number is rounded to nearest, whatever its random bits are", to_nearest),
    WRONG("meet-rounded-units", "what is cut off is rounded to units of 2^-k, not cut",
          by_the_nearest_unit),
    WRONG("must-exceed", "a number goes up only where its random bits exceed what it lacks",
          only_beyond),
    WRONG("go-toward-infinity", "negative numbers go toward zero where they should go away from it",
          toward_infinity),
    WRONG("taken-from-above", "the upper bits of a word are taken, not the lower ones",
          by_the_upper_bits),
    WRONG("in-a-binade-of-their-own", "a subnormal result is first rounded as a normal one",
          subnormal_as_normal),
    WRONG("added-in-fp32", "the random bits are added by an fma in fp32, which rounds", by_fma),
};

HC_FAULTS(random_bits, faults);
