/* For tests: faults in what the shadow sees of one kernel, as if they stood in its text. */
#ifndef HC_KERNELS_CUDA_SHADOW_FAULT_H
#define HC_KERNELS_CUDA_SHADOW_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/emulate/fault.h"
#include "kernels/cuda/shadow/cell.h"

/* The places in the kernel's code that touch device or shared memory, in the order in which it
   first came to them since the fault was set. */
int hc_shadow_fault_sites(void);

/* What the i-th of them does. */
enum hc_access hc_shadow_fault_kind(int site);

/* Changes the access as the fault says. Returns whether there is none any more. */
bool hc_shadow_fault_changes(const struct hc_emulated_fault *fault, uintptr_t *at, size_t bytes,
                             enum hc_access kind, const void *from);

/* A fault was set: sites are counted anew. */
void hc_shadow_fault_reset(void);

#endif
