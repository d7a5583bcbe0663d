/* What the onednn*.c files share of oneDNN's own types. */
#ifndef HC_KERNELS_HOST_ONEDNN_INNER_H
#define HC_KERNELS_HOST_ONEDNN_INNER_H

#include <assert.h>
#include <dnnl.h>

#include "kernels/host/onednn.h"

/* The memory objects of one thread: oneDNN reads and writes through them. */
struct hc_onednn_ends {
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
    struct hc_onednn_ends ends[]; /* one a thread */
};

struct hc_onednn {
    dnnl_engine_t engine;
    struct hc_onednn_plan *plans;
    int threads;
    dnnl_stream_t streams[]; /* one a thread */
};

void hc_onednn_plan_free(struct hc_onednn_plan *plan);

#endif
