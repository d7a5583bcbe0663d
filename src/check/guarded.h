/* A call's tensors and scratch as a kernel under test gets them: copied into one block of the
   backend's memory, each between guard bytes. What the kernel does to its inputs and outside its
   tensors can be seen there on every backend, and the caller's own inputs stay as they were. */
#ifndef HC_CHECK_GUARDED_H
#define HC_CHECK_GUARDED_H

#include "backend.h"

enum { HC_GUARD_BYTES = 256 }; /* on each side of a region */

/* A line about something that no kernel may do; empty: nothing. */
struct hc_breach {
    char text[240];
};

/* The bytes of one tensor, or of the scratch. */
struct hc_region {
    const char *name;    /* the slot's, or "scratch" */
    int input;           /* the slot that it is an input of, or -1 */
    unsigned char *host; /* the caller's tensor; NULL for scratch */
    size_t at;           /* in the block */
    size_t bytes;
    size_t in_bytes;  /* so many of them are an input's, and are brought in */
    size_t out_bytes; /* so many of them are an output's, and the kernel may write them */
};

struct hc_guarded {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    const struct hc_call *host; /* the caller's call */
    struct hc_call call;        /* the same call on the tensors in the block */
    struct hc_region region[HC_MAX_IN + HC_MAX_OUT + 1];
    int count;
    int output[HC_MAX_OUT]; /* the region of each output, -1 if it is absent or empty */
    size_t bytes;
    void *block; /* in the backend's memory */
    unsigned char
        *image; /* the block in host memory; the block itself where the backend works there */
    unsigned char *kept; /* a copy of the image, or NULL */
    uint64_t salt;       /* makes the bytes outside the tensors of a second run */
};

/* What memory holds before a kernel runs: a call that runs a second time finds other bytes
   there. */
enum hc_prefill { HC_PREFILL_FIRST, HC_PREFILL_SECOND };

/* What every byte of an output is before a run: parts of an ordinary number, which few results
   are. */
extern const unsigned char hc_prefill_of_outputs[];

/* Writes what the bytes from .. to - 1 of scratch and guards are before a run. */
void hc_prefill_outside(const struct hc_guarded *g, enum hc_prefill prefill, size_t from, size_t to,
                        unsigned char *bytes);

/* HC_NO_MEMORY if there is none. The call outlives the block. Close it in any case. */
enum hc_status hc_guarded_open(struct hc_guarded *g, const struct hc_backend *backend,
                               struct hc_queue *queue, const struct hc_call *call);
void hc_guarded_close(struct hc_guarded *g);

/* Brings the inputs in, fills everything else, runs the kernel and looks at what it did: notes a
   breach unless one is noted. The status of the kernel, or of a copy. */
enum hc_status hc_guarded_run(struct hc_guarded *g, enum hc_prefill prefill,
                              struct hc_breach *breach);

/* Whether the kernel, which refused the call, takes it with zeros in all inputs. */
bool hc_guarded_takes_zeros(const struct hc_guarded *g);

/* Keeps a copy of what the first run left. HC_NO_MEMORY if there is no memory for it. */
enum hc_status hc_guarded_keep(struct hc_guarded *g);

/* Copies the outputs, those of the first run, to the caller's tensors. */
void hc_guarded_write_back(const struct hc_guarded *g);

/* What the kernel did. After a run: guards, inputs, and the outputs of a refused call. */
void hc_breach_look(const struct hc_guarded *g, enum hc_prefill prefill, bool refused,
                    struct hc_breach *breach);

/* Whether an element of an output still holds what the first run's filling left there. */
bool hc_breach_suspected(const struct hc_guarded *g);

/* The outputs of the second run against the kept ones of the first: every element must be written,
   and all bits must repeat unless the op's order is free and the backend is `nondeterministic`. */
void hc_breach_compare(const struct hc_guarded *g, struct hc_breach *breach);

#endif
