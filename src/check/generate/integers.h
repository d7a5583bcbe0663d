/* Calls on small integers, whose results integer arithmetic knows.

   Cases at the borders of blocks need calls of many sizes, with every element checked; MPFR is too
   slow for that, and the backend `exact` is a subject itself. The idea: choose inputs such that
   every number on the way is an integer (or a small multiple of a power of two) that the
   accumulator holds. Then no product and no partial sum is rounded, whatever the order, and the
   result is what plain integer arithmetic says, for the price of a copy.

   Each family has its own way to stay among integers: sums are short or their terms small; variance
   plus eps is 4, so that its root is 2; one logit outweighs the others, so that softmax is 0 or 1;
   the moments of Adam cancel the corrections. It is stated above each function that this is so.
   What this oracle cannot see is a wrong rounding, since nothing is rounded; it finds wrong
   indices, missing and doubled terms, and mixed-up operands. */
#ifndef HC_CHECK_GENERATE_INTEGERS_H
#define HC_CHECK_GENERATE_INTEGERS_H

#include "backend.h"
#include "check/generate/op_space.h"

struct hc_integers {
    struct hc_call call; /* its inputs have memory */
    int precision;       /* of the backend's sums */
    uint64_t seed;
    int number;                /* choices that have no extent take turns by it */
    int32_t *value[HC_MAX_IN]; /* as many as the input has elements */
    double *want[HC_MAX_OUT];  /* the exact results, as many as the output has elements */
};

/* Parameters that keep integers integers, the number-th choice. */
struct hc_variant hc_integers_variant(enum hc_op op, int number);

/* Whether the op's family gives such inputs. */
bool hc_integers_known(enum hc_op op);

/* Whether the contract leaves only one result for them. It does not where a mean may be multiplied
   by a rounded 1 / M, or an exponential is off by an ulp; such results have the contract's
   bound. */
bool hc_integers_settled(enum hc_op op);

/* The same in any order, for one output: sums of integers are exact, but a mean may be multiplied
   by 1 / n, which is rounded, and an optimizer's coefficients are no integers. */
bool hc_integers_any_order(const struct hc_call *call, int out);

/* Fills inputs and results. False if the sums are so long that the accumulator cannot hold them. */
bool hc_integers_fill(struct hc_integers *z);

/* The rest is shared by the families. Element i of a stream: an integer that is not 0, of at most
   `most` in magnitude. */
int32_t hc_integers_draw(const struct hc_integers *z, int stream, int64_t i, int32_t most);

/* Writes the slot's values, each times `unit`, into its tensor. Values lie in -256 .. 255. */
void hc_integers_set(const struct hc_integers *z, int slot, double unit);

/* Integers up to this are numbers of the accumulator: 2^precision, and no more than what a matrix
   unit keeps. */
int64_t hc_integers_limit(const struct hc_integers *z);

/* The largest magnitude of two factors of which `terms` products may be added in the accumulator,
   or 0 if there is none. */
int32_t hc_integers_factor(const struct hc_integers *z, int64_t terms);

/* Draws a slot's integers, of at most `most`, and writes them times `unit`; nothing where it is
   absent. */
void hc_integers_fill_slot(const struct hc_integers *z, int slot, int32_t most, double unit);

/* The filler of ops that work element by element, by their family's `element`. */
bool hc_integers_vector(struct hc_integers *z);

#endif
