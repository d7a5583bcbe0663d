/* Operands on which the rules of matrix units differ from each other. Most bits of random numbers
   are lost to a unit alike, whatever it does with the rest; these are directed at the places where
   it cuts, rounds, flushes, and looks for zeros and infinities. */
#ifndef HC_UNIT_DIRECTED_H
#define HC_UNIT_DIRECTED_H

#include "unit/unit.h"

enum hc_directed_kind {
    HC_DIRECTED_BITS,      /* any bits */
    HC_DIRECTED_NEAR,      /* numbers of about one size, and some of any size */
    HC_DIRECTED_CANCEL,    /* products and C cancel, and small ones remain */
    HC_DIRECTED_C_LEADS,   /* C is larger than the products, or they are */
    HC_DIRECTED_SUBNORMAL, /* subnormal operands and C */
    HC_DIRECTED_TIES,      /* terms about half a unit of a place where something is cut */
    HC_DIRECTED_ZEROS,     /* zeros of both signs beside numbers of any size */
    HC_DIRECTED_TINY,      /* results at the end of fp32, beside zeros */
    HC_DIRECTED_SPECIAL,   /* infinities and NaNs of any payload */
    HC_DIRECTED_OVERFLOW,  /* sums about the largest number */
    HC_DIRECTED_KINDS
};

enum { HC_DIRECTED_TERMS = 192 };

struct hc_directed {
    enum hc_directed_kind kind;
    int64_t n; /* up to three instructions, the last one not always full */
    uint32_t a[HC_DIRECTED_TERMS], b[HC_DIRECTED_TERMS];
    uint32_t scale_a[HC_DIRECTED_TERMS], scale_b[HC_DIRECTED_TERMS];
    uint32_t c;
};

/* Vector number `i` of the unit. Kinds take turns. */
void hc_directed_make(struct hc_directed *v, const struct hc_unit *unit, uint64_t seed, uint64_t i);

#endif
