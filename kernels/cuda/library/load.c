#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/find.h"

struct symbol {
    const char *name;
    size_t slot; /* in struct hc_library */
};

static const struct symbol blas_symbols[] = {
    {"cublasCreate_v2", offsetof(struct hc_library, cublas_create)},
    {"cublasDestroy_v2", offsetof(struct hc_library, cublas_destroy)},
    {"cublasSetStream_v2", offsetof(struct hc_library, cublas_set_stream)},
    {"cublasSetWorkspace_v2", offsetof(struct hc_library, cublas_set_workspace)},
    {"cublasSetMathMode", offsetof(struct hc_library, cublas_set_math_mode)},
    {"cublasGemmEx", offsetof(struct hc_library, cublas_gemm_ex)},
    {"cublasGetStatusString", offsetof(struct hc_library, cublas_text)},
    {"cublasGetProperty", offsetof(struct hc_library, cublas_property)},
    {NULL, 0},
};

static const struct symbol dnn_symbols[] = {
    {"cudnnCreate", offsetof(struct hc_library, cudnn_create)},
    {"cudnnDestroy", offsetof(struct hc_library, cudnn_destroy)},
    {"cudnnSetStream", offsetof(struct hc_library, cudnn_set_stream)},
    {"cudnnBackendCreateDescriptor", offsetof(struct hc_library, cudnn_create_descriptor)},
    {"cudnnBackendDestroyDescriptor", offsetof(struct hc_library, cudnn_destroy_descriptor)},
    {"cudnnBackendSetAttribute", offsetof(struct hc_library, cudnn_set)},
    {"cudnnBackendGetAttribute", offsetof(struct hc_library, cudnn_get)},
    {"cudnnBackendFinalize", offsetof(struct hc_library, cudnn_finalize)},
    {"cudnnBackendExecute", offsetof(struct hc_library, cudnn_execute)},
    {"cudnnGetErrorString", offsetof(struct hc_library, cudnn_text)},
    {"cudnnGetVersion", offsetof(struct hc_library, cudnn_version)},
    {NULL, 0},
};

static const struct symbol older_dnn_symbols[] = {
    {"cudnnCreateTensorDescriptor", offsetof(struct hc_library, cudnn_create_tensor)},
    {"cudnnDestroyTensorDescriptor", offsetof(struct hc_library, cudnn_destroy_tensor)},
    {"cudnnSetTensor4dDescriptorEx", offsetof(struct hc_library, cudnn_set_tensor)},
    {"cudnnDeriveBNTensorDescriptor", offsetof(struct hc_library, cudnn_derive_norm)},
    {"cudnnBatchNormalizationForwardTraining", offsetof(struct hc_library, cudnn_norm_train)},
    {"cudnnBatchNormalizationForwardInference", offsetof(struct hc_library, cudnn_norm_infer)},
    {"cudnnBatchNormalizationBackward", offsetof(struct hc_library, cudnn_norm_bwd)},
    {NULL, 0},
};

static enum hc_status fill(struct hc_library *to, void *library, const char *title,
                           const struct symbol *symbols)
{
    for (const struct symbol *s = symbols; s->name; s++) {
        void *function = dlsym(library, s->name);
        if (!function)
            return hc_fail(HC_DEVICE, "cuda: %s has no %s", title, s->name);
        memcpy((char *)to + s->slot, &function, sizeof function);
    }
    return HC_OK;
}

/* cuBLASLt before cuBLAS, which then finds the one that is there; of both versions, since cuDNN may
   have been made for the other one. What cuDNN loads by name when it needs it comes before cuDNN
   itself; what is missing there is its own business. */
static const char *const helpers[] = {
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libcudnn_graph.so.9",
    "libcudnn_ops.so.9",
    "libcudnn_engines_precompiled.so.9",
    "libcudnn_engines_runtime_compiled.so.9",
    "libcudnn_heuristic.so.9",
};

enum hc_status hc_library_load(const struct hc_library **library)
{
    static struct hc_library loaded;
    static bool ready;
    *library = &loaded;
    if (ready)
        return HC_OK;
    for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++)
        (void)hc_library_open(helpers[i]);
    void *blas = hc_library_open("libcublas.so.13");
    if (!blas)
        blas = hc_library_open("libcublas.so.12");
    if (!blas)
        return hc_fail(HC_DEVICE, "cuda: no libcublas.so.13 or .12 that loads in %s",
                       hc_library_places);
    void *dnn = hc_library_open("libcudnn.so.9");
    if (!dnn)
        return hc_fail(HC_DEVICE, "cuda: no libcudnn.so.9 that loads in %s", hc_library_places);
    enum hc_status status = fill(&loaded, blas, "cuBLAS", blas_symbols);
    if (status == HC_OK)
        status = fill(&loaded, dnn, "cuDNN", dnn_symbols);
    if (status == HC_OK && fill(&loaded, dnn, "cuDNN", older_dnn_symbols) != HC_OK)
        loaded.cudnn_norm_train = NULL; /* the backend cuda-cudnn says so */
    ready = status == HC_OK;
    return status;
}
