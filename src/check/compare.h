/* The inside of hc_claim_call. */
#ifndef HC_CHECK_COMPARE_H
#define HC_CHECK_COMPARE_H

#include "check/check_inner.h"

struct hc_repeats;

/* What one claim works on, looked up once: the call as it was made, the same call for `exact` with
   outputs of its own, and what every comparison needs to know of them. */
struct hc_claim {
    struct hc_check *check;
    struct hc_call call;
    struct hc_call exact;
    void *owned[2 * HC_MAX_IN + HC_MAX_OUT];
    int owned_count;
    enum hc_inputs inputs;
    bool judged;    /* the inputs were made to exercise the op, and must */
    bool on_exact;  /* the backend under test is `exact` itself */
    bool has_exact; /* `exact` could run the call */
    bool ordered;   /* hc_bound_ordered */
    bool free;      /* the bound is that of any order, also where --order asks for bits elsewhere */
    double length;  /* hc_call_length */

    struct hc_accumulator sums;       /* of the backend for this call */
    struct hc_accumulator exact_sums; /* of `exact` */
    int64_t flushed;                  /* factors that are 0 to the unit (subnormals.h) */
    bool all_flushed;                 /* so that no term is left */
    bool raised; /* `with_raised` is there, and magnitudes are its (subnormals.h) */
    struct hc_call with_raised;
    struct hc_known_call *known;      /* what is known of this call (known.h), or NULL */
    const struct hc_repeats *repeats; /* of which kinds its elements are (repeats.h), or NULL */
};

/* Gives the tensor of the claim's call memory of its own, with the same numbers. False if there is
   none. */
bool hc_claim_copied(struct hc_claim *claim, struct hc_tensor *t);

/* Compares a sample of output `out` with the reference; `what` names the output. */
void hc_claim_output(struct hc_claim *claim, int out, const char *what);

/* Compares all elements of output `out` with those of `exact`, where the contract leaves the order
   of a sum open (against.c). */
void hc_claim_against(struct hc_claim *claim, int out, const char *what);

/* How far two codes are apart in ulp; a zero and the other zero are 1 apart, two NaNs 0. */
double hc_bits_apart(enum hc_format format, uint64_t want, uint64_t got);

#endif
