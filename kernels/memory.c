#include "kernels/memory.h"

#include <stdlib.h>
#include <string.h>

struct hc_queue {
    char unused;
};

enum hc_status hc_memory_open(const struct hc_backend *backend, struct hc_queue **queue,
                              int threads)
{
    (void)backend;
    (void)threads;
    *queue = malloc(sizeof **queue);
    return *queue ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for a queue");
}

void hc_memory_close(struct hc_queue *queue)
{
    free(queue);
}

void *hc_memory_allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory)
        (void)hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", bytes);
    return memory;
}

void hc_memory_release(struct hc_queue *queue, void *memory)
{
    (void)queue;
    free(memory);
}

enum hc_status hc_memory_copy(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    memcpy(to, from, bytes);
    return HC_OK;
}
