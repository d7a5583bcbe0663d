/* Backends: implementations of the ops, behind one table each. */
#ifndef HC_BACKEND_H
#define HC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op/call.h"
#include "op/status.h"

/* Grows with every change of this header, call.h or ops.def; a plug-in of another version is
   refused. */
#define HC_BACKEND_ABI 9u

struct hc_queue; /* a backend's own: threads or stream, and the plans it has made */
struct hc_graph; /* a backend's own: calls that were captured */

/* Runs one call, or queues it. What holds for every kernel, and is checked on every call that a
   case makes (check/guarded.h):
   - Inputs are not written, unless the call names the same tensor as an output; what an input has
     beyond such an output's bytes is not written either.
   - Every element of every output is written, and none is read before, unless it is an input, too.
     What an output holds before the call is anything.
   - call->scratch has as many bytes as the `scratch` slot asked for, and holds anything: it is not
     zeroed, and nothing of it is kept for the next call.
   - Nothing is written before or behind a tensor or the scratch.
   - The result depends on the call alone: not on the calls before it, not on where its tensors lie
     (all are aligned to 64), not on what lies beside them.
   - HC_UNSUPPORTED is for formats and shapes that it does not take, and no output is then written.
     It never depends on the values in the tensors. */
typedef enum hc_status hc_kernel(struct hc_queue *queue, const struct hc_call *call);

/* How a backend's sums of products come about, for their bounds (Fasi, Higham, Mikaitis and
   Pranesh 2021, "Numerical behavior of NVIDIA tensor cores"; FTTN, arXiv 2403.00232). */
struct hc_accumulator {
    int precision;  /* bits of the accumulator's significand */
    int block;      /* terms that are aligned and added at once; 1: one after the other */
    int extra_bits; /* kept below the accumulator's last bit while a block is aligned */
    bool truncates; /* aligned addends and the sum are cut, not rounded to nearest */
};

/* The extents of calls on whose size a kernel's way of working hangs. */
enum hc_extent {
    HC_EXTENT_VECTOR, /* elements of elementwise ops and optimizers */
    HC_EXTENT_TERMS,  /* of sum, dot and sum_squares */
    HC_EXTENT_GEMM_M, /* rows, columns and terms of gemm */
    HC_EXTENT_GEMM_N,
    HC_EXTENT_GEMM_K,
    HC_EXTENT_CONV_IMAGES,   /* N */
    HC_EXTENT_CONV_CHANNELS, /* C */
    HC_EXTENT_CONV_FILTERS,  /* K */
    HC_EXTENT_CONV_PIXELS,   /* of one output, P Q */
    HC_EXTENT_CONV_IMAGE,    /* elements of one image, the larger of H W C and P Q K */
    HC_EXTENT_CONV_WEIGHTS,  /* elements of the filters, K R S C */
    HC_EXTENT_NORM_CHANNELS, /* of batch norm */
    HC_EXTENT_NORM_ELEMENTS, /* of batch norm in few channels */
    HC_EXTENT_POOL_CHANNELS, /* of average pooling */
    HC_EXTENT_POOL_ELEMENTS, /* of the tensor that average pooling writes */
    HC_EXTENT_LOSS_ROWS,     /* of cross-entropy */
    HC_EXTENT_LOSS_CLASSES,
    HC_EXTENT_TABLE_ROWS, /* of rates and journal */
    HC_EXTENT_COUNT
};

/* A size at which a kernel changes its way: the length of a vector register, of a block or of a
   thread's share, or where another algorithm takes over. At `size` elements it still goes the one
   way or already the other. */
struct hc_border {
    enum hc_extent extent;
    int64_t size; /* > 0 */
};

/* What a sweep's judge has seen (see `judge` below). */
struct hc_judged {
    uint32_t checked;
    uint32_t wrong;
    uint32_t from_end; /* n - i for the first wrong element i of the part; 0 when none is */
};

/* In the output of a sweep before the kernel writes it: an ordinary number of fp16 and bf16. */
#define HC_UNWRITTEN 0xa5a5u

/* Takes one fact, such as "driver", "13.0". Both are copied where they are kept. */
typedef void hc_tell(const char *name, const char *fact, void *context);

struct hc_backend {
    unsigned abi;
    const char *name;
    const char *title;
    struct hc_accumulator accumulator;

    /* Its borders, the last one followed by one of size 0. The cases border/ cross them, on every
       backend of a run. NULL: it states none, and powers of two are crossed for it. */
    const struct hc_border *borders;

    /* A hardware path of a few ops (say, half arithmetic in vector registers): cases that need an op
       which it lacks are left out for it instead of being UNIMPLEMENTED. */
    bool partial;

    /* Has the network's ops in fp64 (hc_call_fp64); where not, they come to no kernel, and cases of them
       are left out for it. */
    bool fp64;

    /* Two queues may be open at once, each used by a thread of its own: cases may run side by
       side. */
    bool concurrent;

    /* Runs only where it is named: too slow, or nothing to learn from, for a run on all. */
    bool on_request;

    /* Conversions give a NaN of the machine's own, whatever went in (CUDA's cvt): its bits are held
       to nothing. */
    bool canonical_nan;

