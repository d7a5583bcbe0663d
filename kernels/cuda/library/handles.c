#include "kernels/cuda/library/handles.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/library/conv_plan.h"

static enum hc_status blas(const struct hc_library *l, int status, const char *what)
{
    return status == 0 ? HC_OK
                       : hc_fail(HC_DEVICE, "cuda: cuBLAS: %s: %s", what, l->cublas_text(status));
}

static enum hc_status dnn(const struct hc_library *l, int status, const char *what)
{
    return status == 0 ? HC_OK
                       : hc_fail(HC_DEVICE, "cuda: cuDNN: %s: %s", what, l->cudnn_text(status));
}

/* The stream comes before the workspace: setting the stream restores cuBLAS's own workspace. */
static enum hc_status open_handles(struct hc_libraries *l, void *stream, void *workspace)
{
    const struct hc_library *call = l->library;
    enum hc_status status = blas(call, call->cublas_create(&l->blas), "create");
    if (status == HC_OK)
        status = blas(call, call->cublas_set_stream(l->blas, stream), "set stream");
    if (status == HC_OK)
        status = blas(call, call->cublas_set_workspace(l->blas, workspace, HC_BLAS_WORKSPACE),
                      "set workspace");
    if (status == HC_OK)
        status =
            blas(call, call->cublas_set_math_mode(l->blas, HC_BLAS_NO_REDUCED_PRECISION_REDUCTION),
                 "set math mode");
    if (status == HC_OK)
        status = dnn(call, call->cudnn_create(&l->dnn), "create");
    if (status == HC_OK)
        status = dnn(call, call->cudnn_set_stream(l->dnn, stream), "set stream");
    return status;
}

enum hc_status hc_libraries_open(struct hc_libraries **libraries, const struct hc_library *library,
                                 void *stream, void *workspace)
{
    struct hc_libraries *l = calloc(1, sizeof *l);
    *libraries = NULL;
    if (!l)
        return hc_fail(HC_NO_MEMORY, "cuda: no memory for the libraries' handles");
    l->library = library;
    enum hc_status status = open_handles(l, stream, workspace);
    if (status == HC_OK)
        *libraries = l;
    else
        hc_libraries_close(l);
    return status;
}

void hc_libraries_close(struct hc_libraries *l)
{
    if (!l)
        return;
    hc_conv_plans_free(l);
    if (l->dnn)
        (void)l->library->cudnn_destroy(l->dnn);
    if (l->blas)
        (void)l->library->cublas_destroy(l->blas);
    free(l);
}

void hc_library_describe(const struct hc_library *library, hc_tell *tell, void *context)
{
    char text[64];
    int version[3] = {0};
    int status = 0;
    for (int i = 0; i < 3; i++)
        status |= library->cublas_property(i, &version[i]);
    (void)snprintf(text, sizeof text, "%d.%d.%d", version[0], version[1], version[2]);
    if (status == 0)
        tell("cublas", text, context);
    int cudnn = (int)library->cudnn_version();
    (void)snprintf(text, sizeof text, "%d.%d.%d", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
    tell("cudnn", text, context);
}

/* A line for each plan: which convolution it is, and which engine runs it. */
void hc_libraries_describe(const struct hc_libraries *libraries, hc_tell *tell, void *context)
{
    hc_gemms_describe(libraries, tell, context);
    for (const struct hc_conv_plan *p = libraries->plans; p; p = p->next) {
        const struct hc_conv_shape *g = &p->key.shape;
        char name[256];
        (void)snprintf(name, sizeof name,
                       "%s %s, x %lldx%lldx%lldx%lld, w %lldx%lldx%lldx%lld, stride %lld, pad %lld",
                       hc_ops[g->op].name, p->key.tf32 ? "tf32" : hc_formats[p->key.format].name,
                       (long long)g->n, (long long)g->h, (long long)g->w, (long long)g->c,
                       (long long)g->k, (long long)g->r, (long long)g->s, (long long)g->c,
                       (long long)g->stride, (long long)g->pad);
        tell(name, p->text, context);
    }
}
