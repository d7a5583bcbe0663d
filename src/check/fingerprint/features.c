/* How sums are rounded, and what becomes of numbers at the ends of the range.

   s is 1.5 times a power of two. s + y - s is what is left of y next to s: y = 2^-k shows the last
   bit that is kept, and y = m / 4 of that bit, for m = -7 .. 7 and both signs of s, what happens to
   the bits below. Each way of rounding has its own answers to these 30 questions. */
#include "check/fingerprint/features.h"

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

static enum hc_found_small small(const struct hc_probe *p, int sum, double want)
{
    double got = hc_probe_value(p, sum);
    return got == want ? HC_SMALL_KEPT : got == 0 ? HC_SMALL_FLUSHED : HC_SMALL_OTHER;
}

static bool is_wide(const struct hc_probe *p)
{
    return hc_formats[p->format].emax > 100;
}

/* The smallest C that the accumulator has a bit for: one of fewer bits than fp32 has larger
   subnormal numbers, of which the first is one in any. */
static double small_addend(const struct hc_findings_of_shape *found)
{
    bool narrow = found->result.fraction > 0 && found->result.fraction < 23;
    return narrow ? 0x1p-127 : 0x1p-149;
}

static enum hc_status find_small(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    double tiny = hc_format_tiny(p->format);
    double other = ldexp(1, is_wide(p) ? 60 : hc_formats[p->format].emax / 2);
    hc_probe_begin(p);
    int factors = hc_probe_sum(p);
    hc_probe_term(p, 0, tiny, other);
    int results = hc_probe_sum(p);
    if (is_wide(p))
        hc_probe_scaled(p, 0, 1, -140);
    int c = hc_probe_sum(p);
    if (p->takes_c)
        hc_probe_c(p, small_addend(found));
    enum hc_status status = hc_probe_run(p);
    if (status != HC_OK)
        return status;
    found->factors = small(p, factors, tiny * other);
    found->small_results = is_wide(p) ? small(p, results, 0x1p-140) : HC_SMALL_UNKNOWN;
    found->small_c = p->takes_c ? small(p, c, small_addend(found)) : HC_SMALL_UNKNOWN;
    return HC_OK;
}

/* What is between a product and the addition. In pieces: 1.5 * 1.5 = 2.25, whose last aligned bit
   is twice that of 1.5 if its leading bit counts. In fp32: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24,
   or 0 if the square is rounded. Products of fewer bits are rounded only where they underflow:
   2^-149 + 2^-150 is a tie, and becomes 2^-148; but 2^-150 alone is rounded to 0. That tells
   nothing where additions cut, since 2^-149 comes out either way. */
static enum hc_status find_products(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    int place[4];
    int exponent = is_wide(p) ? 0 : 2 * (hc_formats[p->format].emax - 3);
    double half = ldexp(1.5, exponent / 2);
    bool aligned = found->order == HC_SUM_PIECES && found->products.fraction > 0;
    int fraction = aligned ? found->products.fraction : 0;
    hc_structure_places(found, place);
    hc_probe_begin(p);
    int square = hc_probe_sum(p);
    hc_probe_term(p, place[0], half, half);
    hc_probe_scaled(p, place[1], 1, exponent - fraction);
    hc_probe_term(p, place[2], -half, half);
    int small = hc_probe_sum(p);
    if (p->format == HC_FP32) {
        hc_probe_term(p, place[0], -(1 + 0x1p-11), 1);
        hc_probe_term(p, place[1], 1 + 0x1p-12, 1 + 0x1p-12);
    } else if (is_wide(p)) {
        hc_probe_scaled(p, place[0], 1, -149);
        hc_probe_scaled(p, place[1], 1, -150);
    }
    enum hc_status status = hc_probe_run(p);
    if (status != HC_OK)
        return status;
    double rounded = p->format == HC_FP32 ? 0 : 0x1p-149;
    found->normalized = aligned && hc_probe_value(p, square) == 0;
    bool seen = p->format == HC_FP32 || found->products.rounding == HC_FOUND_NEAREST;
    found->rounded = found->order != HC_SUM_PIECES && found->order != HC_SUM_EXACT && is_wide(p) &&
                     seen && hc_probe_value(p, small) == rounded;
    return HC_OK;
}

/* x is the product of the smallest subnormal number and a large one, and y its last aligned bit.
   x + y - x is y. But if the subnormal factor counts as the smallest normal number, x has an
   exponent that is larger by the bits of the format's fraction, and y is lost. What the format
   cannot show counts as raised, for which bounds are wider. */
static enum hc_status find_raised(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    int place[4];
    const struct hc_format_info *f = &hc_formats[p->format];
    double tiny = hc_format_tiny(p->format);
    int other = is_wide(p) ? 100 : f->emax;
    int last = ilogb(tiny) + other - found->products.fraction;
    int lowest = is_wide(p) ? -126 : 2 * ilogb(tiny);
    found->raised = false;
    if (found->order != HC_SUM_PIECES || found->products.fraction <= 0)
        return HC_OK;
    found->raised = !found->normalized;
    if (last < lowest)
        return HC_OK;
    hc_structure_places(found, place);
    hc_probe_begin(p);
    int sum = hc_probe_sum(p);
    hc_probe_term(p, place[0], tiny, ldexp(1, other));
    hc_probe_scaled(p, place[1], 1, last);
    hc_probe_term(p, place[2], -tiny, ldexp(1, other));
    enum hc_status status = hc_probe_run(p);
    if (status == HC_OK)
        found->raised = hc_probe_value(p, sum) != ldexp(1, last);
    return status;
}

