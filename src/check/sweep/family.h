/* The expected side of an exhaustive sweep over pairs: the results of one operation for all x of
   one fraction, each with all 65,536 y.

   Most results need not be computed again for every x. (2 x) y = x (2 y) and (2 x) / (2 y) = x / y
   exactly: a product's code follows from the two fractions and the sum of the exponents, a
   quotient's from their difference. 2 x + 2 y rounds to twice what x + y rounds to, as long as both
   are normal and finite, which is the code one binade further on. So each family computes the codes
   of every such sum or difference once, and a row, which is one x with all y, is a list of runs:
   stretches of y whose codes stand in one of those tables, moved by a constant. */
#ifndef HC_CHECK_SWEEP_FAMILY_H
#define HC_CHECK_SWEEP_FAMILY_H

#include <stdbool.h>

#include "check/sweep/pairs.h"

/* The y from `from` to `end` - 1. Their code is base[y - from] + shift, or shift without a base. */
struct hc_family_run {
    uint32_t from;
    uint32_t end;
    const uint16_t *base;
    uint16_t shift;
};

/* The most runs of a row: bf16 has 255 binades of each sign. */
enum { HC_FAMILY_RUNS = 2 * (255 + 8) };

/* Sums whose exponents are so far apart are x or y (pairs.c). A table has codes for the others. */
enum { HC_FAMILY_MAX_APART = 13, HC_FAMILY_SUMS = 2 * HC_FAMILY_MAX_APART - 1 };

/* The sums of a fraction with a binade of y of one sign, at one distance of the exponents. */
struct hc_family_sums {
    uint16_t code[1024];
    uint32_t exponent; /* of x */
    uint32_t least;    /* of the codes' magnitudes but 0, and the largest of them */
    uint32_t most;
    uint32_t zero; /* where the code is 0; as many as a binade has: nowhere */
};

struct hc_family {
    struct hc_pairs pairs; /* the definition; its want[] holds what a row defines for itself */
    uint32_t exponents;    /* the code of infinity in binades; normal numbers have 1 .. that - 1 */
    uint32_t apart;
    uint16_t y[65536];         /* all codes */
    uint16_t moved[2 * 32768]; /* products or quotients by the exponents' sum or difference */
    struct hc_family_sums sums[2][HC_FAMILY_SUMS]; /* by the sign of y */
    uint16_t special[2][1024];                     /* for infinite and NaN y */
    struct hc_family_run run[HC_FAMILY_RUNS];
    int runs;
};

void hc_family_init(struct hc_family *family, enum hc_op op, enum hc_format format);

/* Begins with all x that have the fraction of x, of both signs. */
void hc_family_begin(struct hc_family *family, uint16_t x);

/* Sets the runs for x, which is of the family. */
void hc_family_at(struct hc_family *family, uint16_t x);

/* The code for that y. */
uint16_t hc_family_want(const struct hc_family *family, uint16_t y);

/* Whether any of the results for y = from .. from + n - 1 has another code, NaN being NaN. */
bool hc_family_differs(const struct hc_family *family, uint32_t from, uint32_t n,
                       const uint16_t *got);

#endif