    /* Kernels work in the caller's memory as it is: allocate, upload and download exist, but nobody
       need go through them. */
    bool host_memory;

    /* In ops whose order is free the same call may give other bits each time (atomic additions,
       say). Where not set, a kernel gives the same bits for the same call, and cases hold it to
       that. */
    bool nondeterministic;

    /* NULL when the backend can run here, otherwise why not, in one line. */
    const char *(*unavailable)(void);

    /* A queue with `threads` threads where that means something (0: as many as there are cores).
       HC_OK, HC_NO_MEMORY or HC_DEVICE. */
    enum hc_status (*open)(struct hc_queue **queue, int threads);
    void (*close)(struct hc_queue *queue);

    /* Memory that the kernels can use, aligned to 64; NULL, with a line that says how much was wanted,
       when there is no more or the device is lost. Copies between it and host memory; they wait for
       what was queued before. */
    void *(*allocate)(struct hc_queue *queue, size_t bytes);
    void (*release)(struct hc_queue *queue, void *memory);
    enum hc_status (*upload)(struct hc_queue *queue, void *to, const void *from, size_t bytes);
    enum hc_status (*download)(struct hc_queue *queue, void *to, const void *from, size_t bytes);

    /* Bytes of scratch that the call needs; tensors' data pointers are not looked at. A NULL slot
       means none for any call. */
    size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call);

    /* Graphs: a list of kernel calls that is recorded once and run again and again, on the same memory
       with the same parameters. All four are NULL where a backend has none.
       From `capture` to `captured` the kernels of this queue record what they would have queued, and
       nothing of it runs; they may be called and the scratch slot asked, nothing else: allocate,
       release, upload, download and replay fail with a line and spoil the capture. Every call must
       have been run on this queue before, so that its plans are made and its kernels loaded.
       Whoever began a capture ends it, also after a kernel failed. `captured` then gives a graph, or
       HC_DEVICE or HC_NO_MEMORY with the line of what spoilt it, and *graph is NULL.
       `replay` queues all of it: it runs after what was queued before, and what goes wrong in it comes
       as it does for kernels. `forget` waits for the queue and frees the graph; NULL is nothing.
       Graphs are forgotten before their queue is closed and before the memory that they work on is
       released. */
    enum hc_status (*capture)(struct hc_queue *queue);
    enum hc_status (*captured)(struct hc_queue *queue, struct hc_graph **graph);
    enum hc_status (*replay)(struct hc_queue *queue, struct hc_graph *graph);
    void (*forget)(struct hc_queue *queue, struct hc_graph *graph);

    /* Facts for the record, each told once, in a fixed order: those of the machine ("gpu",
       "capability", "driver", "cuda", "cublas", "cudnn"), and with a queue (else NULL) what that has
       chosen so far (plans, instruction sets) by names of the backend's own. A NULL slot: nothing to
       tell. Not asked where the backend is unavailable. */
    void (*describe)(struct hc_queue *queue, hc_tell *tell, void *context);

    /* Sweeps that are judged where their results lie, so that 2^32 of them need not be copied. Both
       are NULL where a backend has none. The call is cast from fp32 or i32 into fp16 or bf16, or add,
       sub, mul or div of fp16 or bf16; its tensors [n], n <= 2^24, lie in the backend's memory. The
       operands are numbered: number k are the bits k of a cast's input, or x = k >> 16 and
       y = k & 65535. HC_UNSUPPORTED for other calls.
       `operands` queues the inputs' numbers from `first` on, and HC_UNWRITTEN into the output.
       `judge` queues the comparison of the output with the results by num/integer16.h, which are
       found from the numbers and not from the inputs, and adds to *judged in the backend's memory. */
    enum hc_status (*operands)(struct hc_queue *queue, const struct hc_call *call, uint32_t first);
    enum hc_status (*judge)(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                            struct hc_judged *judged);

    /* By op. NULL: unimplemented. */
    hc_kernel *kernel[HC_OP_COUNT];
};

/* What a plug-in brings. `abi` is the first member in every version, and the only one that is read of
   another version. */
struct hc_plugin {
    unsigned abi; /* HC_BACKEND_ABI */
    int count;
    const struct hc_backend *const *backends;
};

/* A plug-in is a shared object that exports one function of this type by the name hc_plugin. `fail` is
   the program's hc_fail: the lines of the plug-in's own would not be seen. */
typedef enum hc_status hc_fail_function(enum hc_status status, const char *format, ...);
typedef const struct hc_plugin *hc_plugin_entry(hc_fail_function *fail);

/* All there are, in a fixed order: those built in, and last those of the plug-in halfcheck-cuda,
   unavailable where it could not be loaded. Count in *n. */
const struct hc_backend *const *hc_backends(int *n);

/* Those built in alone. Loads no plug-in. */
const struct hc_backend *const *hc_backends_built_in(int *n);

/* HC_UNSUPPORTED with a line where the backend has no kernel for the call's op, or not in fp64. Whoever
   calls a kernel asks first. */
enum hc_status hc_backend_has(const struct hc_backend *backend, const struct hc_call *call);

/* By name, or NULL. Loads the plug-in only when none that is built in has the name. */
const struct hc_backend *hc_backend_by_name(const char *name);

#endif
