/* A backend, its queue, and the scratch memory that its kernels ask for. */
#ifndef HC_TRAIN_NET_DEVICE_H
#define HC_TRAIN_NET_DEVICE_H

#include "backend.h"

enum { HC_SCRATCH_KEPT = 8 };

/* The caller owns backend and queue, and may fill this in by hand ({.backend = b, .queue = q}).
   hc_device_end frees the scratch. */
struct hc_device {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    void *scratch;
    size_t scratch_bytes;

    /* Bytes of the backend's memory that are allocated now, and the most that were at once. */
    int64_t bytes;
    int64_t peak;

    /* Set while a graph uses the scratch. If the scratch must grow then, the old memory is kept for
       the graph.
       */
    bool held;
    void *kept[HC_SCRATCH_KEPT];
    size_t kept_bytes[HC_SCRATCH_KEPT];
    int kept_count;

    /* If not NULL, the digest of every call is added to it (op/digest.h). The backend's memory is
       then host memory, and it has no graphs. */
    uint64_t *digest;

    /* If not NULL, sees every call before its kernel runs: so a case checks each op of a training
       step on the tensors that it met. */
    void (*observe)(const struct hc_call *call, void *context);
    void *context;

    /* If not NULL, runs every call in the kernel's place (the roundings of drift_rounding.c). */
    enum hc_status (*override)(struct hc_device *device, const struct hc_call *call, void *context);
    void *override_context;
};

void hc_device_end(struct hc_device *device);

/* Runs one call whose tensors lie in the backend's memory; fills in its scratch. Scratch grows to
   the largest need seen and stays, so that a step like the one before it allocates nothing.
   HC_UNSUPPORTED if the backend lacks the op, else what hc_call_check or the kernel returned. */
enum hc_status hc_device_run(struct hc_device *device, struct hc_call *call);

/* Memory of the backend, zeroed or not. NULL with a line if there is none. It is released with the
   same number of bytes; NULL is fine. */
void *hc_device_memory(struct hc_device *device, size_t bytes);
void *hc_device_memory_unset(struct hc_device *device, size_t bytes);
void hc_device_release(struct hc_device *device, void *memory, size_t bytes);

/* Rounds each element of `from` into the format of `to`, to nearest; both lie in the backend's
   memory. */
enum hc_status hc_device_cast(struct hc_device *device, struct hc_tensor from, struct hc_tensor to);

#endif
