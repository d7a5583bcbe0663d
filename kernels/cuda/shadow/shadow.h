/* Shadow memory: what the kernels of the emulation do to every byte.

   The kernels are compiled with -fsanitize=thread, which calls a function before each access to
   memory (tsan.c). The functions are ours. They find, in every launch,

   - an access outside of what the call gives the kernel: its tensors to the byte, its scratch, the
     shared memory that the launch asked for, the arguments, the thread's own stack, constants;
   - a write of an input that is no output, and an output that is not written to its end;
   - a read of memory that nobody has written: outputs and scratch before the call, memory that was
     allocated and not uploaded, shared memory when a block begins;
   - an access that is not aligned to its size;
   - a race: two accesses to a byte, at least one of them a write and not both atomic, by two blocks
     of a launch of which neither took over what the other handed over (order.c), or by two threads
     of a block with no barrier between them.

   A shuffle orders nothing: "these intrinsics do not imply a memory barrier" (CUDA C++ Programming
   Guide, Warp Shuffle Functions). Launches of a stream follow each other, as do calls.

   Races do not depend on the order in which the emulation takes threads and blocks. Between two
   barriers a byte's accesses are a set of pairs (thread, kind). What is kept of it is its kinds and
   up to two threads that differ (cell.h), and that tells whether an access of thread t clashes with
   one of another thread: as long as none has, either one thread alone was there, or several whose
   accesses are all reads or all atomic. So a clash is found when its second access comes, whichever
   that is; and likewise for blocks. If there is none in one order, every other order makes the same
   accesses: in an epoch each thread then reads what was there before it or what it wrote itself.
   Which block is the last that comes to a counter depends on the order; what it may touch then does
   not.

   What it does not see: arrays on a thread's own stack, and values. */
#ifndef HC_KERNELS_CUDA_SHADOW_SHADOW_H
#define HC_KERNELS_CUDA_SHADOW_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op/call.h"

struct hc_watcher;

/* NULL when there is no memory. The caller gives it to an emulator (emulate/watch.h), and closes
   it. Its finding is what was found first; that ends the launch in which it is, and no other begins
   until the finding is taken. */
struct hc_watcher *hc_shadow_new(void);

/* An allocation that launches may touch in every call, and that is zero between calls. There is one
   at most. */
void hc_shadow_lasting(struct hc_watcher *shadow, const char *name, const void *memory,
                       size_t bytes);

/* From now on launches may touch the tensors of this call and nothing else; without a call, all
   that is allocated. hc_shadow_end looks whether all outputs are written, unless the call has
   failed. */
void hc_shadow_begin(struct hc_watcher *shadow, const struct hc_call *call, size_t scratch_bytes);
void hc_shadow_end(struct hc_watcher *shadow, bool failed);

/* What the kernels of all queues have touched since the last reset: launches, and the bytes of the
   device's memory that they read or wrote, each byte once a launch. A row a kernel by its number
   (enum hc_device_kernel), and one behind them for the stand-ins of the libraries. */
struct hc_shadow_count {
    int64_t launches;
    int64_t read;
    int64_t written;
};
const struct hc_shadow_count *hc_shadow_counts(void);
void hc_shadow_counts_reset(void);

#endif
