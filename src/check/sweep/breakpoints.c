#include "check/sweep/breakpoints.h"

#include <assert.h>

#include "num/bits.h"

static uint32_t pattern(double value)
{
    float narrow = (float)value;
    assert((double)narrow == value);
    return hc_fp32_bits(narrow);
}

/* The first pattern with code c. The even code wins a tie. For infinity the value that would follow
   the largest finite one, if the exponent were not limited, stands in when the middle is wanted. */
static uint32_t breakpoint(enum hc_format to, enum hc_direction direction, int negative, uint32_t c,
                           uint32_t infinity)
{
    double below = hc_decode(to, c - 1);
    double above = c < infinity ? hc_decode(to, c) : 2 * below - hc_decode(to, c - 2);
    if (direction == HC_NEAREST)
        return pattern((below + above) / 2) + (c & 1);
    if (direction == (negative ? HC_DOWNWARD : HC_UPWARD))
        return pattern(below) + 1;
    return c < infinity ? pattern(above) : 0x7f800000u;
}

void hc_breakpoints_build(struct hc_breakpoints *breakpoints, enum hc_format to,
                          enum hc_direction direction, int negative)
{
    uint32_t infinity = to == HC_FP16 ? 0x7c00 : 0x7f80;
    breakpoints->infinity = (uint16_t)infinity;
    breakpoints->first[0] = 0;
    for (uint32_t c = 1; c <= infinity; c++)
        breakpoints->first[c] = breakpoint(to, direction, negative, c, infinity);
    breakpoints->first[infinity + 1] = 0x7f800001u;
}

uint16_t hc_breakpoints_code(const struct hc_breakpoints *breakpoints, uint32_t magnitude)
{
    uint32_t low = 0;
    uint32_t high = breakpoints->infinity + 2u;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (breakpoints->first[middle] <= magnitude)
            low = middle;
        else
            high = middle;
    }
    return (uint16_t)low;
}
