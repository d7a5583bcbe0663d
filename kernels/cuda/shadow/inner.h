/* The shadow memory of a queue, between its files. */
#ifndef HC_KERNELS_CUDA_SHADOW_INNER_H
#define HC_KERNELS_CUDA_SHADOW_INNER_H

#include "kernels/cuda/emulate/inner.h"
#include "kernels/cuda/emulate/watch.h"
#include "kernels/cuda/shadow/cell.h"
#include "kernels/cuda/shadow/shadow.h"

/* Bytes that have a shadow: an allocation, or a block's shared memory. */
struct hc_shadowed {
    struct hc_shadowed *next;
    uintptr_t start;
    size_t bytes;
    struct hc_cell *cells;
    unsigned char *written; /* 1: somebody has written the byte */
};

/* What a launch may touch. */
struct hc_area {
    const char *name;
    uintptr_t start;
    size_t bytes;
    bool writes; /* not reads alone */
    struct hc_shadowed *in;
};

enum { HC_AREAS = 1 + HC_MAX_IN + HC_MAX_OUT + 1 };

/* What orders the blocks of a launch (order.c). Times are counted from 1 on in each block, by
   fences, barriers and atomic operations. */
struct hc_order {
    uint32_t *handed_over; /* the place, by block */
    size_t room;
    uint32_t time;
    uint32_t barrier; /* the time of the last one */
    uint32_t place;   /* of the last atomic operation, */
    uint32_t taken;   /* its time */
    int taker;        /* and its thread */
    struct hc_thread_order {
        uint32_t wrote;  /* the time of its last write of the device's memory */
        uint32_t fenced; /* of its last fence, */
        uint32_t covers; /* and of the barrier before that */
    } thread[HC_MAX_THREADS];
};

struct hc_shadow {
    struct hc_watcher watcher;
    struct hc_order order;
    struct hc_shadowed *allocations;
    struct hc_shadowed shared;
    struct hc_area area[HC_AREAS]; /* of the call */
    int areas;
    int outputs; /* areas 1 to `outputs` are outputs; area 0 lasts */
    bool called;
    int launches;         /* of the call */
    struct hc_area found; /* where the last access without a call was */
    struct hc_visit now;  /* without the thread and the kind */
    const struct hc_grid *grid;
    struct hc_shadow_count *count;
    const struct hc_emulated_fault *fault; /* of the kernel that runs, or NULL */
    char finding[512];
    bool has_finding;
};

/* The area of those bytes, or NULL. If they have several, a write gets the one it may write. */
const struct hc_area *hc_shadow_area(struct hc_shadow *shadow, uintptr_t at, size_t bytes,
                                     bool writes);

/* Looks at an access, of the thread that runs, by the instruction before `from`. */
void hc_shadow_look(struct hc_shadow *shadow, uintptr_t at, size_t bytes, enum hc_access kind,
                    const void *from);

/* order.c: what happens in a launch, in the thread that runs. hc_order_launch returns whether there
   was memory; hc_order_taken the place that the thread has taken over and may rely on for this
   byte. */
bool hc_order_launch(struct hc_shadow *shadow, int blocks);
void hc_order_block(struct hc_shadow *shadow);
void hc_order_barrier(struct hc_shadow *shadow);
void hc_order_fence(struct hc_shadow *shadow);
void hc_order_atomic(struct hc_shadow *shadow, uintptr_t at);
void hc_order_access(struct hc_shadow *shadow, bool writes);
uint32_t hc_order_taken(const struct hc_shadow *shadow, uintptr_t at);

/* Notes what was found, and ends the launch if one runs. */
void hc_shadow_found(struct hc_shadow *shadow, uintptr_t at, size_t bytes, enum hc_access kind,
                     const void *from, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* The lines of the source that led to the instruction before `from`, innermost first, or "". */
const char *hc_shadow_source(const void *from, char *text, size_t size);

struct hc_shadow *hc_shadow_of(struct hc_watcher *watcher);

/* What a watcher of this kind does (access.c), and what of it is in memory.c and finding.c. */
extern const struct hc_watcher hc_shadow_watches;
void hc_shadow_close(struct hc_watcher *watcher);
bool hc_shadow_allocated(struct hc_watcher *watcher, const void *memory, size_t bytes);
void hc_shadow_released(struct hc_watcher *watcher, const void *memory);
void hc_shadow_uploaded(struct hc_watcher *watcher, const void *to, size_t bytes);
const char *hc_shadow_finding(struct hc_watcher *watcher);

#endif