/* Formats without infinity have NaN in its place. */
static enum hc_status find_specials(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    const struct hc_format_info *f = &hc_formats[p->format];
    found->no_infinity = f->special != HC_SPECIAL_IEEE;
    double infinite = found->no_infinity ? (double)NAN : (double)INFINITY;
    int place[4];
    int sum[4];
    hc_structure_places(found, place);
    hc_probe_begin(p);
    sum[0] = hc_probe_sum(p);
    hc_probe_term(p, place[0], 0, infinite);
    sum[1] = hc_probe_sum(p);
    hc_probe_term(p, place[0], 1, infinite);
    hc_probe_term(p, place[1], 1, -infinite);
    sum[2] = hc_probe_sum(p);
    hc_probe_term(p, place[0], 1, (double)NAN);
    p->b[(size_t)sum[2] * (size_t)p->shape.terms + (size_t)place[0]] |=
        p->format == HC_TF32 ? 1u << 13 : 1u;
    sum[3] = hc_probe_sum(p);
    hc_probe_scaled(p, place[0], 1, is_wide(p) ? 127 : 2 * (f->emax - 1));
    hc_probe_scaled(p, place[1], 1, is_wide(p) ? 127 : 2 * (f->emax - 1));
    enum hc_status status = hc_probe_run(p);
    for (int i = 0; i < 3 && status == HC_OK; i++)
        found->nan[i] = hc_probe_code(p, sum[i]);
    if (status == HC_OK)
        found->overflow = is_wide(p) ? hc_probe_code(p, sum[3]) : 0;
    return status;
}

enum { MOST = 192 };

/* A zero product may take part in the alignment as if it had an exponent z, and then the bits
   below z - fraction are lost. The sum of something at the result's last bit and of 2^-k shows
   whether 2^-k was lost. Where results are cut, 2^-k - 2^-149 is 0 if not (2^-k is the positive
   one, so that a floor loses it, too). To nearest, 2^-150 is a tie, and 2^-149 comes out if 2^-k
   was not lost. Where no zero matters, it is lost from k = 150 + fraction on. `beside` is the
   exponent of a factor that is multiplied by 0; 0: there is none. */
static enum hc_status find_lost(struct hc_probe *p, const struct hc_findings_of_shape *found,
                                int beside, int *k)
{
    int place[4];
    bool cuts = found->result.rounding == HC_FOUND_CUT;
    hc_structure_places(found, place);
    hc_probe_begin(p);
    for (int i = 150; i <= MOST; i++) {
        (void)hc_probe_sum(p);
        hc_probe_scaled(p, place[0], cuts ? -1 : 1, cuts ? -149 : -150);
        hc_probe_scaled(p, place[1], 1, -i);
        if (beside)
            hc_probe_term(p, place[2], 0, ldexp(1, beside));
    }
    enum hc_status status = hc_probe_run(p);
    *k = 150;
    while (status == HC_OK && *k <= MOST && hc_probe_value(p, *k - 150) == (cuts ? 0 : 0x1p-149))
        ++*k;
    return status;
}

static enum hc_status find_zero(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    int alone;
    int beside = 0;
    int fraction = found->products.fraction;
    found->zero_exponent = HC_ZERO_LOW;
    if (!is_wide(p))
        found->zero_unknown = "the format's products are too large to show it";
    else if (found->order != HC_SUM_PIECES)
        found->zero_unknown = "nothing is aligned at once";
    else if (fraction < 0 ||
             (found->result.rounding != HC_FOUND_CUT && found->result.rounding != HC_FOUND_NEAREST))
        found->zero_unknown = "the rounding is not known";
    else if (found->addend.fraction != fraction ||
             found->addend.rounding != found->products.rounding)
        found->zero_unknown = "C is aligned otherwise than products";
    else if (found->small_results != HC_SMALL_KEPT)
        found->zero_unknown = "results so small are not kept";
    if (found->zero_unknown)
        return HC_OK;
    enum hc_status status = find_lost(p, found, 0, &alone);
    if (status == HC_OK)
        status = find_lost(p, found, 60, &beside);
    found->zero_of_operand = beside != alone;
    if (alone < 149 + fraction)
        found->zero_exponent = fraction + 1 - alone;
    return status;
}

enum hc_status hc_find_features(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    enum hc_status status = find_small(p, found);
    if (status == HC_OK)
        status = find_specials(p, found);
    if (status == HC_OK)
        status = find_products(p, found);
    if (status == HC_OK)
        status = find_raised(p, found);
    return status == HC_OK ? find_zero(p, found) : status;
}
