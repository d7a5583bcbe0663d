#include "kernels/cuda/emulate/graph.h"

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/stream.h"

enum hc_status hc_emulated_capture(struct hc_queue *queue)
{
    if (!hc_cuda_capture_allows(queue, "capture"))
        return HC_DEVICE;
    if (!hc_emulated_stream_begin_capture(queue->stream))
        return hc_fail(HC_NO_MEMORY, "cuda-emulated: no memory for a graph");
    queue->capturing = true;
    return HC_OK;
}

enum hc_status hc_emulated_captured(struct hc_queue *queue, struct hc_graph **graph)
{
    *graph = hc_emulated_stream_end_capture(queue->stream);
    enum hc_status status = hc_cuda_capture_ends(queue);
    if (status != HC_OK) {
        hc_graph_free(*graph);
        *graph = NULL;
    }
    return status;
}

enum hc_status hc_emulated_replay(struct hc_queue *queue, struct hc_graph *graph)
{
    if (!hc_cuda_capture_allows(queue, "replay"))
        return HC_DEVICE;
    hc_graph_run(graph, queue->stream);
    return HC_OK;
}

void hc_emulated_forget(struct hc_queue *queue, struct hc_graph *graph)
{
    (void)queue;
    hc_graph_free(graph);
}
