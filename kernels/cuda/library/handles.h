/* What a queue of the cuda backends holds of cuBLAS and cuDNN: their handles on its stream, and the
   plans of its convolutions. */
#ifndef HC_KERNELS_CUDA_LIBRARY_HANDLES_H
#define HC_KERNELS_CUDA_LIBRARY_HANDLES_H

#include "backend.h"
#include "kernels/cuda/library/library.h"
#include "op/call.h"

struct hc_conv_plan;

enum { HC_CONV_BUCKETS = 64 };

struct hc_libraries {
    const struct hc_library *library;
    void *blas;
    unsigned gemms; /* what was asked of cuBLAS: a bit for each kind (gemm.c) */
    void *dnn;
    void *device; /* cuDNN's description of a device that stands in for the handle dnn: convolutions
                     are planned for it, and cannot run; NULL: none does */
    struct hc_conv_plan *plans; /* oldest first, up to `last` */
    struct hc_conv_plan *last;
    struct hc_conv_plan *bucket[HC_CONV_BUCKETS];
};

/* cuBLAS's workspace: fixed, so that results repeat, and as large as its documentation asks on
   Hopper. */
enum { HC_BLAS_WORKSPACE = 32 << 20 };

/* `workspace` is HC_BLAS_WORKSPACE bytes of device memory, aligned to 256. The caller owns it and
   frees it after the close. HC_OK, HC_NO_MEMORY or HC_DEVICE. */
enum hc_status hc_libraries_open(struct hc_libraries **libraries, const struct hc_library *library,
                                 void *stream, void *workspace);
void hc_libraries_close(struct hc_libraries *libraries);

/* For the slot `describe`: the versions of the libraries; the plans that a queue has made, and what
   it has asked of cuBLAS. */
void hc_library_describe(const struct hc_library *library, hc_tell *tell, void *context);
void hc_libraries_describe(const struct hc_libraries *libraries, hc_tell *tell, void *context);
void hc_gemms_describe(const struct hc_libraries *libraries, hc_tell *tell, void *context);

/* Scratch of a gemm, and of a convolution, whose plan is made for it. */
size_t hc_cuda_gemm_scratch(const struct hc_call *call);
size_t hc_cuda_conv_scratch(struct hc_libraries *libraries, const struct hc_call *call);

/* to = by * from, rounded, the product in fp32, with `no_minus` +0 instead of -0. `from` is
   repeated over the rows of `to`; where it has no data the results are zeros. Both are fp32, bf16
   or fp16. */
enum hc_status hc_cuda_broadcast(struct hc_queue *queue, const struct hc_tensor *from, float by,
                                 bool no_minus, const struct hc_tensor *to);

#endif
