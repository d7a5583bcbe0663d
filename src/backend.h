/* Backends: implementations of the ops, behind one table each. */
#ifndef HC_BACKEND_H
#define HC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op/call.h"
#include "op/status.h"

/* Grows with every change of this header, of call.h or of a header that it includes. A plug-in
   of another version is refused. */
#define HC_BACKEND_ABI 16u

struct hc_queue; /* the backend's own: its threads or stream, and the plans that it has made */
struct hc_graph; /* the backend's own: calls that were captured */
struct hc_unit;  /* a matrix unit by its rules: src/unit/ */

/* Runs one call, or queues it. The following holds for every kernel, and is checked on every call
   that a case makes (check/guarded.h):
   - A kernel does not write its inputs, unless the call names the same tensor as an output. If such
     an input is longer than the output, the rest of it is not written either.
   - It writes every element of every output, and reads none before, unless it is an input, too.
     What an output holds before the call is arbitrary.
   - call->scratch has as many bytes as the `scratch` slot asked for. It holds arbitrary bytes, and
     nothing in it is kept for the next call.
   - Nothing is written before or behind a tensor or the scratch.
   - The result depends on the call alone: not on earlier calls, not on where its tensors lie (all
     are aligned to 64), not on what lies beside them.
   - HC_UNSUPPORTED says that the kernel does not take these formats or shapes; it then writes no
     output. It never depends on the values in the tensors. */
typedef enum hc_status hc_kernel(struct hc_queue *queue, const struct hc_call *call);

struct hc_defined_operand {
    const char *name;
    struct hc_tensor tensor; /* dense, row-major, its axes in the text's order */
};

/* An option of the text that is not its default. */
struct hc_defined_setting {
    const char *name;
    const char *value; /* "2", "1e-5", "true" */
};

/* A call of a definition: an op that is a text (docs/definitions.md), and no row of ops.def. Its
   operands have the text's names, and the text is known by its digest. */
struct hc_defined_call {
    const char *name;   /* of the definition, "rms_norm" */
    const char *digest; /* the first 16 hexadecimal digits of the text's SHA-256 */
    const char *text;
    enum hc_format format; /* of the tensors: what `store` rounds to */
    int inputs;
    const struct hc_defined_operand *in;
    int outputs; /* in the order of `return` */
    const struct hc_defined_operand *out;
    int settings;
    const struct hc_defined_setting *set;

    /* Computes the call, whose tensors lie in host memory, by its text: one equation after the
       other, sums from their first term to the last, each operation rounded to fp32 (to fp64 where
       the tensors are fp64). That is one right order. */
    enum hc_status (*plainly)(const struct hc_defined_call *call);
    const void *self; /* for `plainly` */
};

/* How a backend sums products, from which their bounds follow (Fasi, Higham, Mikaitis and Pranesh
   2021, "Numerical behavior of NVIDIA tensor cores"; FTTN, arXiv 2403.00232). */
struct hc_accumulator {
    int precision;  /* bits of the accumulator's significand */
    int block;      /* terms that are aligned and added at once; 1: one at a time */
    int extra_bits; /* bits kept below the accumulator's last one while a block is aligned */
    bool truncates; /* aligned addends and the sum are cut, not rounded to nearest */

    /* A factor, product, partial sum or result below the accumulator's normal numbers (2^-126 in
       fp32) is taken for 0. */
    bool flushes;

    /* Where terms are aligned, a subnormal factor counts as the smallest normal number of its
       format. What lies far enough below that is cut off, though the factor itself is smaller. */
    bool aligns_subnormals;

    /* Of gemm_q: the unit multiplies each product by the scales of its blocks, and so sums blocks
       whose scales differ in one accumulator (op/quant.h). */
    bool takes_scales;
};

/* Extents of a call that may decide how a kernel works. */
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
    HC_EXTENT_TABLE_ROWS, /* of rates and step_log */
    HC_EXTENT_COUNT
};

/* A size at which a kernel begins to work differently: the length of a vector register, of a block
   or of a thread's share, or where another algorithm takes over. `size` elements may belong to
   either side. */
struct hc_border {
    enum hc_extent extent;
    int64_t size; /* > 0 */
};

/* What the judge of a sweep has found (see `judge` below). */
struct hc_judged {
    uint32_t checked;
    uint32_t wrong;
    uint32_t from_end; /* n - i for the first wrong element i of the part; 0 if none is wrong */
};

/* What a queue has been given since it was opened, run at once or recorded in a capture. A replay
   adds nothing: it is one launch, however long its graph. */
struct hc_work {
    int64_t kernels; /* launches of the backend's own */
    int64_t calls;   /* products and convolutions of libraries */
    int64_t copies;  /* uploads, downloads, clears */
    double bytes;    /* that kernels and calls read and write, counted from their operands */
};

/* What the output of a sweep holds before the kernel writes it: an ordinary number in fp16 and
   bf16. */
#define HC_UNWRITTEN 0xa5a5u

/* Takes one fact, such as "driver", "13.0". Whoever keeps the texts copies them. */
typedef void hc_tell(const char *name, const char *fact, void *context);

