/* Running a call whose tensors lie in host memory. */
#ifndef HC_CHECK_RUN_CALL_H
#define HC_CHECK_RUN_CALL_H

#include "check/check.h"
#include "check/guarded.h"

/* Validates the call and runs it between guards (check/guarded.h). HC_OK, HC_UNSUPPORTED (there is
   no kernel, or not for these formats), HC_INVALID, or what the backend returned. `breach` says
   what the kernel did that it may not: it changed an input, wrote outside its tensors, left an
   output unwritten, did not repeat. It is empty if the kernel kept to its call. */
enum hc_status hc_run_call(const struct hc_backend *backend, struct hc_queue *queue,
                           const struct hc_call *call, struct hc_breach *breach);

/* The same for a check, on the queue of a backend under test: a breach makes the case FAIL. Sets
   *digest to the call's digest (op/digest.h) if the call ran and `digest` is not NULL. Several
   threads may call it at once. */
enum hc_status hc_do_on(struct hc_check *check, const struct hc_backend *backend,
                        struct hc_queue *queue, const struct hc_call *call, uint64_t *digest);

/* The same on the backend `exact`, for a call that hc_do has validated: its shapes are the same,
   its data and the formats of its outputs may be others. Nothing runs where nothing is compared
   (hc_check.bits_only). */
enum hc_status hc_do_on_exact(struct hc_check *check, const struct hc_call *call);

#endif
