/* The inside of hc_claim_call. */
#ifndef HC_CHECK_COMPARE_H
#define HC_CHECK_COMPARE_H

#include "check/check_inner.h"

/* What one claim works on: the call as it was made, and the same call for `exact`, with outputs of
   its own. */
struct hc_claim {
    struct hc_check *check;
    struct hc_call call;
    struct hc_call exact;
    void *owned[HC_MAX_IN + HC_MAX_OUT];
    int owned_count;
    bool has_exact;
    bool judged; /* whether its inputs must exercise the op */
    enum hc_inputs inputs;
};

/* Compares a sample of an output with the reference and tallies it; `what` names it. */
void hc_claim_output(struct hc_claim *claim, int out, const char *what);

/* Differences in the bits count in ulp, the sign of zero as one. */
double hc_bits_apart(enum hc_format format, uint64_t want, uint64_t got);

#endif
