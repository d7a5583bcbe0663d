#include "kernels/cuda/emulate/library.h"

const struct hc_library hc_library_emulated = {
#define HC_BLAS(name, symbol, type, parameters)     .cublas_##name = hc_blas_##name,
#define HC_DNN(name, symbol, type, parameters)      .cudnn_##name = hc_dnn_##name,
#define HC_DNN_NORM(name, symbol, type, parameters) .cudnn_##name = hc_dnn_##name,
#include "kernels/cuda/library/functions.def"
};
