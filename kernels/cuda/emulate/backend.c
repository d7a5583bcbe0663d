/* Backends that run device kernels on the CPU, on streams of the emulation, with memory of its own;
   and the first of them, cuda-emulated, whose kernels the C compiler made. An allocation is filled
   with NaN and lies between guards, so that a value read before it is written shows, and a write
   beside it ends the program. */
#include "backend.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/emulated.h"
#include "kernels/cuda/emulate/kernels.h"
#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/cuda/emulate/watch.h"
#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/library/handles.h"
#include "kernels/cuda/work.h"
#include "op/later.h"

static struct hc_watcher *watcher_of(const struct hc_queue *queue)
{
    return queue->stream ? hc_emulator_watcher(hc_emulated_stream_emulator(queue->stream)) : NULL;
}

/* HC_DEVICE with what the watcher has found, if anything. */
static enum hc_status look(const struct hc_queue *queue)
{
    struct hc_watcher *watcher = watcher_of(queue);
    const char *finding = watcher ? watcher->finding(watcher) : NULL;
    return finding ? hc_fail(HC_DEVICE, "%s", finding) : HC_OK;
}

enum hc_status hc_launch(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                         int threads, size_t shared, const void *args, size_t args_size)
{
    const struct hc_emulated_kernel *kernel = &queue->kernels[which];
    enum hc_status status = hc_cuda_settle(queue);
    if (status != HC_OK)
        return status;
    assert(blocks >= 0 && args_size == *kernel->size && args_size <= HC_MAX_ARGUMENTS);
    if (blocks > 0)
        hc_cuda_count_launch(queue, which, args);
    if (blocks == 0 || hc_emulated_launch(queue->stream, kernel, blocks, threads, shared, args))
        return look(queue);
    return hc_fail(HC_NO_MEMORY, "cuda-emulated: no memory for a graph");
}

void hc_emulated_close(struct hc_queue *queue)
{
    struct hc_watcher *watcher = watcher_of(queue);
    (void)hc_cuda_settle(queue);
    if (watcher)
        watcher->close(watcher);
    hc_libraries_close(queue->libraries);
    free(queue->workspace);
    if (queue->stream)
        hc_emulated_stream_free(queue->stream);
    free(queue);
}

enum hc_status hc_emulated_open(struct hc_queue **queue, const struct hc_emulated_kernel *kernels)
{
    struct hc_queue *q = calloc(1, sizeof *q);
    enum hc_status status = HC_OK;
    if (!q)
        return hc_fail(HC_NO_MEMORY, "cuda-emulated: no memory for a queue");
    q->kernels = kernels;
    q->stream = hc_emulated_stream_new();
    q->workspace = aligned_alloc(256, HC_BLAS_WORKSPACE + HC_CUDA_COUNTERS * sizeof *q->counters);
    if (!q->stream || !q->workspace)
        status = hc_fail(HC_NO_MEMORY, "cuda-emulated: no memory for a queue");
    else
        q->counters = memset((char *)q->workspace + HC_BLAS_WORKSPACE, 0,
                             HC_CUDA_COUNTERS * sizeof *q->counters);
    if (status == HC_OK)
        status = hc_libraries_open(&q->libraries, &hc_library_emulated, q->stream, q->workspace);
    if (status == HC_OK)
        *queue = q;
    else
        hc_emulated_close(q);
    return status;
}

/* The guard before an allocation, which knows its size. The one behind it has 64 bytes, too. */
struct guard {
    size_t bytes;
    unsigned char fill[56];
};

enum { GUARD_BYTE = 0xfe, NAN_BYTE = 0xff };

void *hc_emulated_allocate(struct hc_queue *queue, size_t bytes)
{
    if (!hc_cuda_capture_allows(queue, "allocate"))
        return NULL;
    size_t padded = (bytes + 63) / 64 * 64;
    struct hc_watcher *watcher = watcher_of(queue);
    struct guard *guard = aligned_alloc(64, sizeof *guard + padded + 64);
    if (!guard || (watcher && !watcher->allocated(watcher, guard + 1, bytes))) {
        free(guard);
        (void)hc_fail(HC_NO_MEMORY, "cuda-emulated: no memory for %zu bytes", bytes);
        return NULL;
    }
    guard->bytes = bytes;
    memset(guard->fill, GUARD_BYTE, sizeof guard->fill);
    memset(guard + 1, NAN_BYTE, bytes);
    memset((unsigned char *)(guard + 1) + bytes, GUARD_BYTE, 64);
    return guard + 1;
}

void hc_emulated_release(struct hc_queue *queue, void *memory)
{
    if (!memory || !hc_cuda_capture_allows(queue, "release"))
        return;
    struct guard *guard = (struct guard *)memory - 1;
    struct hc_watcher *watcher = watcher_of(queue);
    if (watcher)
        watcher->released(watcher, memory);
    const unsigned char *after = (const unsigned char *)memory + guard->bytes;
    for (size_t i = 0; i < 64; i++)
        if (after[i] != GUARD_BYTE || (i < sizeof guard->fill && guard->fill[i] != GUARD_BYTE)) {
            (void)fprintf(stderr, "cuda-emulated: a kernel wrote beside its %zu bytes\n",
                          guard->bytes);
            abort();
        }
    free(guard);
}

enum hc_status hc_emulated_upload(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    if (!hc_cuda_capture_allows(queue, "upload"))
        return HC_DEVICE;
    struct hc_watcher *watcher = watcher_of(queue);
    if (watcher)
        watcher->uploaded(watcher, to, bytes);
    queue->work.copies++;
    memcpy(to, from, bytes);
    return HC_OK;
}

enum hc_status hc_emulated_download(struct hc_queue *queue, void *to, const void *from,
                                    size_t bytes)
{
    if (!hc_cuda_capture_allows(queue, "download"))
        return HC_DEVICE;
    queue->work.copies++;
    memcpy(to, from, bytes);
    return HC_OK;
}

enum hc_status hc_emulated_clear(struct hc_queue *queue, void *to, size_t bytes)
{
    if (!hc_cuda_capture_allows(queue, "clear"))
        return HC_DEVICE;
    struct hc_watcher *watcher = watcher_of(queue);
    if (watcher)
        watcher->uploaded(watcher, to, bytes);
    queue->work.copies++;
    memset(to, 0, bytes);
    return HC_OK;
}

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
    hc_cuda_capture_completes(queue);
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
    return look(queue);
}

void hc_emulated_forget(struct hc_queue *queue, struct hc_graph *graph)
{
    (void)queue;
    hc_graph_free(graph);
}

void hc_emulated_describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    if (queue)
        hc_libraries_describe(queue->libraries, tell, context);
}

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    (void)threads;
    return hc_emulated_open(queue, hc_emulated_kernels);
}

const struct hc_backend hc_backend_cuda_emulate = {
    .name = "cuda-emulated",
    .title = "the kernels of cuda, emulated on the CPU",
    .open = open_queue,
#include "kernels/cuda/emulate/slots.inc"
};
