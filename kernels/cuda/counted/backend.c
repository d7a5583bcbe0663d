/* The backend cuda-counted: what cuda would be given is counted, and nothing is computed. All
   numbers stay as they were uploaded, or 0. So a step of any size is counted in a moment, in memory
   that nobody touches. */
#include <stdlib.h>

#include "kernels/cuda/capture.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/emulated.h"
#include "kernels/cuda/emulate/stream.h"
#include "kernels/cuda/emulate/sum.h"
#include "kernels/cuda/op/families.h"
#include "kernels/cuda/work.h"
#include "op/later.h"

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    (void)threads;
    enum hc_status status = hc_emulated_open(queue, hc_emulated_kernels);
    if (status == HC_OK)
        hc_emulated_stream_idle((*queue)->stream);
    return status;
}

enum { ALIGNMENT = 64 };

/* Zeros from calloc, aligned, behind the pointer that calloc gave. */
static void *allocate(struct hc_queue *queue, size_t bytes)
{
    if (!hc_cuda_capture_allows(queue, "allocate"))
        return NULL;
    unsigned char *all = calloc(1, bytes + 2 * (size_t)ALIGNMENT);
    if (!all) {
        (void)hc_fail(HC_NO_MEMORY, "cuda-counted: no memory for %zu bytes", bytes);
        return NULL;
    }
    unsigned char *memory = all + ALIGNMENT + (ALIGNMENT - (uintptr_t)all % ALIGNMENT) % ALIGNMENT;
    ((void **)memory)[-1] = all;
    return memory;
}

static void release(struct hc_queue *queue, void *memory)
{
    if (memory && hc_cuda_capture_allows(queue, "release"))
        free(((void **)memory)[-1]);
}

/* Memory is 0 before anything is uploaded. */
static enum hc_status clear(struct hc_queue *queue, void *to, size_t bytes)
{
    (void)to;
    (void)bytes;
    if (!hc_cuda_capture_allows(queue, "clear"))
        return HC_DEVICE;
    queue->work.copies++;
    return HC_OK;
}

const struct hc_backend hc_backend_cuda_counted = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda-counted",
    .title = "launches and bytes of cuda, counted on the CPU and not run",
    .accumulator = HC_SUM_UNIT,
    .borders = hc_cuda_borders,
    .partial = true,
    .on_request = true,
    .open = open_queue,
    .close = hc_emulated_close,
    .allocate = allocate,
    .release = release,
    .upload = hc_emulated_upload,
    .download = hc_emulated_download,
    .clear = clear,
    .scratch = hc_cuda_scratch,
    .capture = hc_emulated_capture,
    .captured = hc_emulated_captured,
    .replay = hc_emulated_replay,
    .forget = hc_emulated_forget,
    .work = hc_cuda_work,
    .kernel =
        {
#include "kernels/cuda/ops.inc"
        },
};
