#include "kernels/cuda/device/device.h"

#include <stdlib.h>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/library/handles.h"

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

/* Without the libraries. */
static enum hc_status open_bare(struct hc_queue **queue)
{
    struct hc_queue *q = calloc(1, sizeof *q);
    *queue = q;
    return q ? make_stream(q) : hc_fail(HC_NO_MEMORY, "cuda: no memory for a queue");
}

static enum hc_status open_libraries(struct hc_queue *queue)
{
    const struct hc_library *library;
    enum hc_status status = hc_library_load(&library);
    if (status == HC_OK)
        status =
            hc_cuda_check(cudaMalloc(&queue->workspace, HC_BLAS_WORKSPACE), "cuBLAS's workspace");
    if (status == HC_OK)
        status = hc_libraries_open(&queue->libraries, library, queue->stream, queue->workspace);
    return status;
}

static enum hc_status open_queue(struct hc_queue **queue, const char *why, bool bare)
{
    struct hc_queue *q;
    if (why)
        return hc_fail(HC_DEVICE, "cuda: %s", why);
    enum hc_status status = open_bare(&q);
    if (status == HC_OK && !bare)
        status = open_libraries(q);
    if (status == HC_OK)
        *queue = q;
    else if (q)
        hc_cuda_close(q);
    return status;
}

enum hc_status hc_cuda_open(struct hc_queue **queue, int threads)
{
    (void)threads;
    return open_queue(queue, hc_cuda_unavailable(), false);
}

enum hc_status hc_cuda_open_bare(struct hc_queue **queue, int threads)
{
    (void)threads;
    return open_queue(queue, hc_cuda_no_device(), true);
}

void *hc_cuda_allocate(struct hc_queue *queue, size_t bytes)
{
    void *memory = NULL;
    size_t left = 0;
    size_t all = 0;
    if (!hc_cuda_capture_allows(queue, "allocate"))
        return NULL;
    enum hc_status status = hc_cuda_check(cudaMalloc(&memory, bytes), "cudaMalloc");
    if (status == HC_NO_MEMORY && cudaMemGetInfo(&left, &all) == cudaSuccess)
        (void)hc_fail(HC_NO_MEMORY,
                      "cuda: no memory for %zu bytes on the device: %zu of its %zu are free", bytes,
                      left, all);
    return status == HC_OK ? memory : NULL;
}

/* cudaFree waits for the kernels that may use the memory. */
void hc_cuda_release(struct hc_queue *queue, void *memory)
{
    if (hc_cuda_capture_allows(queue, "release"))
        (void)cudaFree(memory);
}

static enum hc_status copy(struct hc_queue *queue, void *to, const void *from, size_t bytes,
                           enum cudaMemcpyKind kind, const char *what)
{
    enum hc_status status = HC_OK;
    if (!hc_cuda_capture_allows(queue, what))
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
