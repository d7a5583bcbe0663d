#include "kernels/cuda/device/device.h"

#include <stdlib.h>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/libraries.h"

enum hc_status hc_cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return HC_OK;
    return hc_fail(error == cudaErrorMemoryAllocation ? HC_NO_MEMORY : HC_DEVICE, "cuda: %s: %s",
                   what, cudaGetErrorString(error));
}

/* What fails here failed before, and was told then. */
void hc_cuda_close(struct hc_queue *queue)
{
    if (queue->stream)
        (void)cudaStreamSynchronize(queue->stream);
    hc_libraries_close(queue->libraries);
    (void)cudaFree(queue->workspace);
    if (queue->stream)
        (void)cudaStreamDestroy(queue->stream);
    free(queue);
}

static enum hc_status make_stream(struct hc_queue *queue)
{
    cudaStream_t stream = NULL;
    enum hc_status status = hc_cuda_check(cudaSetDevice(0), "taking device 0");
    if (status == HC_OK)
        status = hc_cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                               "making a stream");
    queue->stream = stream;
    return status;
}

enum hc_status hc_cuda_open(struct hc_queue **queue, int threads)
{
    (void)threads;
    const struct hc_library *library;
    const char *why = hc_cuda_unavailable();
    if (why)
        return hc_fail(HC_DEVICE, "cuda: %s", why);
    struct hc_queue *q = calloc(1, sizeof *q);
    if (!q)
        return hc_fail(HC_NO_MEMORY, "cuda: no memory for a queue");
    enum hc_status status = make_stream(q);
    if (status == HC_OK)
        status = hc_cuda_check(cudaMalloc(&q->workspace, HC_BLAS_WORKSPACE), "cuBLAS's workspace");
    if (status == HC_OK)
        status = hc_library_load(&library);
    if (status == HC_OK)
        status = hc_libraries_open(&q->libraries, library, q->stream, q->workspace);
    if (status == HC_OK)
        *queue = q;
    else
        hc_cuda_close(q);
    return status;
}

void *hc_cuda_allocate(struct hc_queue *queue, size_t bytes)
{
    void *memory = NULL;
    if (!hc_cuda_may(queue, "allocate"))
        return NULL;
    if (hc_cuda_check(cudaMalloc(&memory, bytes), "cudaMalloc") == HC_OK)
        return memory;
    (void)cudaGetLastError(); /* that there was no memory is no error of the next launch */
    return NULL;
}

/* cudaFree waits for the kernels that may use the memory. */
void hc_cuda_release(struct hc_queue *queue, void *memory)
{
    if (hc_cuda_may(queue, "release"))
        (void)cudaFree(memory);
}

static enum hc_status copy(struct hc_queue *queue, void *to, const void *from, size_t bytes,
                           enum cudaMemcpyKind kind, const char *what)
{
    enum hc_status status = HC_OK;
    if (!hc_cuda_may(queue, what))
        return HC_DEVICE;
    if (bytes > 0)
        status = hc_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, queue->stream), what);
    if (status == HC_OK)
        status = hc_cuda_check(cudaStreamSynchronize(queue->stream), what);
    return status;
}

enum hc_status hc_cuda_upload(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    return copy(queue, to, from, bytes, cudaMemcpyHostToDevice, "upload");
}

enum hc_status hc_cuda_download(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    return copy(queue, to, from, bytes, cudaMemcpyDeviceToHost, "download");
}
