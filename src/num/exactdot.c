#include "num/exactdot.h"

#include <assert.h>
#include <math.h>

void hc_exact_dot_special(struct hc_exact_dot *sum, uint16_t x, uint16_t y)
{
    unsigned magnitude_x = x & 0x7fffu;
    unsigned magnitude_y = y & 0x7fffu;
    if (magnitude_x > 0x7c00 || magnitude_y > 0x7c00 || magnitude_x == 0 || magnitude_y == 0)
        sum->nan = 1;
    else
        sum->infinite[(x ^ y) >> 15] = 1;
}

static unsigned __int128 whole(const uint64_t limb[4])
{
    unsigned __int128 sum = 0;
    for (int k = 3; k >= 0; k--)
        sum = (sum << 16) + limb[k];
    return sum;
}

/* 2^27 terms below 2^80 make a sum below 2^107, whose distance from the nearest double is at most
   2^53. Both are doubles, and conversions of 128-bit integers round to nearest. */
void hc_exact_dot_end(const struct hc_exact_dot *sum, double *hi, double *lo, double *magnitude)
{
    assert(sum->terms <= HC_EXACT_DOT_TERMS);
    unsigned __int128 positive = whole(sum->limb[0]);
    unsigned __int128 negative = whole(sum->limb[1]);
    *magnitude = (double)(positive + negative) * 0x1p-48;
    *lo = 0;
    if (sum->nan || sum->infinite[0] || sum->infinite[1]) {
        int undefined = sum->nan || (sum->infinite[0] && sum->infinite[1]);
        *hi = undefined ? (double)NAN : sum->infinite[1] ? -(double)INFINITY : (double)INFINITY;
        return;
    }
    int minus = negative > positive;
    unsigned __int128 size = minus ? negative - positive : positive - negative;
    double nearest = (double)size;
    unsigned __int128 back = (unsigned __int128)nearest;
    double beside = back > size ? -(double)(back - size) : (double)(size - back);
    *hi = (minus ? -nearest : nearest) * 0x1p-48;
    *lo = (minus ? 0 - beside : beside) * 0x1p-48;
}
