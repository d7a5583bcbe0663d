#include "check/record/decimal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The text of mantissa 10^exponent, without zeros at the mantissa's end. */
static double write_decimal(unsigned long long mantissa, int exponent, char text[HC_DECIMAL_TEXT])
{
    while (mantissa && mantissa % 10 == 0) {
        mantissa /= 10;
        exponent++;
    }
    if (exponent >= 0 && exponent <= 3) {
        for (; exponent > 0; exponent--)
            mantissa *= 10;
        (void)snprintf(text, HC_DECIMAL_TEXT, "%llu", mantissa);
    } else
        (void)snprintf(text, HC_DECIMAL_TEXT, "%llue%d", mantissa, exponent);
    return strtod(text, NULL);
}

/* printf rounds to nearest, correctly: its mantissa is the wanted one, or the one before it. */
double hc_decimal_up(double x, int digits, char text[HC_DECIMAL_TEXT])
{
    char scientific[HC_DECIMAL_TEXT];
    assert(digits > 0 && digits <= HC_MAX_DIGITS && !(x < 0));
    if (x == 0 || !isfinite(x)) {
        (void)snprintf(text, HC_DECIMAL_TEXT, "%s", x == 0 ? "0" : isnan(x) ? "nan" : "inf");
        return fabs(x);
    }
    (void)snprintf(scientific, sizeof scientific, "%.*e", digits - 1, x);
    unsigned long long mantissa = 0;
    const char *c = scientific;
    for (; *c != 'e'; c++)
        if (*c >= '0' && *c <= '9')
            mantissa = 10 * mantissa + (unsigned long long)(*c - '0');
    int exponent = atoi(c + 1) - (digits - 1);
    double value = write_decimal(mantissa, exponent, text);
    return value >= x ? value : write_decimal(mantissa + 1, exponent, text);
}

double hc_round_up(double x, int digits)
{
    char text[HC_DECIMAL_TEXT];
    return digits > 0 ? hc_decimal_up(x, digits, text) : x;
}
