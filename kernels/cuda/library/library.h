/* cuBLAS (12 or 13) and cuDNN 9's backend interface, as far as they are used: the values of their
   enumerations, and a table of pointers to their functions. The libraries are not linked, so that
   the program is built without their headers, starts on a machine that lacks them, and can be
   tested with stand-ins (emulate/library.h). device/library_values.c compares the values with the
   headers where there are any. */
#ifndef HC_KERNELS_CUDA_LIBRARY_LIBRARY_H
#define HC_KERNELS_CUDA_LIBRARY_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "num/format.h"
#include "op/status.h"

/* cublasOperation_t, cudaDataType_t, cublasComputeType_t, cublasGemmAlgo_t, cublasMath_t. */
enum {
    HC_BLAS_N = 0,
    HC_BLAS_T = 1,
    HC_BLAS_FP32 = 0,
    HC_BLAS_FP16 = 2,
    HC_BLAS_BF16 = 14,
    HC_BLAS_COMPUTE_16F = 64,
    HC_BLAS_COMPUTE_32F = 68,
    HC_BLAS_COMPUTE_32F_PEDANTIC = 69,
    HC_BLAS_COMPUTE_32F_FAST_TF32 = 77,
    HC_BLAS_ALGORITHM_DEFAULT = -1,
    HC_BLAS_NO_REDUCED_PRECISION_REDUCTION = 16,
};

/* cudnnBackendDescriptorType_t. */
enum hc_dnn_kind {
    HC_DNN_CONVOLUTION = 1,
    HC_DNN_ENGINE = 2,
    HC_DNN_CONFIG = 3,
    HC_DNN_HEURISTICS = 4,
    HC_DNN_PLAN = 5,
    HC_DNN_KNOB_CHOICE = 7,
    HC_DNN_FORWARD = 10,
    HC_DNN_BWD_FILTER = 11,
    HC_DNN_BWD_DATA = 12,
    HC_DNN_GRAPH = 15,
    HC_DNN_PACK = 16,
    HC_DNN_TENSOR = 17,
    HC_DNN_DEVICE = 38,
};

/* cudnnBackendAttributeName_t. */
enum hc_dnn_name {
    HC_DNN_CONVOLUTION_COMPUTE = 100,
    HC_DNN_CONVOLUTION_MODE = 101,
    HC_DNN_CONVOLUTION_DILATIONS = 102,
    HC_DNN_CONVOLUTION_STRIDES = 103,
    HC_DNN_CONVOLUTION_POST_PADDINGS = 104,
    HC_DNN_CONVOLUTION_PRE_PADDINGS = 105,
    HC_DNN_CONVOLUTION_SPATIAL_DIMENSIONS = 106,
    HC_DNN_HEURISTICS_MODE = 200,
    HC_DNN_HEURISTICS_GRAPH = 201,
    HC_DNN_HEURISTICS_RESULTS = 202,
    HC_DNN_HEURISTICS_DEVICE = 204,
    HC_DNN_CONFIG_ENGINE = 300,
    HC_DNN_CONFIG_KNOBS = 302,
    HC_DNN_PLAN_HANDLE = 400,
    HC_DNN_PLAN_CONFIG = 401,
    HC_DNN_PLAN_WORKSPACE = 402,
    HC_DNN_PLAN_DEVICE = 407,
    HC_DNN_KNOB_TYPE = 600,
    HC_DNN_KNOB_VALUE = 601,
    HC_DNN_FORWARD_FIRST = 700,    /* and from there on alpha, beta, convolution, w, x, y */
    HC_DNN_BWD_DATA_FIRST = 706,   /* alpha, beta, convolution, w, dx, dy */
    HC_DNN_BWD_FILTER_FIRST = 712, /* alpha, beta, convolution, dw, x, dy */
    HC_DNN_GRAPH_HANDLE = 800,
    HC_DNN_GRAPH_OPERATIONS = 801,
    HC_DNN_TENSOR_ALIGNMENT = 900,
    HC_DNN_TENSOR_TYPE = 901,
    HC_DNN_TENSOR_DIMENSIONS = 902,
    HC_DNN_TENSOR_STRIDES = 903,
    HC_DNN_TENSOR_ID = 906,
    HC_DNN_PACK_IDS = 1000,
    HC_DNN_PACK_POINTERS = 1001,
    HC_DNN_PACK_WORKSPACE = 1003,
    HC_DNN_ENGINE_INDEX = 1301,
    HC_DNN_ENGINE_NOTES = 1303,
    HC_DNN_ENGINE_BEHAVIOURS = 1305,
    HC_DNN_DEVICE_JSON = 2702,
};

