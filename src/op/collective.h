/* Collectives as operations: the average over ranks, with its order and its roundings.

   all_reduce: out[i] = the sum over ranks r of x[r][i] / before, divided by `after`.
     x     float [R, n]: row r is what rank r contributes; 1 <= R <= HC_MAX_RANKS
     out   float [n], of x's format: what every rank gets
   Each contribution is rounded into `sum` (where that is another format than x's), divided by
   `before` and rounded into `sum` again (where `before` is not 1). Partial sums are rounded into
   `sum`, in the algorithm's order; the last one is divided by `after`, rounded into `sum` (where
   `after` is not 1), and rounded into out's format. The divisors are taken as fp32. A quotient is
   rounded into fp32 first, as PyTorch's are in every format. With `multiplies`, dividing by d is a
   product with fp32(1 / d), which is rounded in the same way.

   The orders, which are part of the contract, so that all backends give the same bits:
     TREE     neighbours in pairs, (0 + 1), (2 + 3), ..., then pairs of these; what has no partner
              moves up as it is. It is the same expression for any number of ranks that share the
              same leaves among them, and the same for every element.
     RING     n is cut into R chunks, the first n mod R of which have one element more. The chunk c
              begins at rank c + 1 and goes round: ((x[c+1] + x[c+2]) + ...) + x[c], modulo R. What
              is added to what depends on where in the vector an element lies.
     HALVING  recursive halving (Rabenseifner): for R a power of two, rank r with rank r xor R / 2,
              then R / 4, ...: the same expression for every element, but other pairs than TREE's.
              For other R, of which 2^k is the largest power of two within, the last R - 2^k ranks
              add theirs to the first ones' before that. */
#ifndef HC_OP_COLLECTIVE_H
#define HC_OP_COLLECTIVE_H

#include <stdbool.h>

#include "num/format.h"

enum { HC_ALL_REDUCE_X };
enum { HC_ALL_REDUCE_OUT };

enum { HC_MAX_RANKS = 65536 };

enum hc_collective {
    HC_COLLECTIVE_TREE,
    HC_COLLECTIVE_RING,
    HC_COLLECTIVE_HALVING,
    HC_COLLECTIVE_LIBRARY, /* of comms only: MPI's or NCCL's own order */
    HC_COLLECTIVE_COUNT
};

extern const char *const hc_collective_names[]; /* ends with NULL */

struct hc_all_reduce {
    enum hc_collective algorithm;
    enum hc_format sum; /* fp32, bf16 or fp16; fp64 in a call in fp64 */
    double before;      /* positive and finite in fp32, as is 1 / before where it multiplies */
    double after;       /* the same */
    bool multiplies;
};

#endif
