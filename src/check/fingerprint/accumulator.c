/* The accumulator that explains what was found, for bounds (check/bound/sum.c). It may be coarser
   than what was found, never finer.

   One addition at a time: each errs by at most half of the last bit if it rounds to nearest, and by
   less than one if it cuts, floors or rounds to odd, with many extra bits since nothing is aligned;
   the order does not matter for the bound. A piece that is added exactly has one rounding in place
   of several, which is no more than those.

   Pieces: next to the largest addend, of exponent E, each addend loses less than 2^(E - F), F
   being the fraction bits found, and the largest one is at least 2^E, unless it has a subnormal
   factor that was raised to its format's smallest normal exponent. With a result of p bits, the
   bound's 2^-e U, U = 2^(1 - p), is that 2^-F where e = F + 1 - p; the result's own error is U at
   most. A result in which more bits come through than were aligned is taken to have F + 1. */
#include "check/bound/bound.h"
#include "check/fingerprint/fingerprint.h"

static bool cuts(const struct hc_found_grid *grid)
{
    return grid->rounding != HC_FOUND_NEAREST && grid->rounding != HC_FOUND_AWAY &&
           grid->rounding != HC_FOUND_EXACT;
}

static bool of_pieces(const struct hc_findings_of_shape *f, struct hc_accumulator *a)
{
    int fraction = f->products.fraction;
    if (f->addend.fraction >= 0 && f->addend.fraction < fraction)
        fraction = f->addend.fraction;
    if (fraction < 1)
        return false;
    int precision = f->result.fraction > 0 ? f->result.fraction + 1 : fraction + 1;
    if (precision > fraction + 1)
        precision = fraction + 1;
    *a = (struct hc_accumulator){.precision = precision,
                                 .block = f->piece,
                                 .extra_bits = fraction + 1 - precision,
                                 .truncates =
                                     cuts(&f->products) || cuts(&f->addend) || cuts(&f->result),
                                 .aligns_subnormals = f->raised};
    return true;
}

static bool of_additions(const struct hc_found_grid *g, struct hc_accumulator *a)
{
    *a = (struct hc_accumulator){.precision = g->fraction + 1,
                                 .block = 1,
                                 .extra_bits = cuts(g) ? 24 : 0,
                                 .truncates = cuts(g)};
    return g->fraction > 0;
}

static bool of_shape(const struct hc_findings_of_shape *f, struct hc_accumulator *a)
{
    bool known = false;
    if (f->order == HC_SUM_PIECES)
        known = of_pieces(f, a);
    else if (f->order == HC_SUM_EXACT)
        known = of_additions(&f->result, a);
    else if (f->order == HC_SUM_WHOLE)
        known = of_additions(&(struct hc_found_grid){23, HC_FOUND_NEAREST}, a);
    else if (f->order != HC_SUM_UNKNOWN)
        known = of_additions(&f->products, a);
    a->flushes = f->factors == HC_SMALL_FLUSHED || f->small_results == HC_SMALL_FLUSHED;
    return known && hc_accumulator_possible(a);
}

/* What n additions may stray by, where a piece has no more than n products that are not 0: a zero
   loses nothing. */
static double strays(struct hc_accumulator a, int n)
{
    a.block = a.block > n ? n : a.block;
    return hc_bound_growth(&a, n);
}

/* Whether bounds that assume `a` hold for `b`, for sums of all lengths that are met often. */
static bool covers(const struct hc_accumulator *a, const struct hc_accumulator *b)
{
    for (int n = 2; n <= 1 << 20; n = n < 64 ? n + 1 : 2 * n)
        if (hc_bound_growth(a, n) < strays(*b, n))
            return false;
    return true;
}

bool hc_fingerprint_breaks(const struct hc_findings_of_shape *found,
                           const struct hc_accumulator *stated)
{
    struct hc_accumulator least;
    return of_additions(&found->products, &least) && hc_accumulator_possible(&least) &&
           hc_bound_growth(stated, 2) < strays(least, 2);
}

enum hc_found_against hc_fingerprint_against(const struct hc_accumulator *found,
                                             const struct hc_accumulator *stated)
{
    bool unsaid = (found->flushes && !stated->flushes) ||
                  (found->aligns_subnormals && !stated->aligns_subnormals);
    bool same =
        found->flushes == stated->flushes && found->aligns_subnormals == stated->aligns_subnormals;
    if (!covers(stated, found) || unsaid)
        return HC_FOUND_COARSER;
    return covers(found, stated) && same ? HC_FOUND_ALIKE : HC_FOUND_FINER;
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
        bool aligns = found->aligns_subnormals || other.aligns_subnormals;
        if (!covers(found, &other) && !covers(&other, found))
            return false;
        if (!covers(found, &other))
            *found = other;
        found->flushes = flushes;
        found->aligns_subnormals = aligns;
    }
    return true;
}
