/* What the onednn*.c files share, in oneDNN's own types. */
#ifndef HC_KERNELS_HOST_ONEDNN_INNER_H
#define HC_KERNELS_HOST_ONEDNN_INNER_H

#include <assert.h>
#include <dnnl.h>
#include <stdatomic.h>

#include "kernels/host/onednn/onednn.h"

/* The memory objects of one thread: oneDNN reads and writes through them. */
struct hc_onednn_memories {
    dnnl_memory_t from;
    dnnl_memory_t to;
    dnnl_memory_t pad;
};

struct hc_onednn_plan {
    struct hc_onednn_plan *next;
    struct hc_conv_shape shape;
    dnnl_primitive_t convolution;
    dnnl_primitive_t reorder;
    dnnl_memory_t plain;  /* the filter as given */
    dnnl_memory_t filter; /* in the plan's layout */
    size_t filter_bytes;
    size_t pad_bytes;
    int threads;
    struct hc_onednn_memories memories[]; /* one a thread */
};

struct hc_onednn {
    dnnl_engine_t engine;
    struct hc_onednn_plan *plans;
    atomic_int failed; /* dnnl_success, or what the last sgemm that failed returned */
    int threads;
    dnnl_stream_t streams[]; /* one a thread */
};

void hc_onednn_plan_free(struct hc_onednn_plan *plan);

/* Whether the implementation is passed over for the next one. "brgconv" multiplies one output row
   of an image at a time, and falls to a third of the others' rate if rows are short. */
bool hc_onednn_passed_over(dnnl_primitive_desc_t descriptor);

/* The rest differs between oneDNN 2 (v2.c) and oneDNN 3 (v3.c). */

/* The descriptor of the convolution of that shape, forward or backward to the input, in fp32 and
   NHWC, with the filter in the layout that the library prefers and a scratchpad of ours. NULL if
   there is none. The caller destroys it. */
dnnl_primitive_desc_t hc_onednn_convolution(dnnl_engine_t engine,
                                            const struct hc_conv_shape *shape);

/* Makes the memory object of a filter [K, R, S, C] as it is given, and the descriptor of its
   reorder into the layout that `convolution` wants. */
dnnl_status_t hc_onednn_plain_filter(dnnl_memory_t *plain, dnnl_primitive_desc_t *reorder,
                                     dnnl_engine_t engine, const struct hc_conv_shape *shape,
                                     dnnl_primitive_desc_t convolution);

#endif
