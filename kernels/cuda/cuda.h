/* The cuda backends' queue and their kernels: wrappers that look at the formats, fill in a device
   kernel's arguments and launch it (op/), or call cuBLAS and cuDNN (library/). The same wrappers
   serve the backend cuda (device/, in the plug-in) and those of the emulation (emulate/). */
#ifndef HC_KERNELS_CUDA_CUDA_H
#define HC_KERNELS_CUDA_CUDA_H

#include <stdbool.h>

#include "backend.h"
#include "kernels/cuda/pending.h"

struct hc_libraries;       /* library/handles.h */
struct hc_emulated_kernel; /* emulate/kernels.h */

enum { HC_CUDA_COUNTERS = 4096 };

/* Memory of the device that is kept for the next allocation. */
struct hc_block {
    void *memory; /* NULL: none */
    size_t bytes;
    bool used;
};

struct hc_queue {
    void *stream; /* cudaStream_t, or struct hc_emulated_stream * (emulate/stream.h) */
    const struct hc_emulated_kernel *kernels; /* in the emulation */
    struct hc_libraries *libraries;
    void *workspace;    /* of cuBLAS, */
    unsigned *counters; /* and HC_CUDA_COUNTERS of kernels behind it, which are 0 between kernels */
    bool capturing;
    const char *capture_error; /* what was done that a capture does not allow; or NULL */
    struct hc_block kept;      /* device/memory.c */
    void *staging;             /* pinned memory that uploads pass through, */
    size_t staged;             /* and its bytes that queued copies may still read */
    struct hc_pending pending; /* pending.h */
    struct hc_work work;       /* counted in work.c */
    int64_t launched[HC_DEVICE_KERNEL_COUNT];
};

/* ops.inc says which of them has which op. */
hc_kernel hc_cuda_cast, hc_cuda_elementwise, hc_cuda_unscale;
hc_kernel hc_cuda_reduce;
hc_kernel hc_cuda_bn_train, hc_cuda_bn_infer, hc_cuda_bn_bwd;
hc_kernel hc_cuda_bn_moments, hc_cuda_bn_combine, hc_cuda_bn_bwd_sums, hc_cuda_bn_bwd_apply;
hc_kernel hc_cuda_xent, hc_cuda_xent_bwd;
hc_kernel hc_cuda_optimizer;
hc_kernel hc_cuda_control, hc_cuda_augment, hc_cuda_gemm_q;
hc_kernel hc_cuda_quantize, hc_cuda_dequantize, hc_cuda_delayed_scale;
hc_kernel hc_cuda_stochastic_cast;
hc_kernel hc_cuda_gemm, hc_cuda_conv;
hc_kernel hc_cuda_defined;

/* Whether batch norm's launch that waits can add to its y what this call adds; it then will. */
bool hc_cuda_norm_takes_sum(struct hc_queue *queue, const struct hc_call *add);

/* The backends' slots `scratch`, `operands` and `judge`. */
size_t hc_cuda_scratch(struct hc_queue *queue, const struct hc_call *call);
enum hc_status hc_cuda_operands(struct hc_queue *queue, const struct hc_call *call, uint32_t first);
enum hc_status hc_cuda_judge(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                             struct hc_judged *judged);

#endif
