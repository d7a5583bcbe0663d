/* The host backend: threads over pieces whose borders depend on the shapes alone, so that no result
   depends on the number of threads. */
#ifndef HC_KERNELS_HOST_HOST_H
#define HC_KERNELS_HOST_HOST_H

#include "backend.h"
#include "kernels/host/loops.h"

struct hc_onednn; /* onednn.h */

struct hc_queue {
    int threads;
    const struct hc_host_loops *loops;
    struct hc_onednn *onednn; /* NULL without oneDNN */
};

/* Elements that are converted and worked on while they are in the first-level cache. */
enum { HC_HOST_BLOCK = 2048 };

/* Elements of a call that are not worth a second thread. */
enum { HC_HOST_SMALL = 16384 };

/* Pieces of a sum, whose sums are added at the end; and the terms of a product of matrices in fp64
   that are added one after the other. */
enum { HC_HOST_CHUNKS = 64, HC_TILE_TERMS = 256 };

extern const struct hc_border hc_host_borders[];

/* n elements of t from element `at` on as fp32: t's own memory, or converted into `buffer`. */
const float *hc_host_view(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at,
                          int64_t n, float *buffer);

/* Where the elements of t from `at` on can be written as fp32: t's own memory or `buffer`, to be handed
   to hc_host_flush, which puts them into t unless they are there already. */
float *hc_host_target(const struct hc_tensor *t, int64_t at, float *buffer);
void hc_host_flush(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at, int64_t n,
                   const float *from);

/* The network's ops in fp64; the kernels come here for their calls of them. */
hc_kernel hc_host_double_gemm, hc_host_double_conv;
size_t hc_host_double_scratch(const struct hc_call *call);

size_t hc_host_norm_scratch(struct hc_queue *queue, const struct hc_call *call);

#define HC_OP(name, class, inputs, outputs, title) hc_kernel hc_host_##name;
#include "op/ops.def"
#undef HC_OP

#endif
