/* s is 1.5 times a power of two. s + y - s is what is left of y next to s: y = 2^-k shows the last
   bit that is kept, and y = m / 4 of that bit, for m = -7 .. 7 and both signs of s, what happens to
   the bits below. Each way of rounding has its own answers to these 30 questions. */
#include "check/fingerprint/rounding.h"

#include <math.h>

#include "check/fingerprint/structure.h"

enum { QUARTERS = 7, FROM = 2, MAX_BITS = 60 };

/* What m quarters of the last bit become next to a number of that sign, whose last bit is 0; in
   such bits. */
static double to_nearest(int sign, double m)
{
    (void)sign;
    return nearbyint(m / 4);
}

static double cut_addend(int sign, double m)
{
    (void)sign;
    return trunc(m / 4);
}

static double cut_sum(int sign, double m)
{
    return sign > 0 ? floor(m / 4) : ceil(m / 4);
}

static double to_floor(int sign, double m)
{
    (void)sign;
    return floor(m / 4);
}

static double to_odd(int sign, double m)
{
    double cut = cut_sum(sign, m);
    return cut == m / 4 || fmod(cut, 2) != 0 ? cut : cut + sign;
}

static double to_away(int sign, double m)
{
    return sign > 0 ? floor(m / 4 + 0.5) : ceil(m / 4 - 0.5);
}

static const struct {
    enum hc_found_rounding rounding;
    double (*becomes)(int sign, double quarters);
} roundings[] = {
    {HC_FOUND_NEAREST, to_nearest}, {HC_FOUND_CUT, cut_addend}, {HC_FOUND_CUT, cut_sum},
    {HC_FOUND_FLOOR, to_floor},     {HC_FOUND_ODD, to_odd},     {HC_FOUND_AWAY, to_away},
};

/* The exponent of s, far above the format's smallest numbers. */
static int high(enum hc_format format)
{
    const struct hc_format_info *f = &hc_formats[format];
    return f->emax > 100 ? 0 : 2 * (f->emax - 2);
}

/* One question: `bases` products of s and y, and -s unless the sum is to be the result. */
struct question {
    int place[4];
    int bases;
    bool stays;  /* s is not taken away again */
    bool in_c;   /* y is C */
    bool c_ends; /* C, and no product, takes s away: the piece has no third one. */
};

/* Sets product k, or C, to x 2^exponent, for x in quarters of a bit. */
static void put_small(struct hc_probe *p, const struct question *q, double x, int exponent)
{
    int e;
    double m = 2 * frexp(x, &e);
    if (q->in_c)
        hc_probe_c(p, ldexp(x, exponent));
    else if (x != 0)
        hc_probe_scaled(p, q->place[q->bases], m, exponent + e - 1);
}

/* Product or C: x 2^exponent next to 1.5 sign 2^high. */
static int ask(struct hc_probe *p, const struct question *q, int sign, double x, int exponent)
{
    int sum = hc_probe_sum(p);
    for (int i = 0; i < q->bases; i++)
        hc_probe_scaled(p, q->place[i], sign * 1.5, high(p->format));
    if (!q->stays && q->c_ends)
        hc_probe_c(p, sign * ldexp(-1.5, high(p->format)));
    else if (!q->stays)
        hc_probe_scaled(p, q->place[q->bases + (q->in_c ? 0 : 1)], sign * -1.5, high(p->format));
    put_small(p, q, x, exponent);
    return sum;
}

static double base_of(const struct hc_probe *p, const struct question *q, int sign)
{
    return q->stays ? q->bases * sign * ldexp(1.5, high(p->format)) : 0;
}

/* The last bit that comes through, below the exponent of s; MAX_BITS if there is no last one that
   the format can show. */
