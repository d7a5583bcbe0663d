#include "kernels/cuda/capture.h"

#include "kernels/cuda/cuda.h"

bool hc_cuda_may(struct hc_queue *queue, const char *what)
{
    if (!queue->capturing)
        return true;
    if (!queue->spoilt)
        queue->spoilt = what;
    (void)hc_fail(HC_DEVICE, "cuda: %s while a graph is captured", what);
    return false;
}

enum hc_status hc_cuda_capture_ends(struct hc_queue *queue)
{
    const char *spoilt = queue->spoilt;
    queue->capturing = false;
    queue->spoilt = NULL;
    if (!spoilt)
        return HC_OK;
    return hc_fail(HC_DEVICE, "cuda: no graph: %s while it was captured", spoilt);
}
