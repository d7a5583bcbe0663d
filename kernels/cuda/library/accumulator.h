/* Accumulators of the matrix units, by compute capability. */
#ifndef HC_KERNELS_CUDA_LIBRARY_ACCUMULATOR_H
#define HC_KERNELS_CUDA_LIBRARY_ACCUMULATOR_H

#include "backend.h"

/* For 16-bit inputs and fp32 sums. A capability whose unit nobody has published gets the widest of
   the known ones: no extra bits, and four terms at once. */
struct hc_accumulator hc_cuda_accumulator(int major, int minor);

#endif
