/* Factors that the CPU's kernels do not take as they are: fp32 that may be taken as tf32, and fp8.
   Such a call is run as a plain fp32 call on factors that were rounded to tf32, or decoded. Nothing
   is lost by decoding, since every fp8 number is one of fp32, and so is the product of two. */
#ifndef HC_KERNELS_FACTORS_H
#define HC_KERNELS_FACTORS_H

#include "backend.h"

/* Whether the call has such factors. */
bool hc_factors_convert(const struct hc_call *call);

/* For such calls. The converted factors lie at the beginning of the scratch; `kernel` runs the
   plain call on them with the rest of it, which is as much as `scratch` asks for. */
enum hc_status hc_factors_run(struct hc_queue *queue, const struct hc_call *call,
                              hc_kernel *kernel);
size_t hc_factors_scratch(struct hc_queue *queue, const struct hc_call *call,
                          size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call));

#endif
