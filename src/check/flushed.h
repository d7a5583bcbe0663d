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

/* Replaces the subnormal factors of the call by zeros of their sign, in place, and returns how many
   there were. */
int64_t hc_flush_call(const struct hc_call *call);

/* Says so where the case is told. A claim that held, but of whose terms none is left, is SKIPPED:
   zeros would have passed. */
void hc_flush_conclude(const struct hc_claim *claim);

#endif
