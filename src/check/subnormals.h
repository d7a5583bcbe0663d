/* What units make of subnormal factors.

   Units that flush read a subnormal factor as 0. What that loses has no bound: the other factor may
   be large. So such a unit is not given a wider bound, but judged by another claim: its result is
   that of the call whose subnormal factors are 0.

   Other units align terms by the exponents of their factors, without normalizing products: a
   subnormal factor has the exponent of the smallest normal number, and so its product is aligned as
   if it were that much larger. The other terms are cut accordingly. The bound of such a sum stands,
   if in the magnitude that it is relative to each subnormal factor counts as the smallest normal
   number of its format. A zero stays 0. */
#ifndef HC_CHECK_SUBNORMALS_H
#define HC_CHECK_SUBNORMALS_H

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

/* Makes claim->with_raised, the claim's call with copies of the factors that hold subnormal
   numbers, in which these are raised, if the backend aligns so in this call. False if there is no
   memory. */
bool hc_raise_factors(struct hc_claim *claim);

/* What the least number other than 0 counts as in this input: 0 where nothing is raised. */
double hc_raised_smallest(const struct hc_claim *claim, int slot);

/* The magnitude of the element's terms with raised factors. */
double hc_raised_magnitude(const struct hc_claim *claim, int out, int64_t index);

#endif
