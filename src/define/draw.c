#include "define/draw.h"

#include <math.h>

#include "num/rng.h"

const char *const hc_family_names[HC_FAMILIES] = {
    [HC_FAMILY_NORMAL] = "normal",         [HC_FAMILY_LOGNORMAL] = "lognormal",
    [HC_FAMILY_BOUNDARIES] = "boundaries", [HC_FAMILY_SUBNORMALS] = "subnormals",
    [HC_FAMILY_SPECIALS] = "specials",     [HC_FAMILY_CANCELLING] = "cancelling",
    [HC_FAMILY_STAGNATING] = "stagnating", [HC_FAMILY_CONSTANT] = "constant",
    [HC_FAMILY_ONE_HOT] = "one-hot",       [HC_FAMILY_WHOLE] = "whole",
    [HC_FAMILY_OFFSET] = "offset",         [HC_FAMILY_MIXED] = "mixed",
    [HC_FAMILY_SCALED] = "scaled",
};

struct draw {
    enum hc_format format;
    uint64_t seed;
    uint64_t stream;
    int64_t columns; /* of the last axis */
    int64_t row;     /* how many elements have a scale in common: 1 where there is one axis */
};

/* Element i, from two random numbers that belong to it. */
typedef double number(const struct draw *d, int64_t i);

static double uniform(const struct draw *d, uint64_t stream, int64_t i)
{
    return hc_random_uniform(d->seed, d->stream * 8 + stream, (uint64_t)i);
}

static double normal(const struct draw *d, int64_t i)
{
    return hc_random_normal(d->seed, d->stream * 8, (uint64_t)i);
}

static double sign(const struct draw *d, int64_t i)
{
    return uniform(d, 1, i) < 0.5 ? -1 : 1;
}

/* A third of the format's powers of two, around 1. */
static double lognormal(const struct draw *d, int64_t i)
{
    double reach = fmin(hc_formats[d->format].emax, 60) / 3.0;
    return sign(d, i) * exp2((2 * uniform(d, 0, i) - 1) * reach) * (1 + uniform(d, 2, i));
}

static double boundary(const struct draw *d, int64_t i)
{
    const struct hc_format_info *f = &hc_formats[d->format];
    int exponent = (int)floor(uniform(d, 0, i) * (f->emax - f->emin + 1)) + f->emin;
    double power = ldexp(1, exponent);
    double ulp = ldexp(hc_format_unit(d->format) * 2, exponent);
    double choice[] = {power,
                       power + ulp,
                       power - ulp / 2,
                       hc_format_max(d->format),
                       ldexp(1, f->emin),
                       1,
                       1 + 2 * hc_format_unit(d->format),
                       0};
    return sign(d, i) * choice[(int)(uniform(d, 2, i) * 8)];
}

static double subnormal(const struct draw *d, int64_t i)
{
    return sign(d, i) * uniform(d, 0, i) * ldexp(2, hc_formats[d->format].emin);
}

static double special(const struct draw *d, int64_t i)
{
    static const double choice[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
    double which = uniform(d, 2, i);
    return which < 0.05 ? choice[(int)(which * 100)] : normal(d, i);
}

/* The odd ones take away the even ones before them but for some ulps. */
static double cancelling(const struct draw *d, int64_t i)
{
    if (i % d->columns % 2 == 0)
        return normal(d, i) * 16;
    double before = hc_round(d->format, normal(d, i - 1) * 16);
    return -before * (1 + floor(uniform(d, 0, i) * 4) * 2 * hc_format_unit(d->format));
}

static double stagnating(const struct draw *d, int64_t i)
{
    double large = 16;
    return i % d->columns == 0
               ? large
               : large * hc_format_unit(d->format) * (0.25 + 0.75 * uniform(d, 0, i));
}

static double constant(const struct draw *d, int64_t i)
{
    (void)i;
    return normal(d, 0);
}

static double one_hot(const struct draw *d, int64_t i)
{
    int64_t hot = (int64_t)(uniform(d, 0, i / d->columns) * (double)d->columns);
    return i % d->columns == hot ? normal(d, i) * 4 : 0;
}

static double whole(const struct draw *d, int64_t i)
{
    return floor(uniform(d, 0, i) * 7) - 3;
}

static double offset(const struct draw *d, int64_t i)
{
    return 100 + normal(d, i);
}

/* So that each input meets zeros, terms that vanish, and factors below the normal numbers. */
static double mixed(const struct draw *d, int64_t i)
{
    double x = normal(d, i);
    double choice[] = {0, 1, x, 16 * x, x * 0x1p-20, subnormal(d, i)};
    return choice[(int)(uniform(d, 2, i) * 6)];
}

/* From 2^6 to 2^-44, where an eps that stands beside a square or a norm is as large as that. */
static double scaled(const struct draw *d, int64_t i)
{
    return normal(d, i) * exp2(6 - floor(uniform(d, 4, i / d->row) * 51));
}

static number *const numbers[HC_FAMILIES] = {
    [HC_FAMILY_NORMAL] = normal,         [HC_FAMILY_LOGNORMAL] = lognormal,
    [HC_FAMILY_BOUNDARIES] = boundary,   [HC_FAMILY_SUBNORMALS] = subnormal,
    [HC_FAMILY_SPECIALS] = special,      [HC_FAMILY_CANCELLING] = cancelling,
    [HC_FAMILY_STAGNATING] = stagnating, [HC_FAMILY_CONSTANT] = constant,
    [HC_FAMILY_ONE_HOT] = one_hot,       [HC_FAMILY_WHOLE] = whole,
    [HC_FAMILY_OFFSET] = offset,         [HC_FAMILY_MIXED] = mixed,
    [HC_FAMILY_SCALED] = scaled,
};

void hc_family_draw(const struct hc_tensor *t, enum hc_family family, int64_t places, uint64_t seed,
                    uint64_t stream)
{
    struct draw d = {.format = t->format, .seed = seed, .stream = stream, .columns = 1, .row = 1};
    if (t->rank > 0 && t->shape[t->rank - 1] > 0)
        d.columns = t->shape[t->rank - 1];
    if (t->rank > 1 && d.columns > 1)
        d.row = d.columns;
    bool indices = hc_is_integer(&hc_formats[t->format]);
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i,
                      indices ? floor(uniform(&d, 0, i) * (double)places) : numbers[family](&d, i));
}
