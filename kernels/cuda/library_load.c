#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/library.h"

/* Where libraries may be: below the folder that a variable names, or `folder` itself; a pattern for
   glob(3). The first is tried as the loader does it. */
struct place {
    const char *variable;
    const char *folder;
};

static const struct place places[] = {
    {"CUDA_HOME", "/lib64/"},
    {"CUDA_HOME", "/lib/"},
    {NULL, ""},
    {NULL, "/usr/local/cuda/lib64/"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib/"},
    {"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib/"},
    {"HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib/"},
    {NULL, "/usr/local/lib/python3*/*-packages/nvidia/*/lib/"},
    {NULL, "/usr/lib/python3*/*-packages/nvidia/*/lib/"},
};

static const char looked[] =
    "$CUDA_HOME, the loader's path, /usr/local/cuda and nvidia/*/lib of the "
    "Python packages in $VIRTUAL_ENV, $CONDA_PREFIX, ~/.local, /usr/local, "
    "/usr";

/* The first file of the pattern that loads; NULL. */
static void *load_from(const struct place *place, const char *name)
{
    char path[4096];
    const char *root = place->variable ? getenv(place->variable) : "";
    if (!root || (place->variable && !*root))
        return NULL;
    int length = snprintf(path, sizeof path, "%s%s%s", root, place->folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return NULL;
    if (!strchr(path, '/'))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    glob_t found;
    void *library = NULL;
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !library; i++)
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
        globfree(&found);
    }
    return library;
}

static void *load(const char *name)
{
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !library; i++)
        library = load_from(&places[i], name);
    return library;
}

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

/* cuBLAS before cuDNN, which then finds the one that is there; cuBLASLt before cuBLAS likewise. */
enum hc_status hc_library_load(const struct hc_library **library)
{
    static struct hc_library loaded;
    static bool ready;
    *library = &loaded;
    if (ready)
        return HC_OK;
    (void)(load("libcublasLt.so.13") || load("libcublasLt.so.12"));
    void *blas = load("libcublas.so.13");
    if (!blas)
        blas = load("libcublas.so.12");
    if (!blas)
        return hc_fail(HC_DEVICE, "cuda: no libcublas.so.13 or .12 that loads in %s", looked);
    void *dnn = load("libcudnn.so.9");
    if (!dnn)
        return hc_fail(HC_DEVICE, "cuda: no libcudnn.so.9 that loads in %s", looked);
    enum hc_status status = fill(&loaded, blas, "cuBLAS", blas_symbols);
    if (status == HC_OK)
        status = fill(&loaded, dnn, "cuDNN", dnn_symbols);
    ready = status == HC_OK;
    return status;
}
