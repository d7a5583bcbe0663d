/* Backends of free order (struct hc_backend): what is demanded of them.

   There are two verdicts, and they are kept apart. Without --order such a backend owes results
   within a bound that holds for any order of evaluation (check/bound/bound.h), and the same bits
   only where one result alone is right in any order: one rounding of the real value. With
   --order NAME it owes the same bits as that order in the calls that state it, too; the claims of
   hc_claim_call stay those of the bound.

   A case that compares bits of a stated order to which the backend is not held makes no result: it
   is left out, and counted as such. It neither passes nor fails. */
#ifndef HC_CHECK_FREE_ORDER_H
#define HC_CHECK_FREE_ORDER_H

#include "check/check_inner.h"

/* Whether the backend under test may compute the call in any order. The order of a call is that of
   its parameter in adam and adamw, and "ours" in all other ops. */
bool hc_order_is_free(const struct hc_check *check, const struct hc_call *call);

/* Whether the bits of one of the call's outputs depend on its order. */
bool hc_order_matters(const struct hc_call *call);

/* HC_UNSUPPORTED, with a line, if the call states an order and only bits can be compared with it,
   and the backend is not held to it. The case is then left out. */
enum hc_status hc_order_stated(struct hc_check *check, const struct hc_call *call);

/* Notes that a call has run whose bits are free: from here on, a claim of equal bits that fails
   leaves the case out instead of failing it. If the call states a 16-bit arithmetic, any claim that
   fails does, since a finer arithmetic is as right: such a case shows what that one does. */
void hc_order_note(struct hc_check *check, const struct hc_call *call);

/* Notes that the call's bound for any order says next to nothing, as that of a long sum in 16 bits
   does: a case that passes is then left out, unless the backend is held to the call's order. */
void hc_order_open(struct hc_check *check, const struct hc_call *call);

/* Whether a claim that failed is one of these. */
bool hc_order_excuses(struct hc_check *check, bool of_bits);

/* Sets the verdict of a case that failed in such claims alone. */
void hc_order_conclude(struct hc_check *check);

#endif
