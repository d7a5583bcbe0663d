#include "kernels/cuda/pending.h"

#include <assert.h>
#include <string.h>

#include "kernels/cuda/cuda.h"

enum hc_status hc_launch_later(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                               int threads, size_t shared, const void *args, size_t args_size)
{
    struct hc_pending *p = &queue->pending;
    enum hc_status status = hc_cuda_settle(queue);
    if (status != HC_OK)
        return status;
    assert(args_size <= sizeof p->args);
    p->waits = true;
    p->which = which;
    p->blocks = blocks;
    p->threads = threads;
    p->shared = shared;
    p->size = args_size;
    memcpy(&p->args, args, args_size);
    return HC_OK;
}

enum hc_status hc_cuda_settle(struct hc_queue *queue)
{
    struct hc_pending *p = &queue->pending;
    if (!p->waits)
        return HC_OK;
    p->waits = false;
    return hc_launch(queue, p->which, p->blocks, p->threads, p->shared, &p->args, p->size);
}
