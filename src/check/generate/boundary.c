#include "check/generate/boundary.h"

#include <assert.h>

void hc_boundary_codes(enum hc_format format, uint16_t codes[HC_BOUNDARY_CODES])
{
    int binade = 1 << (hc_formats[format].precision - 1);
    int one = 1 - hc_formats[format].emin;
    int last = 2 * one;
    const int subnormals[] = {0, 1, 2, 3, binade / 2, binade - 1};
    const int exponents[] = {1, 2, one - 1, one, one + 1, last - 1, last};
    const int fractions[] = {0, 1, binade / 2, binade - 1};
    int n = 0;
    for (int negative = 0; negative < 2; negative++) {
        int sign = negative << 15;
        for (int i = 0; i < 6; i++)
            codes[n++] = (uint16_t)(sign | subnormals[i]);
        for (int e = 0; e < 7; e++)
            for (int i = 0; i < 4; i++)
                codes[n++] = (uint16_t)(sign | (exponents[e] * binade + fractions[i]));
        codes[n++] = (uint16_t)(sign | (last + 1) * binade);
        codes[n++] = (uint16_t)(sign | ((last + 1) * binade + binade / 2));
    }
    assert(n == HC_BOUNDARY_CODES);
}
