/* The fast CPU backend. */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/exact/exact.h"

struct hc_queue {
    char unused;
};

static enum hc_status open_queue(struct hc_queue **queue, int threads)
{
    (void)threads;
    *queue = malloc(sizeof **queue);
    return *queue ? HC_OK : hc_fail(HC_NO_MEMORY, "host: no memory for a queue");
}

static void close_queue(struct hc_queue *queue)
{
    free(queue);
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(struct hc_queue *queue, void *memory)
{
    (void)queue;
    free(memory);
}

static enum hc_status copy(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    memcpy(to, from, bytes);
    return HC_OK;
}

const struct hc_backend hc_backend_host = {
    .abi = HC_BACKEND_ABI,
    .name = "host",
    .title = "fast CPU kernels",
    .accumulator = {.precision = 24, .block = 1, .extra_bits = 0, .truncates = false},
    .host_memory = true,
    .open = open_queue,
    .close = close_queue,
    .allocate = allocate,
    .release = release,
    .upload = copy,
    .download = copy,
    .scratch = hc_exact_scratch,
    .kernel =
        {
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = hc_exact_##name,
#include "op/ops.def"
#undef HC_OP
        },
};
