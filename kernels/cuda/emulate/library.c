#include "kernels/cuda/emulate/library.h"

const struct hc_library hc_library_emulated = {
    .cublas_create = hc_blas_create,
    .cublas_destroy = hc_blas_destroy,
    .cublas_set_stream = hc_blas_set_stream,
    .cublas_set_workspace = hc_blas_set_workspace,
    .cublas_set_math_mode = hc_blas_set_math_mode,
    .cublas_gemm_ex = hc_blas_gemm_ex,
    .cublas_text = hc_blas_text,
    .cublas_property = hc_blas_property,
    .cudnn_create = hc_dnn_create,
    .cudnn_destroy = hc_dnn_destroy,
    .cudnn_set_stream = hc_dnn_set_stream,
    .cudnn_create_descriptor = hc_dnn_create_descriptor,
    .cudnn_destroy_descriptor = hc_dnn_destroy_descriptor,
    .cudnn_set = hc_dnn_set,
    .cudnn_get = hc_dnn_get,
    .cudnn_finalize = hc_dnn_finalize,
    .cudnn_execute = hc_dnn_execute,
    .cudnn_text = hc_dnn_text,
    .cudnn_version = hc_dnn_version,
};
