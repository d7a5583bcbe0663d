/* The backend cuda-shadow: cuda-emulated with a shadow memory, for kernels that were compiled with
   calls before each of their accesses (cmake/shadow.cmake). A finding makes its call fail. */
#include "backend.h"

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/emulated.h"
#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/cuda/emulate/watch.h"
#include "kernels/cuda/shadow/shadow.h"
#include "op/later.h"

#define HC_DEVICE_KERNEL(name)                                                                     \
    void hc_shadow_##name##_entry(const void *args);                                               \
    extern const size_t hc_shadow_##name##_size;
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL

static const struct hc_emulated_kernel kernels[HC_DEVICE_KERNEL_COUNT] = {
#define HC_DEVICE_KERNEL(name) {#name, hc_shadow_##name##_entry, &hc_shadow_##name##_size},
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
};

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    (void)threads;
    enum hc_status status = hc_emulated_open(queue, kernels);
    if (status != HC_OK)
        return status;
    struct hc_watcher *shadow = hc_shadow_new();
    if (!shadow) {
        hc_emulated_close(*queue);
        return hc_fail(HC_NO_MEMORY, "cuda-shadow: no memory for a shadow");
    }
    size_t counters = HC_CUDA_COUNTERS * sizeof *(*queue)->counters;
    if (!shadow->allocated(shadow, (*queue)->counters, counters)) {
        shadow->close(shadow);
        hc_emulated_close(*queue);
        return hc_fail(HC_NO_MEMORY, "cuda-shadow: no memory for a shadow");
    }
    hc_shadow_lasting(shadow, "counters", (*queue)->counters, counters);
    hc_emulator_watch(hc_emulated_stream_emulator((*queue)->stream), shadow);
    return HC_OK;
}

struct begin {
    struct hc_call call;
    size_t scratch;
};

static struct hc_watcher *shadow_of(struct hc_emulated_stream *stream)
{
    return hc_emulator_watcher(hc_emulated_stream_emulator(stream));
}

static void begin_call(struct hc_emulated_stream *stream, const void *args)
{
    const struct begin *begin = args;
    hc_shadow_begin(shadow_of(stream), &begin->call, begin->scratch);
}

static void end_call(struct hc_emulated_stream *stream, const void *args)
{
    hc_shadow_end(shadow_of(stream), *(const bool *)args);
}

/* Every op: its wrapper between two items of the stream, which a graph records like launches. None
   waits for the next op (pending.h). */
static enum hc_status watched(struct hc_queue *queue, const struct hc_call *call)
{
    static hc_kernel *const wrappers[HC_OP_ROOM] = {
#include "kernels/cuda/ops.inc"
    };
    struct begin begin = {*call, hc_cuda_scratch(queue, call)};
    if (!hc_emulated_stream_submit(queue->stream, begin_call, &begin, sizeof begin))
        return hc_fail(HC_NO_MEMORY, "cuda-shadow: no memory for a graph");
    enum hc_status status = wrappers[call->op](queue, call);
    if (status == HC_OK)
        status = hc_cuda_settle(queue);
    bool failed = status != HC_OK;
    if (!hc_emulated_stream_submit(queue->stream, end_call, &failed, sizeof failed))
        return hc_fail(HC_NO_MEMORY, "cuda-shadow: no memory for a graph");
    struct hc_watcher *shadow = shadow_of(queue->stream);
    const char *finding = shadow->finding(shadow);
    return finding ? hc_fail(HC_DEVICE, "%s", finding) : status;
}

/* clang makes calls of memcpy where it copies a struct, and says nothing of what they touch. */
static const char *unavailable(void)
{
#ifdef __clang__
    return "built by clang, which does not show all accesses of a kernel";
#else
    return NULL;
#endif
}

const struct hc_backend hc_backend_cuda_shadow = {
    .name = "cuda-shadow",
    .title = "cuda-emulated, with a look at every byte that a kernel touches",
    .unavailable = unavailable,
    .open = open_queue,
#define HC_EVERY_CALL watched
#include "kernels/cuda/emulate/slots.inc"
};
