/* For tests: faults in what the shadow sees of one kernel, as if they stood in its text. The places
   are instructions that touch the device's or shared memory, and fences, in the order in which the
   kernel with the fault first came to them. */
#ifndef HC_KERNELS_CUDA_SHADOW_FAULT_H
#define HC_KERNELS_CUDA_SHADOW_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/emulate/fault.h"
#include "kernels/cuda/shadow/cell.h"

enum { HC_FAULT_PLACES = 1024 };

struct hc_fault_place {
    const void *from;
    enum hc_access kind;
    bool ends;  /* it touches the last bytes of what the kernel may touch there */
    bool first; /* it is the first that writes a byte of an output */
};

/* What the kernel with the fault has done since the last reset. */
struct hc_fault_seen {
    struct hc_fault_place place[HC_FAULT_PLACES];
    int places;
    bool vectors; /* it has some */
    bool follows; /* it came behind another launch of its call */
};
extern struct hc_fault_seen hc_fault_seen;

/* The place, NULL if there is no room for it. */
struct hc_fault_place *hc_fault_place(const void *from, enum hc_access kind);

/* Changes the access at that place as the fault says. Returns whether there is none any more. */
bool hc_fault_changes(const struct hc_emulated_fault *fault, const struct hc_fault_place *place,
                      uintptr_t *at, size_t bytes);

#endif
