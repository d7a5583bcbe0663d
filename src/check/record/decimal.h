/* Errors and bounds in few decimal digits, rounded up: what is read again is never below what was
   written, so that neither becomes better by being written down. */
#ifndef HC_CHECK_RECORD_DECIMAL_H
#define HC_CHECK_RECORD_DECIMAL_H

enum { HC_DECIMAL_TEXT = 32, HC_MAX_DIGITS = 17 };

/* Writes the smallest number of `digits` significant decimal digits that is not below x >= 0, as
   short as it goes: "0", "5e-7", "1234", "inf", "nan". Returns it as strtod reads it. */
double hc_decimal_up(double x, int digits, char text[HC_DECIMAL_TEXT]);

/* The number alone. With 0 digits x itself. */
double hc_round_up(double x, int digits);

#endif
