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

#define HC_BLAS(name, symbol, type, parameters)
#define HC_DNN(name, symbol, type, parameters)
#define HC_DNN_NORM(name, symbol, type, parameters)

static const struct symbol blas_symbols[] = {
#undef HC_BLAS
#define HC_BLAS(name, symbol, type, parameters)                                                    \
    {#symbol, offsetof(struct hc_library, cublas_##name)},
#include "kernels/cuda/library/functions.def"
#undef HC_BLAS
#define HC_BLAS(name, symbol, type, parameters)
    {NULL, 0},
};

static const struct symbol dnn_symbols[] = {
#undef HC_DNN
#define HC_DNN(name, symbol, type, parameters) {#symbol, offsetof(struct hc_library, cudnn_##name)},
#include "kernels/cuda/library/functions.def"
#undef HC_DNN
#define HC_DNN(name, symbol, type, parameters)
    {NULL, 0},
};

static const struct symbol norm_symbols[] = {
#undef HC_DNN_NORM
#define HC_DNN_NORM(name, symbol, type, parameters)                                                \
    {#symbol, offsetof(struct hc_library, cudnn_##name)},
#include "kernels/cuda/library/functions.def"
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

/* Libraries that cuBLAS and cuDNN load by name. They are loaded first, so that they are found
   wherever they are; both versions, since cuDNN may be built for the other one. One that is missing
   here may not be needed. */
static const char *const helpers[] = {
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "libnvrtc.so.13",
    "libnvrtc.so.12",
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
    hc_library_open_beside(dnn, "libcudnn_*.so.9"); /* its parts, of the same version */
    enum hc_status status = fill(&loaded, blas, "cuBLAS", blas_symbols);
    if (status == HC_OK)
        status = fill(&loaded, dnn, "cuDNN", dnn_symbols);
    if (status == HC_OK && fill(&loaded, dnn, "cuDNN", norm_symbols) != HC_OK)
        loaded.cudnn_norm_train = NULL; /* the backend cuda-cudnn says so */
    ready = status == HC_OK;
    return status;
}
