/* The cuda backend's op wrappers: they look at the formats, fill in the kernels' arguments and launch.
   The same ones serve the backends cuda (device/, in the plug-in) and cuda-emulated (emulate/). */
#ifndef HC_KERNELS_CUDA_CUDA_H
#define HC_KERNELS_CUDA_CUDA_H

#include <stdbool.h>

#include "backend.h"

struct hc_libraries; /* libraries.h */

struct hc_queue {
    void *stream; /* cudaStream_t, or struct hc_emulated_stream * (emulate/stream.h) */
    struct hc_libraries *libraries;
    void *workspace; /* of cuBLAS */
    bool capturing;
    const char *capture_error; /* what was done while capturing that may not be; NULL: nothing */
};

#define HC_CUDA_OP(name) hc_kernel hc_cuda_##name;
#include "kernels/cuda/ops.def"
#undef HC_CUDA_OP

/* The scratch slot of both backends, and those for sweeps. */
size_t hc_cuda_scratch(struct hc_queue *queue, const struct hc_call *call);
enum hc_status hc_cuda_operands(struct hc_queue *queue, const struct hc_call *call, uint32_t first);
enum hc_status hc_cuda_judge(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                             struct hc_judged *judged);

#endif
