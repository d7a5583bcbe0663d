/* The stand-in's streams, memory, launches and graphs. A stream is one of the emulation.
   A copy to the device is done as late as it may be, so that a test sees whether its source is
   changed too early. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulate/kernels.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/cuda/standin/blocks.h"
#include "kernels/cuda/standin/standin.h"

enum { STREAMS = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct hc_emulated_stream *stream;
    int device;
} streams[STREAMS];

/* Puts `now` in the place of `before`. */
static void replace(struct hc_emulated_stream *before, struct hc_emulated_stream *now)
{
    int s = 0;
    (void)pthread_mutex_lock(&lock);
    while (s < STREAMS && streams[s].stream != before)
        s++;
    if (s == STREAMS)
        abort();
    streams[s].stream = now;
    streams[s].device = hc_standin_device();
    (void)pthread_mutex_unlock(&lock);
}

int hc_standin_stream_device(const void *stream)
{
    int device = -1;
    (void)pthread_mutex_lock(&lock);
    for (int s = 0; s < STREAMS && stream; s++)
        if (streams[s].stream == stream)
            device = streams[s].device;
    (void)pthread_mutex_unlock(&lock);
    return device;
}

/* Waits for the streams of this thread's device. */
static void settle_all(void)
{
    for (int s = 0; s < STREAMS; s++)
        if (streams[s].stream && streams[s].device == hc_standin_device())
            hc_emulated_stream_settle(streams[s].stream);
}

static bool is_stuck(const void *stream)
{
    return hc_standin_library.stuck && hc_standin_library.stuck(stream);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    static int calls;
    cudaError_t error = hc_standin_error("cudaStreamCreateWithFlags", &calls);
    *stream = error == cudaSuccess ? (cudaStream_t)hc_emulated_stream_new() : NULL;
    if (*stream)
        replace(NULL, (struct hc_emulated_stream *)*stream);
    return flags == cudaStreamNonBlocking ? error : cudaErrorInvalidValue;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream) {
        hc_emulated_stream_settle((struct hc_emulated_stream *)stream);
        replace((struct hc_emulated_stream *)stream, NULL);
        hc_emulated_stream_free((struct hc_emulated_stream *)stream);
    }
    return cudaSuccess;
}

static cudaError_t not_captured(cudaStream_t stream, cudaError_t error)
{
    if (error == cudaSuccess &&
        hc_emulated_stream_is_capturing((struct hc_emulated_stream *)stream))
        return cudaErrorStreamCaptureUnsupported;
    return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    static int calls;
    cudaError_t error = not_captured(stream, hc_standin_error("cudaStreamSynchronize", &calls));
    if (error == cudaSuccess)
        hc_emulated_stream_settle((struct hc_emulated_stream *)stream);
    if (is_stuck(stream))
        hc_standin_library.waits(stream);
    return error;
}

