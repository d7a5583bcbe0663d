/* tf32 on the CPU: inputs rounded to nearest into the beginning of the scratch, then a kernel of
   fp32. */
#ifndef HC_KERNELS_TF32_H
#define HC_KERNELS_TF32_H

#include "backend.h"

/* The call without its parameter tf32; of the scratch, it has what the rounded inputs leave. */
struct hc_call hc_tf32_plain(const struct hc_call *call);

/* Bytes of the rounded inputs; 0 where the call does not take them as tf32 (hc_call_tf32). */
size_t hc_tf32_bytes(const struct hc_call *call);

/* Rounds the inputs, and runs the plain call on them. */
enum hc_status hc_tf32_run(struct hc_queue *queue, const struct hc_call *call, hc_kernel *kernel);

#endif
