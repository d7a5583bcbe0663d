/* Slots of the vtable for backends whose kernels work in the caller's memory. */
#ifndef HC_KERNELS_MEMORY_H
#define HC_KERNELS_MEMORY_H

#include "backend.h"

/* An empty queue, for a backend that keeps nothing in one. */
enum hc_status hc_memory_open(const struct hc_backend *backend, struct hc_queue **queue,
                              int threads);
void hc_memory_close(struct hc_queue *queue);

void *hc_memory_allocate(struct hc_queue *queue, size_t bytes);
void hc_memory_release(struct hc_queue *queue, void *memory);

/* Upload and download. */
enum hc_status hc_memory_copy(struct hc_queue *queue, void *to, const void *from, size_t bytes);

/* The slots of a backend that keeps nothing in a queue. */
#define HC_IN_MEMORY                                                                               \
    .host_memory = true, .concurrent = true, .open = hc_memory_open, .close = hc_memory_close,     \
    .allocate = hc_memory_allocate, .release = hc_memory_release, .upload = hc_memory_copy,        \
    .download = hc_memory_copy

#endif
