/* The backend cuda-cudnn: batch norm by cuDNN, with the queue and the memory of cuda. */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/op/families.h"
#include "kernels/cuda/library/dnn_norm.h"
#include "kernels/cuda/library/library.h"

static const char *unavailable(void)
{
    const struct hc_library *library;
    const char *why = hc_cuda_unavailable();
    if (why || hc_library_load(&library) != HC_OK || library->cudnn_norm_train)
        return why;
    return "this cuDNN has no cudnnBatchNormalizationForwardTraining";
}

const struct hc_backend hc_cuda_cudnn = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda-cudnn",
    .title = "batch norm by cuDNN",
    .accumulator = {.precision = 24, .block = 1},
    .borders = hc_cuda_borders,
    .partial = true,
    .unavailable = unavailable,
    .open = hc_cuda_open,
    .close = hc_cuda_close,
    .allocate = hc_cuda_allocate,
    .release = hc_cuda_release,
    .upload = hc_cuda_upload,
    .download = hc_cuda_download,
    .clear = hc_cuda_clear,
    .describe = hc_cuda_describe,
    .kernel =
        {
            [HC_OP_bn_train] = hc_cudnn_bn_train,
            [HC_OP_bn_infer] = hc_cudnn_bn_infer,
            [HC_OP_bn_bwd] = hc_cudnn_bn_bwd,
        },
};