static enum hc_status find_last_bit(struct hc_probe *p, const struct question *q, int *last)
{
    int sum[MAX_BITS + 1];
    int exponent = high(p->format);
    const struct hc_format_info *f = &hc_formats[p->format];
    int lowest = f->emin < -100 ? -120 : f->emin < -10 ? 2 * f->emin : 2 * (f->emin - 3);
    int most = exponent - lowest < MAX_BITS ? exponent - lowest : MAX_BITS;
    hc_probe_begin(p);
    for (int k = FROM; k <= most; k++)
        sum[k] = ask(p, q, 1, 1, exponent - k);
    enum hc_status status = hc_probe_run(p);
    *last = FROM - 1;
    while (status == HC_OK && *last < most &&
           hc_probe_value(p, sum[*last + 1]) - base_of(p, q, 1) == ldexp(1, exponent - *last - 1))
        ++*last;
    if (*last == most)
        *last = MAX_BITS;
    return status;
}

/* `unit` is the exponent of the last bit. */
static enum hc_status find_rounding(struct hc_probe *p, const struct question *q, int unit,
                                    enum hc_found_rounding *rounding)
{
    int sum[2][2 * QUARTERS + 1];
    hc_probe_begin(p);
    for (int s = 0; s < 2; s++)
        for (int m = -QUARTERS; m <= QUARTERS; m++)
            sum[s][m + QUARTERS] = ask(p, q, s ? -1 : 1, m, unit - 2);
    enum hc_status status = hc_probe_run(p);
    *rounding = HC_FOUND_OTHER;
    for (size_t r = 0; r < sizeof roundings / sizeof roundings[0] && status == HC_OK; r++) {
        bool all = true;
        for (int s = 0; s < 2; s++)
            for (int m = -QUARTERS; m <= QUARTERS; m++) {
                int sign = s ? -1 : 1;
                double got = hc_probe_value(p, sum[s][m + QUARTERS]) - base_of(p, q, sign);
                all = all && got == ldexp(roundings[r].becomes(sign, m), unit);
            }
        if (all && *rounding == HC_FOUND_OTHER)
            *rounding = roundings[r].rounding;
    }
    return status;
}

static enum hc_status find_grid(struct hc_probe *p, const struct question *q,
                                struct hc_found_grid *grid)
{
    int last;
    enum hc_status status = find_last_bit(p, q, &last);
    *grid = (struct hc_found_grid){.fraction = -1};
    if (status != HC_OK || last < FROM)
        return status;
    if (last == MAX_BITS) {
        grid->rounding = HC_FOUND_EXACT;
        return HC_OK;
    }
    grid->fraction = last;
    return find_rounding(p, q, high(p->format) - last, &grid->rounding);
}

/* The sum of a piece as it is written. Three times s has an exponent larger by two than s, so that
   two bits of the alignment are left to be rounded away. */
static enum hc_status find_result(struct hc_probe *p, const struct question *products,
                                  struct hc_findings_of_shape *found)
{
    struct question q = *products;
    int last;
    q.stays = true;
    q.bases = found->piece > 3 ? 3 : 1;
    int above = q.bases == 3 ? 2 : 0;
    found->result = (struct hc_found_grid){.fraction = -1};
    enum hc_status status = find_last_bit(p, &q, &last);
    if (status != HC_OK || last < FROM || last == MAX_BITS || last == found->products.fraction)
        return status;
    found->result.fraction = last + above;
    return find_rounding(p, &q, high(p->format) - last, &found->result.rounding);
}

enum hc_status hc_find_rounding(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    struct question q = {.bases = 1};
    bool pieces = found->order == HC_SUM_PIECES || found->order == HC_SUM_EXACT;
    hc_structure_places(found, q.place);
    q.c_ends = pieces && found->piece == 2 && found->c == HC_SUM_C_FUSED;
    enum hc_status status = find_grid(p, &q, &found->products);
    q.c_ends = false;
    found->addend = found->result = found->products;
    if (status == HC_OK && pieces)
        status = find_result(p, &q, found);
    q.in_c = true;
    if (status == HC_OK && found->c == HC_SUM_C_FUSED)
        status = find_grid(p, &q, &found->addend);
    return status;
}
