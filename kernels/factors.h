/* tf32 on the CPU: a call whose inputs may be taken as tf32 is run as a plain fp32 call on inputs
   that were rounded to tf32. */
#ifndef HC_KERNELS_TF32_H
#define HC_KERNELS_TF32_H

#include "backend.h"

/* For calls with hc_call_tf32. The rounded inputs lie at the beginning of the scratch; `kernel`
   runs the plain call on them with the rest of it, which is as much as `scratch` asks for. */
enum hc_status hc_tf32_run(struct hc_queue *queue, const struct hc_call *call, hc_kernel *kernel);
size_t hc_tf32_scratch(struct hc_queue *queue, const struct hc_call *call,
                       size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call));

#endif
