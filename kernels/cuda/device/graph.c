/* Graphs: the work of a stream is captured, and launched as one. */
#include <stdlib.h>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device/device.h"

struct hc_graph {
    cudaGraphExec_t executable;
};

/* The mode is thread-local, so that other threads may use their own streams meanwhile. */
enum hc_status hc_cuda_capture(struct hc_queue *queue)
{
    if (!hc_cuda_capture_allows(queue, "capture"))
        return HC_DEVICE;
    enum hc_status status = hc_cuda_check(
        cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeThreadLocal), "capture");
    queue->capturing = status == HC_OK;
    return status;
}

/* The stream's capture has to end in any case, and before its graph is used. */
enum hc_status hc_cuda_captured(struct hc_queue *queue, struct hc_graph **graph)
{
    cudaGraph_t captured = NULL;
    struct hc_graph *g = calloc(1, sizeof *g);
    hc_cuda_capture_completes(queue);
    cudaError_t error = cudaStreamEndCapture(queue->stream, &captured);
    enum hc_status status = hc_cuda_capture_ends(queue);
    *graph = NULL;
    if (!g)
        status = hc_fail(HC_NO_MEMORY, "cuda: no memory for a graph");
    if (status == HC_OK)
        status = hc_cuda_check(error, "end of the capture");
    if (g && status == HC_OK)
        status = hc_cuda_check(cudaGraphInstantiate(&g->executable, captured, 0), "graph");
    if (captured)
        (void)cudaGraphDestroy(captured);
    if (g && status == HC_OK)
        status = hc_cuda_check(cudaGraphUpload(g->executable, queue->stream), "graph's upload");
    if (status == HC_OK)
        *graph = g;
    else
        hc_cuda_forget(queue, g);
    return status;
}

enum hc_status hc_cuda_replay(struct hc_queue *queue, struct hc_graph *graph)
{
    if (!hc_cuda_capture_allows(queue, "replay"))
        return HC_DEVICE;
    return hc_cuda_check(cudaGraphLaunch(graph->executable, queue->stream), "replay");
}

/* An error here was reported by an earlier call. */
void hc_cuda_forget(struct hc_queue *queue, struct hc_graph *graph)
{
    if (graph && graph->executable) {
        (void)cudaStreamSynchronize(queue->stream);
        (void)cudaGraphExecDestroy(graph->executable);
    }
    free(graph);
}
