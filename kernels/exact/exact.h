/* The kernels of the exact backend, one per op of ops.def, for every combination of formats that
   the contracts allow. They use no queue, so that another backend may call them. */
#ifndef HC_KERNELS_EXACT_EXACT_H
#define HC_KERNELS_EXACT_EXACT_H

#include "backend.h"

#define HC_OP(name, class, inputs, outputs, title) hc_kernel hc_exact_##name;
#include "op/ops.def"
#undef HC_OP

/* Bytes of scratch that the kernel of call->op needs. */
size_t hc_exact_scratch(struct hc_queue *queue, const struct hc_call *call);

#endif