struct hc_backend {
    unsigned abi;
    const char *name;
    const char *title;
    struct hc_accumulator accumulator;

    /* The accumulator of one call of dot, gemm or a convolution, where calls differ. The call's
       data pointers say nothing. NULL: `accumulator` for all. hc_backend_accumulator asks. */
    struct hc_accumulator (*accumulates)(const struct hc_backend *backend,
                                         const struct hc_call *call);

    /* The matrix units whose bits it claims to give, ended by NULL. NULL: none. */
    const struct hc_unit *const *units;

    /* In a run on all backends, the cases whose names this pattern matches are the only ones that
       it runs. NULL: it runs all. */
    const char *default_cases;

    /* Its borders, ended by one of size 0. The cases border/ cross them, on every backend of a run.
       NULL: it states none, and powers of two are crossed instead. */
    const struct hc_border *borders;

    /* The backend is a hardware path of a few ops, say half arithmetic in vector registers. Cases
       that need an op which it lacks are left out instead of being UNIMPLEMENTED. */
    bool partial;

    /* It has the ops of a network in fp64 (hc_call_fp64). If not, such calls reach no kernel, and
       their cases are left out. */
    bool fp64;

    /* Two queues may be open at once, each used by its own thread, so that cases may run in
       parallel. */
    bool concurrent;

    /* It runs only if it is named: it is too slow, or tells too little, for a run on all
       backends. */
    bool on_request;

    /* Conversions turn every NaN into the machine's own (CUDA's cvt). The bits of a NaN are then
       not checked. */
    bool canonical_nan;

    /* Kernels also work in the caller's memory: allocate, upload and download exist, but need not
       be used. */
    bool host_memory;

    /* In ops whose order is free, the same call may give other bits each time, say by atomic
       additions. If not set, a kernel gives the same bits for the same call, and cases check
       that. */
    bool nondeterministic;

    /* The backend comes from outside: its results must lie within the bounds, which hold for
       every order and every fusing. Where the contract states an order so that all backends
       give the same bits, these are demanded of it only if that order was asked for
       (--order). */
    bool free_order;

    /* What --backend takes for it, if that is not its name: "pipe:python3 mine.py". Commands that
       repeat a result say this. NULL: the name. */
    const char *spelled;

    /* The backend's own data, which `open` finds here. A copy of the table copies the pointer. */
    const void *self;

    /* NULL if the backend can run here, otherwise a line that says why not. */
    const char *(*unavailable)(void);

    /* Opens a queue of `backend`, this very table or a changed copy of it. It has `threads`
       threads, if the backend has threads (0: as many as there are cores). HC_OK, HC_NO_MEMORY or
       HC_DEVICE. */
    enum hc_status (*open)(const struct hc_backend *backend, struct hc_queue **queue, int threads);
    void (*close)(struct hc_queue *queue);

    /* `allocate` gives memory that the kernels can use, aligned to 64. It gives NULL, with a line
       that says how much was wanted, if there is no more or the device is lost. `upload` and
       `download` copy between it and host memory, behind what was queued before. When `download`
       returns the numbers are there. When `upload` returns the caller may change or free `from`,
       though the copy may still be queued. */
    void *(*allocate)(struct hc_queue *queue, size_t bytes);
    void (*release)(struct hc_queue *queue, void *memory);
    enum hc_status (*upload)(struct hc_queue *queue, void *to, const void *from, size_t bytes);
    enum hc_status (*download)(struct hc_queue *queue, void *to, const void *from, size_t bytes);

    /* Queues the writing of zeros into the backend's memory. NULL: callers upload zeros instead. */
    enum hc_status (*clear)(struct hc_queue *queue, void *to, size_t bytes);

