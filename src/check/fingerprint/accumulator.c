/* The accumulator that explains what was found, for bounds (check/bound/sum.c). It may be coarser
   than what was found, never finer.

   One addition at a time: each errs by at most half of the last bit if it rounds to nearest, and
   by less than one if it cuts, floors or rounds to odd; the order does not matter for the bound.

   Pieces: next to the largest addend, of exponent E, each addend loses less than 2^(E - F), F
   being the fraction bits found, and the largest one is at least 2^E. With a result of p bits, the
   bound's 2^-e U, U = 2^(1 - p), is that 2^-F where e = F + 1 - p; the result's own error is U at
   most. A result in which more bits come through than were aligned is taken to have F + 1. Nothing
   that an exact piece adds up is lost, so that all extra bits are kept there. */
#include "check/bound/bound.h"
#include "check/fingerprint/fingerprint.h"

static bool cuts(const struct hc_found_grid *grid)
{
    return grid->rounding != HC_FOUND_NEAREST && grid->rounding != HC_FOUND_AWAY &&
           grid->rounding != HC_FOUND_EXACT;
}

static bool of_pieces(const struct hc_findings_of_shape *f, struct hc_accumulator *a)
{
    bool exact = f->order == HC_SUM_EXACT;
    int fraction = f->products.fraction;
    if (f->addend.fraction >= 0 && f->addend.fraction < fraction)
        fraction = f->addend.fraction;
    if ((!exact && fraction < 1) || (exact && f->result.fraction < 1))
        return false;
    int precision = f->result.fraction > 0 ? f->result.fraction + 1 : fraction + 1;
    if (!exact && precision > fraction + 1)
        precision = fraction + 1;
    *a = (struct hc_accumulator){.precision = precision,
                                 .block = f->piece,
                                 .extra_bits = exact ? 64 : fraction + 1 - precision,
                                 .truncates =
                                     cuts(&f->products) || cuts(&f->addend) || cuts(&f->result)};
    return true;
}

static bool of_shape(const struct hc_findings_of_shape *f, struct hc_accumulator *a)
{
    bool pieces = f->order == HC_SUM_PIECES || f->order == HC_SUM_EXACT;
    if (pieces && !of_pieces(f, a))
        return false;
    if (f->order == HC_SUM_UNKNOWN ||
        (!pieces && f->products.fraction < 1 && f->order != HC_SUM_WHOLE))
        return false;
    if (f->order == HC_SUM_WHOLE)
        *a = (struct hc_accumulator){.precision = 24, .block = 1};
    else if (!pieces)
        *a = (struct hc_accumulator){
            .precision = f->products.fraction + 1, .block = 1, .truncates = cuts(&f->products)};
    a->flushes = f->factors == HC_SMALL_FLUSHED || f->small_results == HC_SMALL_FLUSHED;
    return hc_accumulator_possible(a);
}

/* Whether the bound of one is at least that of the other, for sums of all lengths that bounds meet
   often. */
static bool covers(const struct hc_accumulator *a, const struct hc_accumulator *b)
{
    for (double n = 2; n <= 0x1p20; n *= 2)
        if (hc_bound_growth(a, n) < hc_bound_growth(b, n))
            return false;
    return true;
}

enum hc_found_against hc_fingerprint_against(const struct hc_accumulator *found,
                                             const struct hc_accumulator *stated)
{
    if (!covers(stated, found) || (found->flushes && !stated->flushes))
        return HC_FOUND_COARSER;
    return covers(found, stated) && found->flushes == stated->flushes ? HC_FOUND_ALIKE
                                                                      : HC_FOUND_FINER;
}

bool hc_fingerprint_accumulator(const struct hc_fingerprint *f, struct hc_accumulator *found)
{
    if (!of_shape(&f->main, found))
        return false;
    for (int i = 0; i < f->other_count; i++) {
        struct hc_accumulator other;
        if (f->other[i].same)
            continue;
        if (!of_shape(&f->other[i].found, &other))
            return false;
        bool flushes = found->flushes || other.flushes;
        if (!covers(found, &other) && !covers(&other, found))
            return false;
        if (!covers(found, &other))
            *found = other;
        found->flushes = flushes;
    }
    return true;
}
