/* The host backend: vectors and threads. Work is divided into blocks and chunks whose borders
   depend on the shapes alone, so that no result depends on the number of threads. quant/ has the
   casts and products of quantised tensors, native/ has our own products, and onednn/ the products
   that oneDNN makes. */
#ifndef HC_KERNELS_HOST_HOST_H
#define HC_KERNELS_HOST_HOST_H

#include "backend.h"
#include "kernels/element/load.h"
#include "kernels/host/loops.h"

struct hc_onednn; /* onednn.h */

struct hc_queue {
    int threads;
    const struct hc_host_loops *loops;
    struct hc_onednn *onednn; /* NULL without oneDNN */
};

/* Elements that are converted and worked on while they are in the first-level cache. */
enum { HC_HOST_BLOCK = 2048 };

/* Elements, and products of elements, of a call that are not worth a second thread. To wake one
   takes 5 to 50 microseconds, more where the machine is a guest whose core has gone to sleep. */
enum { HC_HOST_SMALL = 16384, HC_HOST_SMALL_PRODUCTS = 1 << 17 };

/* How many threads are worth starting for this many products: all of the queue's, or one. */
static inline int hc_host_team(const struct hc_queue *queue, int64_t products)
{
    return products > HC_HOST_SMALL_PRODUCTS ? queue->threads : 1;
}

/* Chunks of a sum, whose sums are added at the end; and the terms of a product of matrices in fp64
   that are added one after the other. */
enum { HC_HOST_CHUNKS = 64, HC_TILE_TERMS = 256 };

extern const struct hc_border hc_host_borders[];

/* Calls `work` for each block of n elements: `count` of them from element `at` on. A small call is
   the calling thread's; a larger one is all threads'. */
typedef void hc_host_work(const struct hc_queue *queue, const void *context, int64_t at,
                          int64_t count);
void hc_host_each_block(const struct hc_queue *queue, int64_t n, hc_host_work *work,
                        const void *context);

/* Elements of t from element `at` on, in t's own memory. */
static inline void *hc_host_element(const struct hc_tensor *t, int64_t at)
{
    return (unsigned char *)t->data + at * hc_formats[t->format].bytes;
}

/* One element as fp32, for the few of a statistic. */
static inline float hc_host_get(const struct hc_tensor *t, int64_t i)
{
    return hc_load(t->format, t->data, i);
}

static inline void hc_host_set(const struct hc_tensor *t, int64_t i, float value)
{
    hc_store(t->format, t->data, i, value);
}

/* n elements of t from element `at` on as fp32: t's own memory, or converted into `buffer`. */
const float *hc_host_view(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at,
                          int64_t n, float *buffer);

/* Where the elements of t from `at` on can be written as fp32: t's own memory or `buffer`. What is
   written goes to hc_host_flush, which moves it into t unless it is there already. */
float *hc_host_target(const struct hc_tensor *t, int64_t at, float *buffer);
void hc_host_flush(const struct hc_queue *queue, const struct hc_tensor *t, int64_t at, int64_t n,
                   const float *from);

/* These take tensors in fp32, bf16 and fp16, and hand all other calls to hc_exact_run. */
hc_kernel hc_host_map, hc_host_cast, hc_host_unscale, hc_host_stochastic_cast;
hc_kernel hc_host_sum, hc_host_dot, hc_host_sum_squares;
hc_kernel hc_host_all_reduce;
hc_kernel hc_host_quantize, hc_host_dequantize;
hc_kernel hc_host_norm, hc_host_norm_bwd;
hc_kernel hc_host_norm_moments, hc_host_norm_bwd_sums, hc_host_norm_bwd_apply;
hc_kernel hc_host_avg_pool, hc_host_avg_pool_bwd;
hc_kernel hc_host_im2col, hc_host_col2im;
hc_kernel hc_host_optimizer;
hc_kernel hc_host_gemm_q;
hc_kernel hc_host_rms_norm, hc_host_rms_norm_backward, hc_host_softmax_backward;
hc_kernel hc_host_swiglu, hc_host_swiglu_backward, hc_host_rotary_halves;
hc_kernel hc_host_embedding, hc_host_embedding_backward;
hc_kernel hc_host_attention, hc_host_attention_backward;
size_t hc_host_embedding_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_host_attention_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_host_gemm_q_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_host_norm_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_host_quantize_scratch(struct hc_queue *queue, const struct hc_call *call);

/* For tensors in fp64. */
hc_kernel hc_host_gemm_fp64, hc_host_conv_fp64;
size_t hc_host_product_scratch(struct hc_queue *queue, const struct hc_call *call);

#endif
