/* Units that flush read a subnormal factor as 0. What that loses has no bound: the other factor may
   be large. So such a unit is not given a wider bound, but judged by another claim: its result is
   that of the call whose subnormal factors are 0. */
#ifndef HC_CHECK_FLUSHED_H
#define HC_CHECK_FLUSHED_H

#include "check/compare.h"

/* Replaces the subnormal factors of the claim's call by zeros of their sign, in copies, if the
   backend says that it flushes in this call, and keeps in the claim what was found. False if there
   is no memory. */
bool hc_flush_factors(struct hc_claim *claim);

/* A call as a unit reads it that flushes: its subnormal factors are zeros of their sign, in copies.
   The call that was given stays as it is, so that it can be told and kept. */
enum { HC_FLUSHED_SLOTS = 2 };
struct hc_flushed {
    struct hc_call call;
    int64_t count; /* of factors that are zeros now */
    bool all;      /* of one of its tensors no other element is left */
    void *owned[HC_FLUSHED_SLOTS];
};

/* False if there is no memory. Close it in any case. */
bool hc_flushed_open(struct hc_flushed *flushed, const struct hc_call *call);
void hc_flushed_close(struct hc_flushed *flushed);

/* Says so where the case is told. A claim that held, but of whose terms none is left, is SKIPPED:
   zeros would have passed. */
void hc_flush_conclude(const struct hc_claim *claim);

#endif
