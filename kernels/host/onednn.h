/* oneDNN, for gemm and convolutions in fp32 on one thread at a time: the threads are ours, over pieces
   that depend on the shapes alone. What is fp16 or bf16 is converted on the way in and out, piece by
   piece. Winograd and reduced precision are never chosen. Only with HC_ONEDNN. */
#ifndef HC_KERNELS_HOST_ONEDNN_H
#define HC_KERNELS_HOST_ONEDNN_H

#include "backend.h"
#include "kernels/conv_shape.h"

/* gemm: rows of the output that are one thread's. Convolutions: a run of images has about that many
   elements, but no fewer and no more images than these. Gradient of the filter: elements from which
   on it is large, the parts, and the rows of one product. */
enum {
    HC_ONEDNN_GEMM_ROWS = 64,
    HC_ONEDNN_GROUP_ELEMENTS = 131072,
    HC_ONEDNN_MIN_IMAGES = 8,
    HC_ONEDNN_MAX_IMAGES = 32,
    HC_ONEDNN_LARGE_FILTER = 65536,
    HC_ONEDNN_FILTER_SPLITS = 8,
    HC_ONEDNN_FILTER_ROWS = 512,
};

struct hc_onednn;

enum hc_status hc_onednn_open(struct hc_onednn **onednn, int threads);
void hc_onednn_close(struct hc_onednn *onednn);

/* HC_OK, or HC_NO_MEMORY where there is not as much as oneDNN may take. Every kernel asks this
   first. */
enum hc_status hc_onednn_check_memory(void);

/* Between these oneDNN keeps to the calling thread, and to each thread of a team that it starts. */
int hc_onednn_single_thread(void);
void hc_onednn_restore_threads(int threads);

/* Row-major c [m, n] = op(a) op(b) + beta c, on the calling thread; +0 where k is 0 and beta is.
   What goes wrong is kept until the kernel asks hc_onednn_error, which forgets it: HC_OK,
   HC_NO_MEMORY or HC_DEVICE. */
struct hc_sgemm {
    bool transpose_a;
    bool transpose_b;
    int64_t m;
    int64_t n;
    int64_t k;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
};
void hc_onednn_sgemm(struct hc_onednn *onednn, const struct hc_sgemm *g);
enum hc_status hc_onednn_error(struct hc_onednn *onednn);

struct hc_onednn_plan;

/* The plan for the shape, forward or backward to the input, made when it is first asked for and kept; NULL
   where oneDNN has none. */
struct hc_onednn_plan *hc_onednn_plan(struct hc_onednn *onednn, const struct hc_conv_shape *shape);

/* Bytes of the filter in the plan's own layout, and of a thread's scratchpad. */
size_t hc_onednn_filter_bytes(const struct hc_onednn_plan *plan);
size_t hc_onednn_pad_bytes(const struct hc_onednn_plan *plan);

/* The filter [K, R, S, C] into the plan's layout at `to`, by all threads. */
enum hc_status hc_onednn_reorder(struct hc_onednn *onednn, struct hc_onednn_plan *plan,
                                 const float *filter, void *to);

/* Then, by the thread of that number: x to y, or dy to dx. */
enum hc_status hc_onednn_run(struct hc_onednn *onednn, struct hc_onednn_plan *plan, int thread,
                             const float *from, float *to, void *pad);

size_t hc_onednn_gemm_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_onednn_conv_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_onednn_filter_scratch(struct hc_queue *queue, const struct hc_call *call);

/* gemm, conv2d and conv2d_bwd_data, conv2d_bwd_filter: in fp32, bf16 and fp16, never in tf32. */
hc_kernel hc_onednn_gemm, hc_onednn_conv, hc_onednn_filter;

#endif
