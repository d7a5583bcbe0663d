/* Stand-ins for cuBLAS and cuDNN that do in plain C what the descriptors they are handed say, and
   nothing that they don't: layouts, leading dimensions, strides, paddings, alignments and compute
   types are taken from the calls. 16-bit and tf32 numbers are summed as an H100 does it (sum.h). Where
   the libraries are free to lose precision these do: fp32 without PEDANTIC becomes tf32, 16-bit sums
   without the math mode are rounded to 16 bits, and cuDNN's heuristics propose engines that are quick
   and coarse first. */
#ifndef HC_KERNELS_CUDA_EMULATE_LIBRARY_H
#define HC_KERNELS_CUDA_EMULATE_LIBRARY_H

#include "kernels/cuda/library/library.h"
#include "num/format.h"

extern const struct hc_library hc_library_emulated;

/* The numbers that cuBLAS and cuDNN return. */
enum {
    HC_BLAS_NOT_INITIALIZED = 1,
    HC_BLAS_ALLOC_FAILED = 3,
    HC_BLAS_INVALID_VALUE = 7,
    HC_BLAS_NOT_SUPPORTED = 15,
    HC_DNN_BAD_PARAM = 2000,
    HC_DNN_BAD_NULL = 2002,
    HC_DNN_BAD_MISALIGNED = 2003,
    HC_DNN_BAD_NOT_FINALIZED = 2004,
    HC_DNN_BAD_SHAPE = 2008,
    HC_DNN_BAD_DUPLICATE = 2009,
    HC_DNN_BAD_TYPE = 2010,
    HC_DNN_BAD_KIND = 2012,
    HC_DNN_UNSUPPORTED = 3000,
    HC_DNN_ALLOC_FAILED = 4003,
};

/* emulate/blas.c */
int hc_blas_create(void **handle);
int hc_blas_destroy(void *handle);
int hc_blas_set_stream(void *handle, void *stream);
int hc_blas_set_workspace(void *handle, void *workspace, size_t bytes);
int hc_blas_set_math_mode(void *handle, int mode);
int hc_blas_gemm_ex(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                    const void *alpha, const void *a, int a_type, int lda, const void *b,
                    int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                    int compute, int algorithm);
const char *hc_blas_text(int status);
int hc_blas_property(int which, int *value);

/* emulate/dnn.c, emulate/dnn_run.c */
int hc_dnn_create(void **handle);
int hc_dnn_destroy(void *handle);
int hc_dnn_set_stream(void *handle, void *stream);
int hc_dnn_create_descriptor(int kind, void **descriptor);
int hc_dnn_destroy_descriptor(void *descriptor);
int hc_dnn_set(void *descriptor, int name, int type, int64_t count, const void *values);
int hc_dnn_get(const void *descriptor, int name, int type, int64_t capacity, int64_t *count,
               void *values);
int hc_dnn_finalize(void *descriptor);
int hc_dnn_execute(void *handle, void *plan, void *pack);
const char *hc_dnn_text(int status);
size_t hc_dnn_version(void);

/* emulate/dnn_norm.c */
int hc_dnn_create_tensor(void **tensor);
int hc_dnn_destroy_tensor(void *tensor);
int hc_dnn_set_tensor(void *tensor, int type, int n, int c, int h, int w, int n_stride,
                      int c_stride, int h_stride, int w_stride);
int hc_dnn_derive_norm(void *parameters, void *x, int mode);
int hc_dnn_norm_train(void *handle, int mode, const void *alpha, const void *beta, void *x_tensor,
                      const void *x, void *y_tensor, void *y, void *parameters, const void *gamma,
                      const void *bias, double factor, void *running_mean, void *running_variance,
                      double epsilon, void *saved_mean, void *saved_invstd);
int hc_dnn_norm_infer(void *handle, int mode, const void *alpha, const void *beta, void *x_tensor,
                      const void *x, void *y_tensor, void *y, void *parameters, const void *gamma,
                      const void *bias, const void *mean, const void *variance, double epsilon);
int hc_dnn_norm_bwd(void *handle, int mode, const void *alpha, const void *beta,
                    const void *alpha_parameters, const void *beta_parameters, void *x_tensor,
                    const void *x, void *dy_tensor, const void *dy, void *dx_tensor, void *dx,
                    void *parameters, const void *gamma, void *dgamma, void *dbias, double epsilon,
                    const void *saved_mean, const void *saved_invstd);

#endif
