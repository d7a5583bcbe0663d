/* Batch norm by cuDNN, the kernels of the backend cuda-cudnn. x, y, dy and dx have one format and
   all other tensors are fp32; x is [N, H, W, C], with more than one row for training. Otherwise,
   and where cuDNN does not support the call, HC_UNSUPPORTED. */
#ifndef HC_KERNELS_CUDA_LIBRARY_DNN_NORM_H
#define HC_KERNELS_CUDA_LIBRARY_DNN_NORM_H

#include "backend.h"

hc_kernel hc_cudnn_bn_train, hc_cudnn_bn_infer, hc_cudnn_bn_bwd;

#endif
