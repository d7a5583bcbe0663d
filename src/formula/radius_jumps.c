/* The error bounds of functions that jump or choose: floor, min and max of two, select, and the
   comparisons. Where a jump may lie between the computed number and the real one, the bound is the
   height of the jump, however small the error is. formula/radius.c has the method. */
#include "formula/radius_rules.h"

static const double unknown = (double)INFINITY;

/* x and x' lie in [mid - r, mid + r], and floor does not decrease. */
double hc_radius_floor(const struct hc_disc *d, double value)
{
    (void)value;
    double r = hc_add_up(hc_add_up(d->rad, fabs(d->mid) * 0x1p-51), 0x1p-1074);
    return floor(hc_up(d->mid + r)) - floor(nextafter(d->mid - r, -unknown));
}

/* Let x' <= y', so that min(x', y') = x'. min(x, y) - x' <= x - x' <= ex. And x' - min(x, y) is
   x' - x <= ex, or x' - y <= y' - y <= ey. By symmetry this holds for max. Equal infinities are at
   no distance. */
double hc_radius_larger(const struct hc_disc *d)
{
    return fmax(d[0].rad, d[1].rad);
}

/* If c' is 0 only where c is, both take the same branch. Otherwise one may take a and the other b':
   |a - b'| <= |a - b| + eb, and the other way round. */
double hc_radius_select(const struct hc_disc *d)
{
    if (d[0].rad == 0 || (!hc_disc_is_unknown(&d[0]) && hc_disc_distance(&d[0]) > 0))
        return d[d[0].mid != 0 ? 1 : 2].rad;
    if (isinf(d[1].mid) && d[1].mid == d[2].mid)
        return fmax(d[1].rad, d[2].rad);
    double apart = hc_up(fabs(d[1].mid - d[2].mid));
    double room = hc_mul_up(fmax(hc_disc_most(&d[1]), hc_disc_most(&d[2])), 0x1p-50);
    double bound = hc_add_up(hc_add_up(apart, room), fmax(d[1].rad, d[2].rad));
    return isnan(bound) ? unknown : bound;
}

/* A comparison depends on the order of x and y alone, which is that of x' and y' if no number lies
   in both discs. NaN is in no order with anything. Whether a number is finite is the same for all
   of a disc about which anything is known. */
double hc_radius_truth(enum hc_function f, const struct hc_disc *d)
{
    if (hc_functions[f].most == 1)
        return hc_disc_is_unknown(d) ? 1 : 0;
    for (int i = 0; i < 2; i++)
        if (isnan(d[i].mid) && d[i].rad == 0)
            return 0;
    if (hc_disc_is_unknown(&d[0]) || hc_disc_is_unknown(&d[1]))
        return 1;
    /* An infinity is a point, and it is beyond every disc around a number. */
    bool infinite = isinf(d[0].mid) || isinf(d[1].mid);
    double room = infinite ? 0 : fabs(d[0].mid) * 0x1p-50 + fabs(d[1].mid) * 0x1p-50;
    double reach = hc_add_up(hc_add_up(d[0].rad, d[1].rad), hc_add_up(room, 0x1p-1073));
    return fabs(d[0].mid - d[1].mid) > reach ? 0 : 1;
}
