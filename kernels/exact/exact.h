/* The kernels of the exact backend, one per op of ops.def. */
#ifndef HC_KERNELS_EXACT_EXACT_H
#define HC_KERNELS_EXACT_EXACT_H

#include "backend.h"

#define HC_OP(name, class, inputs, outputs, title) hc_kernel hc_exact_##name;
#include "op/ops.def"
#undef HC_OP

#endif