/* cudnnBackendAttributeType_t. */
enum hc_dnn_type {
    HC_DNN_TYPE_HANDLE = 0,
    HC_DNN_TYPE_DATA_TYPE = 1,
    HC_DNN_TYPE_INT64 = 3,
    HC_DNN_TYPE_FLOAT = 4,
    HC_DNN_TYPE_POINTER = 6,
    HC_DNN_TYPE_MODE = 7,
    HC_DNN_TYPE_HEURISTICS_MODE = 8,
    HC_DNN_TYPE_KNOB = 9,
    HC_DNN_TYPE_NOTE = 11,
    HC_DNN_TYPE_DESCRIPTOR = 15,
    HC_DNN_TYPE_BEHAVIOUR = 19,
    HC_DNN_TYPE_CHAR = 24,
};

/* cudnnDataType_t, cudnnConvolutionMode_t, cudnnBackendHeurMode_t, cudnnBatchNormMode_t. */
enum {
    HC_DNN_FP32 = 0,
    HC_DNN_FP16 = 2,
    HC_DNN_BF16 = 9,
    HC_DNN_CROSS_CORRELATION = 1,
    HC_DNN_MODE_FALLBACK = 2,
    HC_DNN_MODE_A = 3,
    HC_DNN_NORM_SPATIAL = 1,
    HC_DNN_NOT_SUPPORTED = 3000, /* a cudnnStatus_t; its special cases go up to 3999 */
    HC_DNN_NO_MEMORY = 4003,     /* of the host */
};

/* cudnnBackendNumericalNote_t. */
enum hc_dnn_note {
    HC_DNN_NOTE_TENSOR_CORE = 0,
    HC_DNN_NOTE_DOWN_CONVERT_INPUTS = 1,
    HC_DNN_NOTE_REDUCED_PRECISION_REDUCTION = 2,
    HC_DNN_NOTE_FFT = 3,
    HC_DNN_NOTE_NONDETERMINISTIC = 4,
    HC_DNN_NOTE_WINOGRAD = 5,
    HC_DNN_NOTE_WINOGRAD_4 = 6,
    HC_DNN_NOTE_WINOGRAD_6 = 7,
    HC_DNN_NOTE_WINOGRAD_13 = 8,
    HC_DNN_NOTE_STRICT_NAN = 9,
    HC_DNN_NOTE_COUNT = 10,
};

/* cudnnBackendBehaviorNote_t. */
enum {
    HC_DNN_BEHAVIOUR_COMPILES = 0, /* when a plan is made */
    HC_DNN_BEHAVIOUR_COUNT = 5,
};

/* NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters has its own. */

/* A pointer for each function of functions.def. cudnn_norm_train is NULL where a cuDNN no longer
   has the older interface of batch norm. */
struct hc_library {
#define HC_BLAS(name, symbol, type, parameters)     type(*cublas_##name) parameters;
#define HC_DNN(name, symbol, type, parameters)      type(*cudnn_##name) parameters;
#define HC_DNN_NORM(name, symbol, type, parameters) type(*cudnn_##name) parameters;
#include "kernels/cuda/library/functions.def"
#undef HC_BLAS
#undef HC_DNN
#undef HC_DNN_NORM
};

/* NOLINTEND(bugprone-macro-parentheses) */

/* The type's number in either library; they differ for bf16. */
static inline int hc_blas_type(enum hc_format format)
{
    return format == HC_FP16 ? HC_BLAS_FP16 : format == HC_BF16 ? HC_BLAS_BF16 : HC_BLAS_FP32;
}

static inline int hc_dnn_type(enum hc_format format)
{
    return format == HC_FP16 ? HC_DNN_FP16 : format == HC_BF16 ? HC_DNN_BF16 : HC_DNN_FP32;
}

/* The libraries of this machine (find.h says where they may be), loaded by the first call and never
   unloaded. HC_DEVICE with a line that says what was looked for. */
enum hc_status hc_library_load(const struct hc_library **library);

#endif
