/* A call's tensors and scratch as what is under test gets them: copied into one block of the
   backend's memory, each between guard bytes. What a kernel does to its inputs and outside its
   tensors can be seen there on every backend, and the caller's own inputs stay as they were. Calls
   of ops and calls of definitions are guarded alike. */
#ifndef HC_CHECK_GUARDED_H
#define HC_CHECK_GUARDED_H

#include "backend.h"

enum { HC_GUARD_BYTES = 256 }; /* on each side of a region */

/* A line about something that no kernel may do; empty: nothing. */
struct hc_breach {
    char text[240];
};

/* An operand of a call. */
struct hc_guarded_operand {
    const char *name;
    const struct hc_tensor *host; /* the caller's tensor */
    struct hc_tensor *inside;     /* that of the call which runs; its data come to lie in the block,
                                     or are NULL if the caller's are */
    int region;                   /* its place in the block, or -1; hc_guarded_open sets it */
};

/* The bytes of one tensor, or of the scratch. */
struct hc_region {
    const char *name;              /* the operand's, or "scratch" */
    const struct hc_tensor *input; /* the caller's, if it is an input; or NULL */
    unsigned char *host;           /* the caller's data; NULL for scratch */
    size_t at;                     /* in the block */
    size_t bytes;
    size_t in_bytes;  /* so many of them are an input's, and are brought in */
    size_t out_bytes; /* so many of them are an output's, and may be written */
};

/* Runs a call whose tensors lie in the block: an op's kernel, or the backend's `defined`. */
typedef enum hc_status hc_guarded_runs(const struct hc_backend *backend, struct hc_queue *queue,
                                       const void *call);

struct hc_guarded {
    /* Whoever guards a call sets these, and zeros the rest. */
    const struct hc_backend *backend;
    struct hc_queue *queue;
    const char *name; /* of the op or the definition */
    int inputs;
    int outputs;
    struct hc_guarded_operand *operand; /* the inputs, then the outputs */
    struct hc_region *region;           /* room for one more than operands */
    void **scratch;                     /* where the call has its scratch, or NULL: it has none */
    size_t scratch_bytes;
    hc_guarded_runs *run;
    const void *call;  /* for `run` */
    bool repeats;      /* the same call gives the same bits */
    bool always_twice; /* even if it is a large one */
    bool built_in;     /* an op's kernel of this program, which sets no limits of the process */

    int count; /* of regions */
    size_t bytes;
    void *block; /* in the backend's memory */
    unsigned char
        *image; /* the block in host memory; the block itself where the backend works there */
    unsigned char *kept; /* a copy of the image, as the first run left it, or NULL */
    uint64_t salt;       /* makes the bytes outside the tensors of a second run */
};

/* Makes the block. HC_NO_MEMORY if there is none. Operands and regions outlive it. Close it in any
   case. */
enum hc_status hc_guarded_open(struct hc_guarded *g);
void hc_guarded_close(struct hc_guarded *g);

/* Brings the inputs in, fills everything else, runs the call and looks at what that did; and most
   calls twice, on two fillings. The status of the run, or of a copy. `breach`, which was empty,
   says what the kernel did that it may not. */
enum hc_status hc_guarded_run(struct hc_guarded *g, struct hc_breach *breach);

/* Copies the outputs, those of the first run, to the caller's tensors. */
void hc_guarded_write_back(const struct hc_guarded *g);

#endif
