/* Exact numbers for the definitions of matrix units. A finite number is an integer that counts
   2^-HC_NUMBER_PLACES. Every product and every sum of operands is such a number, and so is
   everything that a unit cuts: no operation below but round_to and cut loses anything. */
#ifndef HC_REFERENCE_UNIT_NUMBER_H
#define HC_REFERENCE_UNIT_NUMBER_H

#include <gmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "unit/unit.h"

/* The least product is 2^-298, of two subnormals of fp32; with scales 2^-286. A unit looks at most
   35 places below an exponent, and an exponent is at least that of the least product. */
enum { HC_NUMBER_PLACES = 420 };

enum hc_number_kind { HC_NUMBER_FINITE, HC_NUMBER_INFINITE, HC_NUMBER_NAN };

struct hc_number {
    enum hc_number_kind kind;
    bool negative; /* also of a zero and of an infinity */
    int exponent;  /* of the operand's leading place, which in a subnormal is 0; of a product the
                      sum of its factors' */
    uint32_t nan;  /* its bits as fp32 */
    mpz_t count;
};

/* Makes them 0; frees them. */
void hc_numbers_begin(struct hc_number *x, int n);
void hc_numbers_end(struct hc_number *x, int n);

void hc_number_set(struct hc_number *x, const struct hc_number *from);
void hc_number_set_zero(struct hc_number *x, bool negative);
void hc_number_set_one(struct hc_number *x);

/* The operand with these bits. */
void hc_number_read(struct hc_number *x, enum hc_operand operand, uint32_t bits);

bool hc_number_is_zero(const struct hc_number *x);

/* The exponent of a finite number's leading bit. */
int hc_number_leading(const struct hc_number *x);

/* Whether |x| < 2^exponent. */
bool hc_number_below(const struct hc_number *x, int exponent);

/* x = a b and x = a + b as IEEE 754 has them for infinities, NaN and the signs of zeros: the first
   NaN stays, and NaN of numbers is `made`. x may be a or b. */
void hc_number_multiply(struct hc_number *x, const struct hc_number *a, const struct hc_number *b,
                        uint32_t made);
void hc_number_add(struct hc_number *x, const struct hc_number *a, const struct hc_number *b,
                   uint32_t made);

/* Makes x a multiple of 2^place. */
void hc_number_cut(struct hc_number *x, int place, enum hc_unit_rounding how);

/* Rounds x to `fraction` bits after its leading one, or to the places that a subnormal has where
   the least exponent of a normal number is `least`. */
void hc_number_round(struct hc_number *x, int fraction, int least, enum hc_unit_rounding how);

/* The bits of x as fp32 or fp16. It has them already: what is too large is infinite. */
uint32_t hc_number_write(const struct hc_number *x, enum hc_operand operand);

#endif
