/* Stand-ins for cuBLAS and cuDNN in plain C, so that every call into the libraries can be tested
   without them.

   They do what the descriptors and arguments of the calls say, and nothing else: layouts, leading
   dimensions, strides, paddings, alignments and compute types are taken from the calls. A wrong
   argument gives a wrong result or a status. 16-bit and tf32 numbers are summed as an H100 sums
   them (sum.h). Where the libraries are free to lose precision, the stand-ins do lose it: fp32
   without PEDANTIC becomes tf32, 16-bit sums without the math mode are rounded to 16 bits, and
   cuDNN's heuristics propose quick and coarse engines first. */
#ifndef HC_KERNELS_CUDA_EMULATE_LIBRARY_H
#define HC_KERNELS_CUDA_EMULATE_LIBRARY_H

#include "kernels/cuda/library/library.h"
#include "num/format.h"

extern const struct hc_library hc_library_emulated;

/* Statuses of cuBLAS and cuDNN. */
enum {
    HC_BLAS_NOT_INITIALIZED = 1,
    HC_BLAS_ALLOC_FAILED = 3,
    HC_BLAS_INVALID_VALUE = 7,
    HC_BLAS_NOT_SUPPORTED = 15,
    HC_DNN_BAD_PARAM = 2000,
    HC_DNN_BAD_NULL = 2002,
    HC_DNN_BAD_MISALIGNED = 2003,
    HC_DNN_BAD_SHAPE = 2008,
    HC_DNN_BAD_DUPLICATE = 2009,
    HC_DNN_BAD_TYPE = 2010,
};

/* blas.c; dnn.c; dnn_norm.c. */
#define HC_BLAS(name, symbol, type, parameters)     type hc_blas_##name parameters;
#define HC_DNN(name, symbol, type, parameters)      type hc_dnn_##name parameters;
#define HC_DNN_NORM(name, symbol, type, parameters) type hc_dnn_##name parameters;
#include "kernels/cuda/library/functions.def"
#undef HC_BLAS
#undef HC_DNN
#undef HC_DNN_NORM

#endif
