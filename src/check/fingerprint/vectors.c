#include "check/fingerprint/features.h"

#include <math.h>

#include "num/rng.h"

struct draw {
    struct hc_probe *probe;
    const struct hc_format_info *format;
    uint64_t stream;
    uint64_t index;
};

/* An integer in least .. most. */
static int pick(struct draw *d, int least, int most)
{
    return least + (int)(hc_random(0, d->stream, d->index++) % (uint64_t)(most - least + 1));
}

static double sign(struct draw *d)
{
    return pick(d, 0, 1) ? -1 : 1;
}

/* A random number of the format, with that exponent or the nearest that it has. */
static double number(struct draw *d, int exponent)
{
    const struct hc_format_info *f = d->format;
    exponent = exponent < f->emin ? f->emin : exponent > f->emax - 1 ? f->emax - 1 : exponent;
    int bits = f->precision - 1;
    return sign(d) * ldexp(1 + ldexp(pick(d, 0, (1 << bits) - 1), -bits), exponent);
}

/* A product of about that exponent. */
static void product(struct draw *d, int k, int exponent)
{
    int first = exponent / 2 + pick(d, -2, 2);
    hc_probe_term(d->probe, k, number(d, first), number(d, exponent - first));
}

static void c(struct draw *d, int exponent)
{
    if (!d->probe->takes_c)
        return;
    exponent = exponent < -140 ? -140 : exponent > 126 ? 126 : exponent;
    double x = sign(d) * ldexp(1 + ldexp(pick(d, 0, (1 << 23) - 1), -23), exponent);
    hc_probe_c(d->probe, (double)(float)x);
}

/* Exponents of products that all formats have, and those of the widest sums. */
static int reach(const struct draw *d)
{
    int most = 2 * d->format->emax - 4;
    return most < 40 ? most : 40;
}

static void near_exponents(struct draw *d)
{
    int middle = pick(d, -4, 4);
    for (int k = 0; k < d->probe->shape.terms; k++)
        product(d, k, middle + pick(d, -3, 3));
    c(d, middle + pick(d, -4, 6));
}

static void far_exponents(struct draw *d)
{
    int most = reach(d) / 2;
    for (int k = 0; k < d->probe->shape.terms; k++)
        product(d, k, pick(d, -most, most));
    c(d, pick(d, -most, most));
}

/* Each product has its negative somewhere, but for a few. */
static void cancelling(struct draw *d)
{
    int n = d->probe->shape.terms;
    int step =
        2 * pick(d, 0, n / 2 - 1) + 1; /* odd, so that it visits all places of a power of 2 */
    int at = pick(d, 0, n - 1);
    for (int i = 0; i + 1 < n; i += 2) {
        int e = pick(d, -6, 6);
        double a = number(d, e);
        double b = number(d, -e / 2);
        bool rest = pick(d, 0, 7) == 0;
        hc_probe_term(d->probe, at, a, b);
        at = (at + step) % n;
        hc_probe_term(d->probe, at, -a, rest ? number(d, -e / 2) : b);
        at = (at + step) % n;
    }
    c(d, pick(d, -24, 2));
}

/* Few products in two pieces, so that a difference can be read. */
static int few_places(struct draw *d, int place[6])
{
    int n = pick(d, 2, 6);
    int span = d->probe->shape.terms < 32 ? d->probe->shape.terms : 32;
    int from = pick(d, 0, 1) ? 0 : pick(d, 0, d->probe->shape.terms - span);
    for (int i = 0; i < n; i++) {
        bool again = true;
        while (again) {
            place[i] = from + pick(d, 0, pick(d, 0, 1) ? span - 1 : 7);
            again = false;
            for (int j = 0; j < i; j++)
                again |= place[i] == place[j];
        }
    }
    return n;
}

static void few(struct draw *d)
{
    int place[6];
    int n = few_places(d, place);
    int top = pick(d, 0, reach(d) / 2);
    for (int i = 0; i < n; i++)
        product(d, place[i], i < 2 ? top - pick(d, 0, 2) : top - pick(d, 8, 30));
    if (pick(d, 0, 2))
        c(d, pick(d, 0, 1) ? top - pick(d, 0, 3) : top - pick(d, 18, 34));
}

