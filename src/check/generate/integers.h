/* Calls on small integers, whose results integer arithmetic knows: every number on the way is one
   that the accumulator holds, so that neither the order of a sum nor the rounding of a product
   changes anything, and all elements can be compared for the price of a copy. */
#ifndef HC_CHECK_GENERATE_INTEGERS_H
#define HC_CHECK_GENERATE_INTEGERS_H

#include "backend.h"
#include "check/generate/op_space.h"

struct hc_integers {
    struct hc_call call;               /* its inputs have memory */
    const struct hc_accumulator *sums; /* of the backend */
    uint64_t seed;
    int number;                /* choices that have no extent take turns by it */
    int32_t *value[HC_MAX_IN]; /* as many as the input has elements */
    double *want[HC_MAX_OUT];  /* the exact results, as many as the output has elements */
};

/* Parameters under which integers stay integers, the number-th choice. */
struct hc_variant hc_integers_variant(enum hc_op op, int number);

/* The call's op has such inputs. */
bool hc_integers_known(enum hc_op op);

/* Whether the contract leaves only one result for them. Where a mean is multiplied by a rounded 1 /
   M, or an exponential is off by an ulp, the result may differ and has the contract's bound. */
bool hc_integers_settled(enum hc_op op);

/* Fills inputs and results. False where the sums are so long that the accumulator cannot hold
   them. */
bool hc_integers_fill(struct hc_integers *z);

/* What integers.c and its sisters share. An integer that is not 0, of at most `most` in magnitude;
   element i of a stream. */
int32_t hc_integers_draw(const struct hc_integers *z, int stream, int64_t i, int32_t most);

/* Puts the slot's values, each times `unit`, into its tensor. Values lie in -256 .. 255. */
void hc_integers_put(const struct hc_integers *z, int slot, double unit);

/* The largest magnitude of two factors of which `terms` products may be added in the accumulator;
   0: none. */
int32_t hc_integers_factor(const struct hc_integers *z, int64_t terms);

bool hc_integers_gemm(struct hc_integers *z);
bool hc_integers_conv(struct hc_integers *z);
bool hc_integers_pool(struct hc_integers *z);
bool hc_integers_norm(struct hc_integers *z);
bool hc_integers_loss(struct hc_integers *z);
bool hc_integers_table(struct hc_integers *z);

#endif
