/* The accumulators of the matrix units, by compute capability. */
#ifndef HC_KERNELS_CUDA_LIBRARY_ACCUMULATOR_H
#define HC_KERNELS_CUDA_LIBRARY_ACCUMULATOR_H

#include "backend.h"

/* The accumulator for 16-bit inputs and fp32 sums. A capability whose unit is not published gets
   the known one with the widest bounds: no extra bits, and four terms at once. */
struct hc_accumulator hc_cuda_accumulator(int major, int minor);

#endif
