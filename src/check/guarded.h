/* A call's tensors and scratch as a kernel under test gets them: copied into one block of the
   backend's memory, each with guard bytes on both sides. What the kernel does to its inputs and
   beside its tensors is seen there, on every backend, and the caller's own inputs stay as they
   were. */
#ifndef HC_CHECK_GUARDED_H
#define HC_CHECK_GUARDED_H

#include "backend.h"

/* A line about what a kernel did that no kernel may do; empty: nothing. */
struct hc_breach {
    char text[240];
};

/* The bytes of one tensor or of the scratch. */
struct hc_region {
    const char *side; /* "in", "out", or "scratch" */
    int slot;
    unsigned char *host; /* the caller's; NULL for scratch */
    size_t at;           /* in the block */
    size_t bytes;
    size_t in_bytes;  /* of these, an input's: brought in */
    size_t out_bytes; /* and an output's: the kernel may write them */
};

struct hc_guarded {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    const struct hc_call *host; /* the caller's call */
    struct hc_call call;        /* the same in the block */
    struct hc_region region[HC_MAX_IN + HC_MAX_OUT + 1];
    int count;
    size_t bytes;
    void *block;          /* the backend's memory */
    unsigned char *image; /* the block in host memory; itself where the backend works there */
    unsigned char *kept;  /* a copy of the image, or NULL */
    uint64_t salt;        /* of what stands outside the tensors in a second run */
};

/* What memory holds before a kernel runs: a call that is run a second time finds other bytes
   there. */
enum hc_prefill { HC_PREFILL_FIRST, HC_PREFILL_SECOND };

/* HC_NO_MEMORY. The call outlives it. Closed in any case. */
enum hc_status hc_guarded_open(struct hc_guarded *g, const struct hc_backend *backend,
                               struct hc_queue *queue, const struct hc_call *call);
void hc_guarded_close(struct hc_guarded *g);

/* Brings the inputs in, fills everything else, runs the kernel and looks at what it did: a breach
   is noted unless one stands. The status of the kernel, or of a copy. */
enum hc_status hc_guarded_run(struct hc_guarded *g, enum hc_prefill prefill,
                              struct hc_breach *breach);

/* Whether the kernel, which refused the call, takes it with zeros in all inputs. */
bool hc_guarded_takes_zeros(const struct hc_guarded *g);

/* Whether an output has an element that holds what the first filling left there. */
bool hc_guarded_unwritten(const struct hc_guarded *g);

/* Keeps what the first run left. HC_NO_MEMORY. */
enum hc_status hc_guarded_keep(struct hc_guarded *g);

/* The outputs of the second run against the kept ones of the first: no element may be unwritten,
   and all bits must repeat unless the op's order is free and the backend is `nondeterministic`. */
void hc_guarded_compare(const struct hc_guarded *g, struct hc_breach *breach);

/* Copies the outputs, those of the first run, to the caller's. */
void hc_guarded_give(const struct hc_guarded *g);

#endif
