/* The error bounds of functions that count, and of the least and the largest of a list. */
#include <assert.h>
#include <stdlib.h>

#include "formula/radius_rules.h"

/* A disc as an interval, with room for a mid that was rounded to fp64. */
struct interval {
    double from;
    double to;
    bool wrong; /* its number may differ from the computed one */
};

static int by_from(const void *a, const void *b)
{
    const struct interval *x = a;
    const struct interval *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* In the order of their left ends, discs are put into groups: a group ends before the first disc
   that begins beyond the least right end in it. So the discs with the groups' least right ends are
   pairwise disjoint, and no number without error of another group lies in one of them. Let z be
   the number of different numbers without error, p that of discs with one, and g that of groups
   that have only such. At least z + g numbers are different, and at most z + p, the computed ones
   as well as the real ones. The two counts differ by at most p - g. Where nothing is known of some
   disc, both lie between 1 and n. */
static double distinct(const struct hc_disc *d, long n)
{
    long wrong = 0;
    long intervals = 0;
    for (long i = 0; i < n; i++) {
        if (hc_disc_is_unknown(&d[i]))
            return (double)(n - 1);
        wrong += d[i].rad > 0;
    }
    struct interval *interval = wrong ? malloc((size_t)n * sizeof *interval) : NULL;
    if (!interval)
        return wrong ? (double)(n - 1) : 0;
    for (long i = 0; i < n; i++) {
        double r = hc_add_up(d[i].rad, fabs(d[i].mid) * 0x1p-50 + 0x1p-1073);
        if (isfinite(d[i].mid))
            interval[intervals++] = (struct interval){nextafter(d[i].mid - r, -(double)INFINITY),
                                                      hc_up(d[i].mid + r), d[i].rad > 0};
    }
    qsort(interval, (size_t)intervals, sizeof *interval, by_from);
    double bound = (double)wrong;
    for (long i = 0; i < intervals;) {
        bool all_wrong = true;
        double to = interval[i].to;
        for (; i < intervals && interval[i].from <= to; i++) {
            all_wrong = all_wrong && interval[i].wrong;
            to = fmin(to, interval[i].to);
        }
        bound -= all_wrong;
    }
    free(interval);
    return bound;
}

/* An element counts if it is not 0. The counts of x and x' differ only if one of them may be 0, or
   nothing is known. */
static double count(const struct hc_disc *d, long n)
{
    long doubtful = 0;
    for (long i = 0; i < n; i++)
        doubtful += d[i].rad > 0 && !(isfinite(d[i].mid) && hc_disc_least(&d[i]) > d[i].rad);
    return (double)doubtful;
}

/* By the rule of min and max of two, n - 1 times. */
static double largest(const struct hc_disc *d, long n)
{
    double rad = 0;
    for (long i = 0; i < n; i++)
        rad = fmax(rad, d[i].rad);
    return rad;
}

double hc_radius_list(enum hc_function f, const struct hc_disc *element, long n)
{
    if (f == HC_FN_len)
        return 0;
    if (f == HC_FN_distinct)
        return distinct(element, n);
    if (f == HC_FN_count)
        return count(element, n);
    assert(f == HC_FN_min || f == HC_FN_max);
    return largest(element, n);
}
