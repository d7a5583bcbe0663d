/* Backends: implementations of the ops, behind one table each. */
#ifndef HC_BACKEND_H
#define HC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "op/call.h"
#include "op/status.h"

/* Grows with every change of this header, call.h or ops.def; a plug-in of another version is
   refused. */
#define HC_BACKEND_ABI 2u

struct hc_queue; /* a backend's own: threads or stream, and the plans it has made */

typedef enum hc_status hc_kernel(struct hc_queue *queue, const struct hc_call *call);

/* How a backend's sums of products come about, for their bounds (Fasi, Higham, Mikaitis and
   Pranesh 2021, "Numerical behavior of NVIDIA tensor cores"; FTTN, arXiv 2403.00232). */
struct hc_accumulator {
    int precision;  /* bits of the accumulator's significand */
    int block;      /* terms that are aligned and added at once; 1: one after the other */
    int extra_bits; /* kept below the accumulator's last bit while a block is aligned */
    bool truncates; /* aligned addends and the sum are cut, not rounded to nearest */
};

struct hc_backend {
    unsigned abi;
    const char *name;
    const char *title;
    struct hc_accumulator accumulator;

    /* A hardware path of a few ops (say, half arithmetic in vector registers): cases that need an op
       which it lacks are left out for it instead of being UNIMPLEMENTED. */
    bool partial;

    /* Runs only where it is named: too slow, or nothing to learn from, for a run on all. */
    bool on_request;

    /* Kernels work in the caller's memory as it is: allocate, upload and download exist, but nobody
       need go through them. */
    bool host_memory;

    /* NULL when the backend can run here, otherwise why not, in one line. */
    const char *(*unavailable)(void);

    /* A queue with `threads` threads where that means something (0: as many as there are cores).
       HC_OK, HC_NO_MEMORY or HC_DEVICE. */
    enum hc_status (*open)(struct hc_queue **queue, int threads);
    void (*close)(struct hc_queue *queue);

    /* Memory that the kernels can use, aligned to 64; NULL when there is no more. Copies between it
       and host memory; they wait for what was queued before. */
    void *(*allocate)(struct hc_queue *queue, size_t bytes);
    void (*release)(struct hc_queue *queue, void *memory);
    enum hc_status (*upload)(struct hc_queue *queue, void *to, const void *from, size_t bytes);
    enum hc_status (*download)(struct hc_queue *queue, void *to, const void *from, size_t bytes);

    /* Bytes of scratch that the call needs; tensors' data pointers are not looked at. A NULL slot
       means none for any call. */
    size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call);

    /* By op. NULL: unimplemented. */
    hc_kernel *kernel[HC_OP_COUNT];
};

/* A plug-in is a shared object that exports one function of this type by the name hc_plugin. `fail` is
   the program's hc_fail: the lines of the plug-in's own would not be seen. In every version the
   function has this type, and `abi` is the first member of what it returns. */
typedef enum hc_status hc_fail_function(enum hc_status status, const char *format, ...);
typedef const struct hc_backend *hc_plugin_entry(hc_fail_function *fail);

/* All there are, in a fixed order: those built in, and last the plug-in `cuda`, unavailable where it
   could not be loaded. Count in *n. */
const struct hc_backend *const *hc_backends(int *n);

/* By name, or NULL. Loads the plug-in only for its own name. */
const struct hc_backend *hc_backend_by_name(const char *name);

#endif
