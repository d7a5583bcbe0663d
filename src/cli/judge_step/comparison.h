/* The inside of a claim: its elements, one by one, against MPFR. */
#ifndef HC_CLI_JUDGE_STEP_COMPARISON_H
#define HC_CLI_JUDGE_STEP_COMPARISON_H

#include "cli/judge_step/claim.h"

/* One way in which a claim may have been computed. */
struct hc_step_way {
    enum hc_format in;  /* its data are rounded into this; tf32 is taken as fp32 that may be cut */
    enum hc_format out; /* its result is rounded into this before it is stored */
};

struct hc_step_comparison {
    int64_t index;
    struct hc_exact want;
    double got;
    double error;
    double bound;
};

/* The claim's call with its tensors in the formats of a way. The memory is the caller's to free
   with hc_step_call_close. HC_NO_MEMORY. */
struct hc_step_call {
    struct hc_call call;
    void *owned[HC_MAX_IN + 1];
    int count;
};

enum hc_status hc_step_call_open(struct hc_step_call *made, const struct hc_step_claim *claim,
                                 struct hc_step_way way);
void hc_step_call_close(struct hc_step_call *made);

/* Compares n elements, whose indices are there already. */
void hc_step_compare(const struct hc_step_court *court, const struct hc_step_claim *claim,
                     const struct hc_call *call, struct hc_step_comparison *all, int64_t n);

/* The elements of a claim to look at, in any order: all; or at each end, at random in equal
   stretches, and where the tensor lies furthest from what fp64 arithmetic makes of the inputs.
   Returns how many; 0 with HC_NO_MEMORY's line. The caller frees *all. */
int64_t hc_step_sample(const struct hc_step_court *court, const struct hc_step_claim *claim,
                       const struct hc_call *call, struct hc_step_comparison **all);

#endif
