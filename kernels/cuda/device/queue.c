#include "kernels/cuda/device/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/library/handles.h"

/* An error here was reported by an earlier call. */
void hc_cuda_close(struct hc_queue *queue)
{
    (void)hc_cuda_settle(queue);
    if (queue->stream)
        (void)cudaStreamSynchronize(queue->stream);
    hc_libraries_close(queue->libraries);
    (void)cudaFree(queue->workspace);
    hc_cuda_memory_close(queue);
    if (queue->stream)
        (void)cudaStreamDestroy(queue->stream);
    free(queue);
}

static enum hc_status open_libraries(struct hc_queue *queue)
{
    const struct hc_library *library;
    size_t counters = HC_CUDA_COUNTERS * sizeof *queue->counters;
    enum hc_status status = hc_library_load(&library);
    if (status == HC_OK)
        status = hc_cuda_check(cudaMalloc(&queue->workspace, HC_BLAS_WORKSPACE + counters),
                               "cuBLAS's workspace");
    if (status == HC_OK) {
        queue->counters = (unsigned *)((char *)queue->workspace + HC_BLAS_WORKSPACE);
        status = hc_cuda_clear(queue, queue->counters, counters);
    }
    if (status == HC_OK)
        status = hc_libraries_open(&queue->libraries, library, queue->stream, queue->workspace);
    return status;
}

/* why: the reason that there is no queue, or NULL. */
static enum hc_status open_queue(struct hc_queue **queue, const char *why, bool with_libraries)
{
    cudaStream_t stream = NULL;
    if (why)
        return hc_fail(HC_DEVICE, "cuda: %s", why);
    struct hc_queue *q = calloc(1, sizeof *q);
    if (!q)
        return hc_fail(HC_NO_MEMORY, "cuda: no memory for a queue");
    char what[32];
    (void)snprintf(what, sizeof what, "taking device %d", hc_cuda_number());
    enum hc_status status = hc_cuda_check(cudaSetDevice(hc_cuda_number()), what);
    if (status == HC_OK)
        status = hc_cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                               "making a stream");
    q->stream = stream;
    if (status == HC_OK)
        status = hc_cuda_memory_open(q);
    if (status == HC_OK && with_libraries)
        status = open_libraries(q);
    if (status == HC_OK)
        *queue = q;
    else
        hc_cuda_close(q);
    return status;
}

enum hc_status hc_cuda_open(const struct hc_backend *backend, struct hc_queue **queue, int threads)
{
    (void)backend;
    (void)threads;
    return open_queue(queue, hc_cuda_unavailable(), true);
}

enum hc_status hc_cuda_open_without_libraries(const struct hc_backend *backend,
                                              struct hc_queue **queue, int threads)
{
    (void)backend;
    (void)threads;
    return open_queue(queue, hc_cuda_no_device(), false);
}

void *hc_cuda_stream(struct hc_queue *queue)
{
    if (!hc_cuda_capture_allows(queue, "stream") || hc_cuda_settle(queue) != HC_OK)
        return NULL;
    return queue->stream;
}
