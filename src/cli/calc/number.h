/* Numbers for people: as many digits as tell a number from its neighbours, and no more. */
#ifndef HC_CLI_CALC_NUMBER_H
#define HC_CLI_CALC_NUMBER_H

#include "num/format.h"
#include "reference.h"

enum { HC_NUMBER_TEXT = 48, HC_LEAST_REAL_DIGITS = 8, HC_MAX_DIGITS = 20 };

/* The number itself if its decimal has at most HC_LEAST_REAL_DIGITS significant digits, otherwise
   the fewest that are read back as this number of the format; or `digits` of them if that is not 0.
   HC_FORMAT_COUNT stands for a number without a format, such as a count. Whole numbers below 10^9
   are written out. */
void hc_number_text(char text[HC_NUMBER_TEXT], enum hc_format format, double value, int digits);

/* A real number to this many significant digits, without zeros at the end. */
void hc_real_text(char text[HC_NUMBER_TEXT], const struct hc_exact *real, int digits);

/* The bits of a number: "0x3c00". */
void hc_bits_text(char text[HC_NUMBER_TEXT], enum hc_format format, double value);

/* A distance or a bound: a whole number below 10^5, or two significant digits, rounded up. */
void hc_distance_text(char text[HC_NUMBER_TEXT], double distance);

#endif
