#include "kernels/cuda/capture.h"

#include "kernels/cuda/cuda.h"

bool hc_cuda_capture_allows(struct hc_queue *queue, const char *what)
{
    if (!queue->capturing)
        return hc_cuda_settle(queue) == HC_OK;
    if (!queue->capture_error)
        queue->capture_error = what;
    (void)hc_fail(HC_DEVICE, "cuda: %s while a graph is captured", what);
    return false;
}

void hc_cuda_capture_completes(struct hc_queue *queue)
{
    if (hc_cuda_settle(queue) != HC_OK && !queue->capture_error)
        queue->capture_error = "failed launch";
}

enum hc_status hc_cuda_capture_ends(struct hc_queue *queue)
{
    const char *capture_error = queue->capture_error;
    queue->capturing = false;
    queue->capture_error = NULL;
    if (!capture_error)
        return HC_OK;
    return hc_fail(HC_DEVICE, "cuda: no graph: %s while it was captured", capture_error);
}
