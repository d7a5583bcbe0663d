/* Running a call whose tensors lie in host memory. */
#ifndef HC_CHECK_DO_H
#define HC_CHECK_DO_H

#include "backend.h"

/* HC_OK, HC_UNSUPPORTED (no kernel, or not for these formats), or what the backend returned. */
enum hc_status hc_run_call(const struct hc_backend *backend, struct hc_queue *queue,
                           const struct hc_call *call);

#endif