/* Work that is queued is done here at the latest: nothing runs beside the CPU. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    static int calls;
    cudaError_t error = not_captured(stream, hc_standin_error("cudaStreamQuery", &calls));
    if (error == cudaSuccess && !is_stuck(stream))
        hc_emulated_stream_settle((struct hc_emulated_stream *)stream);
    return error == cudaSuccess && is_stuck(stream) ? cudaErrorNotReady : error;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    static int calls;
    cudaError_t error = hc_standin_error("cudaMalloc", &calls);
    *memory = error == cudaSuccess ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
    if (error == cudaSuccess && *memory)
        memset(*memory, 0xff, bytes);
    if (*memory && !hc_standin_block_add(*memory, bytes))
        abort();
    return error == cudaSuccess && !*memory ? cudaErrorMemoryAllocation : error;
}

cudaError_t cudaFree(void *memory)
{
    if (memory && hc_standin_library.freed)
        hc_standin_library.freed(memory);
    settle_all();
    hc_standin_block_remove(memory);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    static int calls;
    cudaError_t error = hc_standin_error("cudaMallocHost", &calls);
    *memory = error == cudaSuccess ? malloc(bytes) : NULL;
    return error == cudaSuccess && !*memory ? cudaErrorMemoryAllocation : error;
}

cudaError_t cudaFreeHost(void *memory)
{
    settle_all();
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    static int calls;
    cudaError_t error = not_captured(stream, hc_standin_error("cudaMemsetAsync", &calls));
    if (error == cudaSuccess) {
        hc_emulated_stream_settle((struct hc_emulated_stream *)stream);
        memset(memory, value, bytes);
    }
    return error;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *all)
{
    static int calls;
    *left = 1000;
    *all = 2000;
    return hc_standin_error("cudaMemGetInfo", &calls);
}

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

static void copy(struct hc_emulated_stream *stream, const void *args)
{
    const struct copy *c = args;
    (void)stream;
    memcpy(c->to, c->from, c->bytes);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    static int calls;
    cudaError_t error = not_captured(stream, hc_standin_error("cudaMemcpyAsync", &calls));
    struct hc_emulated_stream *on = (struct hc_emulated_stream *)stream;
    struct copy args = {to, from, bytes};
    if (error == cudaSuccess && kind == cudaMemcpyHostToDevice)
        return hc_emulated_stream_delay(on, copy, &args, sizeof args) ? cudaSuccess
                                                                      : cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
        hc_emulated_stream_settle(on);
        memcpy(to, from, bytes);
    }
    return error;
}

cudaError_t cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **args,
                             size_t shared, cudaStream_t stream)
{
    static int calls;
    cudaError_t error = hc_standin_error("cudaLaunchKernel", &calls);
    union {
        const void *symbol;
        void (*entry)(const void *args);
    } kernel = {function};
    int k = 0;
    while (k < HC_DEVICE_KERNEL_COUNT && hc_emulated_kernels[k].entry != kernel.entry)
        k++;
    if (error != cudaSuccess || k == HC_DEVICE_KERNEL_COUNT)
        return error != cudaSuccess ? error : cudaErrorInvalidDeviceFunction;
    if (grid.x == 0 || grid.y != 1 || grid.z != 1 || block.y != 1 || block.z != 1)
        return cudaErrorInvalidConfiguration;
    return hc_emulated_launch((struct hc_emulated_stream *)stream, &hc_emulated_kernels[k],
                              (int)grid.x, (int)block.x, shared, args[0])
               ? cudaSuccess
               : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    static int calls;
    cudaError_t error = not_captured(stream, hc_standin_error("cudaStreamBeginCapture", &calls));
    if (mode != cudaStreamCaptureModeThreadLocal)
        return cudaErrorInvalidValue;
    if (error == cudaSuccess &&
        !hc_emulated_stream_begin_capture((struct hc_emulated_stream *)stream))
        return cudaErrorMemoryAllocation;
    return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    static int calls;
    cudaError_t error = hc_standin_error("cudaStreamEndCapture", &calls);
    *graph = (cudaGraph_t)hc_emulated_stream_end_capture((struct hc_emulated_stream *)stream);
    if (error != cudaSuccess) {
        hc_graph_free((struct hc_graph *)*graph);
        *graph = NULL;
    }
    return error;
}

/* The work moves into the executable graph; the other one is empty from then on. */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long flags)
{
    static int calls;
    cudaError_t error = hc_standin_error("cudaGraphInstantiate", &calls);
    struct hc_graph *moved = error == cudaSuccess ? hc_graph_move((struct hc_graph *)graph) : NULL;
    *executable = (cudaGraphExec_t)moved;
    if (flags != 0)
        return cudaErrorInvalidValue;
    return error == cudaSuccess && !moved ? cudaErrorMemoryAllocation : error;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    hc_graph_free((struct hc_graph *)graph);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream)
{
    static int calls;
    (void)graph;
    return not_captured(stream, hc_standin_error("cudaGraphUpload", &calls));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    static int calls;
    cudaError_t error = not_captured(stream, hc_standin_error("cudaGraphLaunch", &calls));
    if (error == cudaSuccess)
        hc_graph_run((const struct hc_graph *)graph, (struct hc_emulated_stream *)stream);
    return error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    hc_graph_free((struct hc_graph *)graph);
    return cudaSuccess;
}
