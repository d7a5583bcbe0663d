/* Memory of the device, and copies.

   An upload passes through pinned memory of the queue, so that the caller may change his own at
   once and nobody waits: what cudaMemcpyAsync does with memory that is not pinned depends on the
   system (CUDA's "API synchronization behavior"). The queue is waited for when this memory is full,
   and for an upload that is larger.

   The block that was allocated last is kept when it is released, and handed out again if it is
   large enough: whoever runs one call after the other, each between an allocation and a release,
   would otherwise wait for the device twice a call. What still uses the block is on the same
   stream. */
#include <string.h>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device/device.h"

/* Bytes of pinned memory, and of the largest block that is kept. */
enum { STAGING = 4 << 20, KEPT = 256 << 20 };

enum hc_status hc_cuda_memory_open(struct hc_queue *queue)
{
    return hc_cuda_check(cudaMallocHost(&queue->staging, STAGING), "pinned memory");
}

void hc_cuda_memory_close(struct hc_queue *queue)
{
    if (!queue->kept.used)
        (void)cudaFree(queue->kept.memory);
    (void)cudaFreeHost(queue->staging);
}

/* A block that was too small grows at least twofold, so that it does so a few times only; where
   that does not fit, it has what is asked for. */
static size_t size_for(size_t bytes, size_t before)
{
    size_t size = before ? 2 * before : bytes;
    return size < bytes || size > KEPT ? bytes : size;
}

void *hc_cuda_allocate(struct hc_queue *queue, size_t bytes)
{
    struct hc_block *kept = &queue->kept;
    size_t before = kept->used ? 0 : kept->bytes;
    void *memory = NULL;
    size_t left = 0;
    size_t all = 0;
    if (!hc_cuda_capture_allows(queue, "allocate"))
        return NULL;
    if (before && bytes <= before) {
        kept->used = true;
        return kept->memory;
    }
    if (before)
        (void)cudaFree(kept->memory);
    *kept = (struct hc_block){.bytes = size_for(bytes, before), .used = true};
    enum hc_status status = hc_cuda_check(cudaMalloc(&memory, kept->bytes), "cudaMalloc");
    if (status == HC_NO_MEMORY && kept->bytes > bytes) {
        kept->bytes = bytes;
        status = hc_cuda_check(cudaMalloc(&memory, bytes), "cudaMalloc");
    }
    if (status == HC_NO_MEMORY && cudaMemGetInfo(&left, &all) == cudaSuccess)
        (void)hc_fail(HC_NO_MEMORY,
                      "cuda: no memory for %zu bytes on the device: %zu of its %zu are free", bytes,
                      left, all);
    if (status != HC_OK || kept->bytes > KEPT)
        *kept = (struct hc_block){0};
    else
        kept->memory = memory;
    return status == HC_OK ? memory : NULL;
}

/* cudaFree waits for kernels that may use the memory. */
void hc_cuda_release(struct hc_queue *queue, void *memory)
{
    if (!memory || !hc_cuda_capture_allows(queue, "release"))
        return;
    if (memory == queue->kept.memory)
        queue->kept.used = false;
    else
        (void)cudaFree(memory);
}

/* After it nothing reads the pinned memory. */
static enum hc_status wait(struct hc_queue *queue, const char *what)
{
    queue->staged = 0;
    return hc_cuda_check(cudaStreamSynchronize(queue->stream), what);
}

static enum hc_status copy(struct hc_queue *queue, void *to, const void *from, size_t bytes,
                           enum cudaMemcpyKind kind, const char *what)
{
    queue->work.copies++;
    return bytes ? hc_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, queue->stream), what)
                 : HC_OK;
}

enum hc_status hc_cuda_upload(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    static const char what[] = "upload";
    size_t room = (bytes + 63) / 64 * 64;
    enum hc_status status = HC_OK;
    if (!hc_cuda_capture_allows(queue, what))
        return HC_DEVICE;
    if (queue->staged + room > STAGING)
        status = wait(queue, what);
    if (status != HC_OK)
        return status;
    if (room > STAGING) {
        status = copy(queue, to, from, bytes, cudaMemcpyHostToDevice, what);
        return status == HC_OK ? wait(queue, what) : status;
    }
    void *staged = (char *)queue->staging + queue->staged;
    if (bytes)
        memcpy(staged, from, bytes);
    queue->staged += room;
    return copy(queue, to, staged, bytes, cudaMemcpyHostToDevice, what);
}

enum hc_status hc_cuda_download(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    static const char what[] = "download";
    if (!hc_cuda_capture_allows(queue, what))
        return HC_DEVICE;
    enum hc_status status = copy(queue, to, from, bytes, cudaMemcpyDeviceToHost, what);
    return status == HC_OK ? wait(queue, what) : status;
}

enum hc_status hc_cuda_clear(struct hc_queue *queue, void *to, size_t bytes)
{
    if (!hc_cuda_capture_allows(queue, "clear"))
        return HC_DEVICE;
    queue->work.copies++;
    return bytes ? hc_cuda_check(cudaMemsetAsync(to, 0, bytes, queue->stream), "clear") : HC_OK;
}
