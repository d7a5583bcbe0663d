/* The shortest decimal of a number of a format, or the number itself.

   A number whose own decimal has at most eight digits, as many as the real numbers beside it have
   at least, is written as it is: e5m2(0.1) is 0.09375, though 0.09 would be read back as it.

   A decimal stands for a number of a format if reading it, that is rounding it to nearest in this
   format, gives the number back. For one to seventeen digits in turn, the decimal of so many digits
   that is nearest to the number is read back; the first that comes back is taken. Seventeen digits
   always suffice, since every number of every format is one of fp64.

   A format without infinity and NaN makes its largest number of all that is larger, and 8 comes
   back as e2m3's 7.5; 2e38 comes back as e8m0's 2^127. A format without infinity takes no decimal
   beyond its largest number. Those with one keep the usual 3.4028235e38 of fp32, which is a little
   beyond.

   In rare places, at powers of two, a decimal with a digit less would come back that is not the
   nearest of its length. The longer one is printed there, which is right, too.

   A decimal is read in two steps, to fp64 and from there to the format. Two roundings differ from
   one only if the decimal lies within 2^-54 of the middle between two numbers of the format, but
   not on it. Then another decimal is printed than the rule says, which is still within half an ulp
   of the number and 2^-54 of that middle. */
#include "cli/calc/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_DIGITS = 17, SMALLEST_PLAIN = -4, LARGEST_PLAIN = 8, LARGEST_DISTANCE = 4 };

/* Rewrites d.ddde+xx: 0.00ddd or ddd.d if the exponent is at most `largest` and not very small,
   otherwise d.ddde-5. Zeros behind the last digit are left out. */
static void tidy(char text[HC_NUMBER_TEXT], const char *scientific, int largest)
{
    bool negative = *scientific == '-';
    char digits[HC_NUMBER_TEXT];
    int count = 0;
    const char *at = scientific + negative;
    for (; *at && *at != 'e'; at++)
        if (*at != '.' && count < HC_NUMBER_TEXT - 16)
            digits[count++] = *at;
    int exponent = *at == 'e' ? atoi(at + 1) : 0;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    char *to = text;
    if (negative)
        *to++ = '-';
    bool plain = exponent >= SMALLEST_PLAIN && exponent <= largest;
    int before = plain ? exponent + 1 : 1; /* digits before the point */
    if (before <= 0)
        to += sprintf(to, "0.%.*s", -before, "0000");
    for (int i = 0; i < count || i < before; i++) {
        if (i == before && before > 0)
            *to++ = '.';
        *to++ = (char)(i < count ? digits[i] : '0');
    }
    *to = '\0';
    if (!plain)
        (void)sprintf(to, "e%d", exponent);
}

static bool unusual(char text[HC_NUMBER_TEXT], double value)
{
    const char *name = isnan(value)   ? "nan"
                       : isinf(value) ? (value < 0 ? "-inf" : "inf")
                                      : (signbit(value) ? "-0" : "0");
    if (isfinite(value) && value != 0)
        return false;
    (void)snprintf(text, HC_NUMBER_TEXT, "%s", name);
    return true;
}

/* Writes the number itself if that has at most HC_LEAST_REAL_DIGITS digits. Then 40 more are zeros,
   and those of no other number of fp64 are: 53 bits and so few digits differ sooner. */
static bool in_full(char scientific[HC_NUMBER_TEXT], double value)
{
    char more[2 * HC_NUMBER_TEXT];
    (void)snprintf(scientific, HC_NUMBER_TEXT, "%.*e", HC_LEAST_REAL_DIGITS - 1, value);
    (void)snprintf(more, sizeof more, "%.*e", HC_LEAST_REAL_DIGITS - 1 + 40, value);
    size_t shown = strcspn(scientific, "e");
    return strncmp(more, scientific, shown) == 0 && more[shown + strspn(more + shown, "0")] == 'e';
}

void hc_number_text(char text[HC_NUMBER_TEXT], enum hc_format format, double value, int digits)
{
    char scientific[HC_NUMBER_TEXT];
    int from = digits ? digits : 1;
    int to = digits ? digits : EXACT_DIGITS;
    if (unusual(text, value))
        return;
    if (!digits && value == trunc(value) && fabs(value) < 1e9) {
        (void)snprintf(text, HC_NUMBER_TEXT, "%.0f", value);
        return;
    }
    if (!digits && in_full(scientific, value)) {
        tidy(text, scientific, LARGEST_PLAIN);
        return;
    }
    if (format == HC_FORMAT_COUNT)
        format = HC_FP64;
    bool has_inf = hc_formats[format].special == HC_SPECIAL_IEEE;
    double most = has_inf ? (double)INFINITY : hc_format_max(format);
    for (int n = from; n <= to; n++) {
        (void)snprintf(scientific, sizeof scientific, "%.*e", n - 1, value);
        double decimal = strtod(scientific, NULL);
        if (hc_round(format, decimal) == value && fabs(decimal) <= most)
            break;
    }
    tidy(text, scientific, LARGEST_PLAIN);
}

/* long double is x86's, with 64 bits, so that 19 digits are right. */
void hc_real_text(char text[HC_NUMBER_TEXT], const struct hc_exact *real, int digits)
{
    char scientific[HC_NUMBER_TEXT];
    if (unusual(text, real->hi))
        return;
    (void)snprintf(scientific, sizeof scientific, "%.*Le", digits - 1,
                   (long double)real->hi + (long double)real->lo);
    tidy(text, scientific, LARGEST_PLAIN);
}

void hc_bits_text(char text[HC_NUMBER_TEXT], enum hc_format format, double value)
{
    if (format == HC_FORMAT_COUNT)
        text[0] = '\0';
    else
        (void)snprintf(text, HC_NUMBER_TEXT, "0x%0*" PRIx64, (hc_formats[format].bits + 3) / 4,
                       hc_encode(format, value, 0, HC_NEAREST));
}

void hc_distance_text(char text[HC_NUMBER_TEXT], double distance)
{
    char scientific[HC_NUMBER_TEXT];
    if (unusual(text, distance))
        return;
    if (distance == trunc(distance) && distance < 1e5) {
        (void)snprintf(text, HC_NUMBER_TEXT, "%.0f", distance);
        return;
    }
    (void)snprintf(scientific, sizeof scientific, "%.1e", distance);
    if (strtod(scientific, NULL) < distance) {
        double step = pow(10, floor(log10(distance)) - 1);
        (void)snprintf(scientific, sizeof scientific, "%.1e", strtod(scientific, NULL) + step);
    }
    tidy(text, scientific, LARGEST_DISTANCE);
}
