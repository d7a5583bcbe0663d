/* oneDNN for gemm and the convolutions, in fp32.

   oneDNN may divide a sum among its threads, and then the result depends on their number. So each
   call of it is kept to one thread, and the threads are ours: over blocks of rows, groups of images
   or shares of a sum that depend on the shapes alone. fp16 and bf16 are converted to fp32 on the
   way in and back on the way out. Winograd and reduced precision are never chosen. All this is
   compiled only with HC_ONEDNN. */
#ifndef HC_KERNELS_HOST_ONEDNN_ONEDNN_H
#define HC_KERNELS_HOST_ONEDNN_ONEDNN_H

#include "backend.h"
#include "kernels/conv_shape.h"

enum {
    HC_ONEDNN_GEMM_ROWS = 64,          /* gemm: rows of the output that one thread computes */
    HC_ONEDNN_GROUP_ELEMENTS = 131072, /* convolution: elements of a group of images, about */
    HC_ONEDNN_MIN_IMAGES = 8,          /* images of a group, at least and at most */
    HC_ONEDNN_MAX_IMAGES = 32,
    HC_ONEDNN_LARGE_FILTER =
        65536,                   /* gradient of the filter: from so many elements on it is large */
    HC_ONEDNN_FILTER_SHARES = 8, /* into which its sums or its columns are divided */
    HC_ONEDNN_FILTER_ROWS = 512, /* rows of one product */

    /* Products by pixel are the fastest way up to so many pixels of an output, also for the
       gradient of the filter, and from so many images on. */
    HC_ONEDNN_SMALL_IMAGE = 16,
    HC_ONEDNN_SMALL_FILTER_IMAGE = 64,
    HC_ONEDNN_LARGE_BATCH = 16,
    HC_ONEDNN_PIXEL_IMAGES = 64, /* images and columns of one of them, at most */
    HC_ONEDNN_PIXEL_COLUMNS = 128,
};

struct hc_onednn;

enum hc_status hc_onednn_open(struct hc_onednn **onednn, int threads);
void hc_onednn_close(struct hc_onednn *onednn);

/* HC_OK, or HC_NO_MEMORY if there is not as much memory as oneDNN may take. Every kernel asks this
   before it calls oneDNN. */
enum hc_status hc_onednn_check_memory(void);

/* Between these two calls oneDNN uses only the thread that calls it, and so does each thread of a
   team that the caller starts. The second takes what the first returned. */
int hc_onednn_single_thread(void);
void hc_onednn_restore_threads(int threads);

/* Row-major c [m, n] = op(a) op(b) + beta c, on the calling thread; +0 if k and beta are 0. An
   error is kept for hc_onednn_error, which the kernel asks at its end. */
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
/* HC_OK, HC_NO_MEMORY or HC_DEVICE: what became of the products since it was last asked. */
enum hc_status hc_onednn_error(struct hc_onednn *onednn);

struct hc_onednn_plan;

/* The plan for the shape, forward or backward to the input. It is made when it is first asked for,
   and kept. NULL if oneDNN has none. */
struct hc_onednn_plan *hc_onednn_plan(struct hc_onednn *onednn, const struct hc_conv_shape *shape);

/* Bytes of the filter in the plan's layout, and of a thread's scratchpad. */
size_t hc_onednn_filter_bytes(const struct hc_onednn_plan *plan);
size_t hc_onednn_pad_bytes(const struct hc_onednn_plan *plan);

/* Reorders the filter [K, R, S, C] into the plan's layout at `to`, on all threads. HC_OK or
   HC_DEVICE. */
enum hc_status hc_onednn_reorder(struct hc_onednn *onednn, struct hc_onednn_plan *plan,
                                 const float *filter, void *to);

/* Convolves with the filter of the last hc_onednn_reorder, on the thread of that number: x to y, or
   dy to dx. HC_OK or HC_DEVICE. */
enum hc_status hc_onednn_run(struct hc_onednn *onednn, struct hc_onednn_plan *plan, int thread,
                             const float *from, float *to, void *pad);

/* Convolutions by a product for each pixel, which leave out the padding: whether they are the
   fastest way for the shape, which depends on nothing else; their scratch; and they themselves, for
   any shape that is not empty. */
bool hc_onednn_pixels_fastest(const struct hc_conv_shape *shape);
size_t hc_onednn_pixels_scratch(const struct hc_queue *queue, const struct hc_call *call);
hc_kernel hc_onednn_pixels;

/* Computes those pixels of a convolution, forward, at which the filter reaches into the padding. */
hc_kernel hc_onednn_border_pixels;

/* The tensor as fp32, converted by all threads: its own memory, or `buffer`. */
const float *hc_onednn_copy(const struct hc_queue *queue, const struct hc_tensor *t, float *buffer);

size_t hc_onednn_gemm_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_onednn_conv_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_onednn_filter_scratch(struct hc_queue *queue, const struct hc_call *call);

/* gemm, conv2d and conv2d_bwd_data, conv2d_bwd_filter: in fp32, bf16 and fp16, never in tf32. */
hc_kernel hc_onednn_gemm, hc_onednn_conv, hc_onednn_filter;

#endif