/* 1.5 or so, a half or a quarter of its last bit, and something below. */
static void ties(struct draw *d)
{
    int place[6];
    int n = few_places(d, place);
    int top = d->format->emax > 100 ? 0 : reach(d) / 2;
    hc_probe_scaled(d->probe, place[0], sign(d) * 1.5, top);
    for (int i = 1; i < n; i++) {
        int e = i == 1 ? top - pick(d, 22, 26) : top - pick(d, 20, 40);
        int least = 2 * d->format->emin;
        hc_probe_scaled(d->probe, place[i], sign(d), e < least ? least : e);
    }
    if (pick(d, 0, 1))
        c(d, top - pick(d, 0, 1) * pick(d, 20, 28));
}

/* Products near the last numbers of fp32, or with subnormal factors; and a zero beside a large
   factor. */
static void tiny(struct draw *d)
{
    int place[6];
    int n = few_places(d, place);
    double least = hc_format_tiny(d->probe->format);
    bool wide = d->format->emax > 100;
    for (int i = 0; i < n; i++)
        if (wide && pick(d, 0, 2))
            product(d, place[i], -pick(d, 118, 152));
        else
            hc_probe_term(d->probe, place[i], sign(d) * least * pick(d, 1, 3),
                          number(d, wide ? pick(d, -20, 60) : pick(d, -3, 3)));
    if (pick(d, 0, 1))
        hc_probe_term(d->probe, place[0], 0, number(d, pick(d, 0, d->format->emax - 1)));
    if (pick(d, 0, 2))
        c(d, -pick(d, 110, 140));
}

/* At the last bit of fp32, a tie or one bit, and beside it a power of two far below, which an
   alignment to a zero's exponent loses. */
static void last_bits(struct draw *d)
{
    int place = 4 * pick(d, 0, d->probe->shape.terms / 4 - 1);
    double s = sign(d);
    if (d->format->emax < 100) {
        ties(d);
        return;
    }
    hc_probe_scaled(d->probe, place, s, -pick(d, 149, 150));
    hc_probe_scaled(d->probe, place + 1, pick(d, 0, 3) ? -s : s,
                    -pick(d, 150, pick(d, 0, 3) ? 163 : 176));
    if (pick(d, 0, 3) == 0)
        hc_probe_term(d->probe, place + 2, 0, number(d, pick(d, 0, 20)));
}

static void zeros(struct draw *d)
{
    int place[6];
    int n = few_places(d, place);
    double x = number(d, 0);
    double y = number(d, 0);
    for (int i = 0; i < n; i++)
        if (pick(d, 0, 3))
            hc_probe_term(d->probe, place[i], pick(d, 0, 1) ? 0.0 : -0.0,
                          number(d, pick(d, 0, d->format->emax - 1)));
    if (pick(d, 0, 1)) {
        hc_probe_term(d->probe, place[0], x, y);
        hc_probe_term(d->probe, place[1], -x, y);
    }
    if (d->probe->takes_c && pick(d, 0, 1))
        hc_probe_c(d->probe, pick(d, 0, 1) ? 0.0 : -0.0);
    else if (d->probe->takes_c)
        hc_probe_c(d->probe, sign(d) * ldexp(2 * pick(d, 0, 1 << 22) + 1, -149));
}

static void specials(struct draw *d)
{
    int place[6];
    int n = few_places(d, place);
    bool infinities = d->format->special == HC_SPECIAL_IEEE;
    for (int i = 0; i < n; i++)
        product(d, place[i], d->format->emax > 100 ? pick(d, 120, 128) : reach(d));
    if (infinities && pick(d, 0, 1))
        hc_probe_term(d->probe, place[pick(d, 0, n - 1)], sign(d) * (double)INFINITY,
                      pick(d, 0, 2) ? number(d, 0) : 0);
    if (pick(d, 0, 3) == 0)
        hc_probe_term(d->probe, place[pick(d, 0, n - 1)], (double)NAN, 1);
    if (!d->probe->takes_c)
        return;
    if (pick(d, 0, 1))
        c(d, 126);
    else if (pick(d, 0, 1))
        hc_probe_c(d->probe, sign(d) * (double)INFINITY);
}

void hc_vectors_add(struct hc_probe *p, int count)
{
    static void (*const kinds[])(struct draw *) = {
        near_exponents, few, far_exponents, ties, cancelling, tiny, last_bits, zeros, specials};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    for (int i = 0; i < count; i++) {
        struct draw d = {.probe = p,
                         .format = &hc_formats[p->format],
                         .stream = (uint64_t)p->format << 32 | (uint32_t)i};
        (void)hc_probe_sum(p);
        kinds[i % KINDS](&d);
    }
}