    /* The bytes of scratch that the call needs, whatever its data pointers are. A NULL slot means
       none for any call. */
    size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call);

    /* Graphs: a list of kernel calls that is recorded once and run many times, on the same memory
       with the same parameters. All four are NULL if a backend has none.

       From `capture` to `captured` the kernels of this queue record what they would have queued,
       and nothing runs. Kernels may be called and the scratch slot may be asked, nothing else:
       allocate, release, upload, download, clear and replay fail with a line and spoil the capture.
       Every call must have run on this queue before, so that its plans are made and its kernels
       loaded. Whoever began a capture ends it, also after a kernel failed. `captured` then gives a
       graph, or HC_DEVICE or HC_NO_MEMORY with the line of what spoilt it, and sets *graph to NULL.

       `replay` queues all of it behind what was queued before; errors are reported as those of
       kernels are. `forget` waits for the queue and frees the graph, which may be NULL. A graph is
       forgotten before its queue is closed and before the memory that it works on is released. */
    enum hc_status (*capture)(struct hc_queue *queue);
    enum hc_status (*captured)(struct hc_queue *queue, struct hc_graph **graph);
    enum hc_status (*replay)(struct hc_queue *queue, struct hc_graph *graph);
    void (*forget)(struct hc_queue *queue, struct hc_graph *graph);

    /* Tells facts for the record, each once, in a fixed order: those of the machine ("gpu",
       "capability", "driver", "cuda", "cublas", "cudnn"); and, if the queue is not NULL, what it
       has chosen so far (plans, instruction sets), under names of the backend's own. A NULL slot:
       nothing to tell. Not called if the backend is unavailable. */
    void (*describe)(struct hc_queue *queue, hc_tell *tell, void *context);

    /* What the queue has been given so far. NULL: the backend does not count. */
    struct hc_work (*work)(const struct hc_queue *queue);

    /* Sweeps whose results are judged in place, so that 2^32 of them need not be copied. Both
       are NULL if a backend has none. The call is a cast from fp32 or i32 into fp16 or bf16, or
       add, sub, mul or div of fp16 or bf16; its tensors [n], n <= 2^24, lie in the backend's
       memory. Operands are numbered: number k means the bits k of a cast's input, or x = k >> 16
       and y = k & 65535. HC_UNSUPPORTED for other calls.

       `operands` queues the writing of the inputs, by their numbers from `first` on, and of
       HC_UNWRITTEN into the output. `judge` queues the comparison of the output with the results of
       num/integer16.h, which it computes from the numbers and not from the inputs, and adds to
       *judged in the backend's memory. */
    enum hc_status (*operands)(struct hc_queue *queue, const struct hc_call *call, uint32_t first);
    enum hc_status (*judge)(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                            struct hc_judged *judged);

    /* The stream on which the queue's work stands, behind all that it was given: a cudaStream_t,
       for a library that queues work of its own there. NULL, with a line, while the queue captures
       or after an error. A NULL slot: the backend has no streams. */
    void *(*stream)(struct hc_queue *queue);

    /* Runs a call of a definition, which it knows by its digest, as a kernel does, and promises the
       same. HC_UNSUPPORTED: it knows another text, or none of this name, or does not take these
       formats or shapes. NULL: it takes no definitions, and their cases do not run on it. */
    enum hc_status (*defined)(struct hc_queue *queue, const struct hc_defined_call *call);

    /* By op. NULL: unimplemented. */
    hc_kernel *kernel[HC_OP_ROOM];
};

/* What a plug-in exports. `abi` is the first member in every version; of another version nothing
   else is read. */
struct hc_plugin {
    unsigned abi; /* HC_BACKEND_ABI */
    int count;
    const struct hc_backend *const *backends;
};

/* A plug-in is a shared object that exports one function of this type under the name hc_plugin.
   `fail` is the program's hc_fail; a plug-in's own copy of hc_fail would keep its lines to
   itself. */
typedef enum hc_status hc_fail_function(enum hc_status status, const char *format, ...);
typedef const struct hc_plugin *hc_plugin_entry(hc_fail_function *fail);

/* All backends in a fixed order: those built in; those of the plug-in halfcheck-cuda, which are
   unavailable if it could not be loaded; those of the plug-ins of the command line. *n is their
   number. */
const struct hc_backend *const *hc_backends(int *n);

/* Only those built in. Loads no plug-in. */
const struct hc_backend *const *hc_backends_built_in(int *n);

/* Opens a queue, as the table's `open` does. The libraries that it loads may leave the thread's
   arithmetic changed: that is undone, and said on standard error. */
enum hc_status hc_backend_open(const struct hc_backend *backend, struct hc_queue **queue,
                               int threads);

/* HC_UNSUPPORTED with a line if the backend has no kernel for the call's op, or none in fp64.
   Whoever calls a kernel asks first. */
enum hc_status hc_backend_has(const struct hc_backend *backend, const struct hc_call *call);

/* Whether a bound can be derived from it. */
bool hc_accumulator_possible(const struct hc_accumulator *accumulator);

/* Whether the two sum alike. */
bool hc_accumulator_same(const struct hc_accumulator *a, const struct hc_accumulator *b);

/* How the backend sums the products of the call; bounds follow from it. In gemm, what was found out
   (hc_backend_found) comes before what the backend states. If `accumulates` gives an impossible
   answer, `accumulator` holds. */
struct hc_accumulator hc_backend_accumulator(const struct hc_backend *backend,
                                             const struct hc_call *call);

/* Keeps what was found out about the sums of products of that format (tf32: of fp32 that may be
   taken as such) on the backend of this name. `doubt` is NULL; or it says why bounds that follow
   from what the backend states may be too small, and then these stay as they are. Call it before
   cases run. */
void hc_backend_found(const char *backend, enum hc_format format,
                      const struct hc_accumulator *accumulator, const char *doubt);

/* The accumulator that was found for the call. False if there is none, or it is in doubt. */
bool hc_backend_found_of(const struct hc_backend *backend, const struct hc_call *call,
                         struct hc_accumulator *found);

/* The doubt about bounds of the call, which sums products, or NULL. */
const char *hc_backend_doubt(const struct hc_backend *backend, const struct hc_call *call);

/* The backend of that name, or NULL. Loads halfcheck-cuda only if no other backend has the name. */
const struct hc_backend *hc_backend_by_name(const char *name);

#endif
