/* Running a call whose tensors lie in host memory. */
#ifndef HC_CHECK_RUN_CALL_H
#define HC_CHECK_RUN_CALL_H

#include "check/check.h"
#include "check/guarded.h"

/* HC_OK, HC_UNSUPPORTED (no kernel, or not for these formats), or what the backend returned.
   `breach` says what the kernel did besides: changed an input, wrote beside a tensor, left an
   output unwritten, did not repeat. Empty when it kept to its call. */
enum hc_status hc_run_call(const struct hc_backend *backend, struct hc_queue *queue,
                           const struct hc_call *call, struct hc_breach *breach);

/* The same for a check, on the backend under test or on `exact`: a breach makes the case FAIL. May
   be called from several threads. */
enum hc_status hc_do_on(struct hc_check *check, const struct hc_backend *backend,
                        struct hc_queue *queue, const struct hc_call *call);

#endif
