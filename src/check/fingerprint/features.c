#include "check/fingerprint/features.h"

#include <math.h>

#include "check/fingerprint/structure.h"

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
