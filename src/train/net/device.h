/* A backend, its queue, and the scratch memory that its kernels ask for. */
#ifndef HC_TRAIN_NET_DEVICE_H
#define HC_TRAIN_NET_DEVICE_H

#include "backend.h"

enum { HC_SCRATCH_KEPT = 8 };

/* The caller owns backend and queue and may fill this in by hand ({.backend = b, .queue = q});
   hc_device_end gives the scratch back. */
struct hc_device {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    void *scratch;
    size_t scratch_bytes;

    /* Of the backend's memory: what is held now, and the most that was held at once. */
    int64_t bytes;
    int64_t peak;

    /* Set while a graph uses the scratch: when it must grow, what was there is kept for the graph.
       */
    bool held;
    void *kept[HC_SCRATCH_KEPT];
    size_t kept_bytes[HC_SCRATCH_KEPT];
    int kept_count;

    /* Sees every call before its kernel runs, where not NULL: so a case checks each op of a
       training step on the tensors that it met. */
    void (*observe)(const struct hc_call *call, void *context);
    void *context;

    /* Runs every call in the kernel's place, where not NULL (drift.c's roundings). */
    enum hc_status (*override)(struct hc_device *device, const struct hc_call *call, void *context);
    void *override_context;
};

void hc_device_end(struct hc_device *device);

/* Runs one call whose tensors lie in the backend's memory; its scratch is filled in. Scratch grows
   to the largest need seen and stays: a step that is like the one before allocates nothing.
   HC_UNSUPPORTED when the backend lacks the op, else what hc_call_check or the kernel returned. */
enum hc_status hc_device_run(struct hc_device *device, struct hc_call *call);

/* Memory of the backend, zeroed or not; NULL with a line when there is none. Given back with the
   same number of bytes; NULL is fine. */
void *hc_device_memory(struct hc_device *device, size_t bytes);
void *hc_device_memory_unset(struct hc_device *device, size_t bytes);
void hc_device_release(struct hc_device *device, void *memory, size_t bytes);

/* Rounds each element of `from` into the format of `to`, to nearest; both lie in the backend's
   memory. */
enum hc_status hc_device_cast(struct hc_device *device, struct hc_tensor from, struct hc_tensor to);

#endif
