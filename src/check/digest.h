/* The digest of a case on a backend: what bits its kernels gave, in 64 bits.

   It is the sum, modulo 2^64, of the digests of all calls that the case ran on the backend under
   test (op/digest.h). A sum does not depend on the order of the calls, so that several threads may
   run them. Where digests are equal, two machines, versions or backends gave the same bits, and
   what was held against the reference on one of them holds on the other.

   A result has no digest (0) where its bits are not promised: after a call of free order on a
   backend that is `nondeterministic` or of `free_order`, where kernels ran that the digest does not
   see, and where the case was cut short.

   With `run --bits-only` the kernels run and nothing is compared: no reference is asked, no claim
   is counted, and a claim always seems to hold, so that the case goes on as where it passes.
   Its result is SKIPPED, unless a kernel did what no kernel may. Such results are as good as the
   baseline that they are compared with: equal digests are the bits that passed there. */
#ifndef HC_CHECK_DIGEST_H
#define HC_CHECK_DIGEST_H

#include "check/check.h"

/* Adds a call's digest. Several threads may do so at once. */
void hc_check_digest_add(struct hc_check *check, uint64_t digest);

/* Whether the backend under test owes the same bits for the same call each time, on any number of
   threads. If not, the result has no digest. */
bool hc_check_digests(struct hc_check *check, const struct hc_call *call);

/* Puts the digest into the result. */
void hc_check_digest_conclude(struct hc_check *check);

#endif
