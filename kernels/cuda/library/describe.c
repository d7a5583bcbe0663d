#include <stdio.h>

#include "kernels/cuda/library/conv_plan.h"
#include "kernels/cuda/library/handles.h"

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

/* A plan a line: which convolution, and what runs it. */
void hc_libraries_describe(const struct hc_libraries *libraries, hc_tell *tell, void *context)
{
    for (const struct hc_conv_plan *p = libraries->plans; p; p = p->next) {
        const struct hc_conv_shape *g = &p->key.shape;
        char name[256];
        (void)snprintf(name, sizeof name,
                       "%s %s to %s, x %lldx%lldx%lldx%lld, w %lldx%lldx%lldx%lld, stride %lld, "
                       "pad %lld",
                       hc_ops[g->op].name, p->key.tf32 ? "tf32" : hc_formats[p->key.in].name,
                       hc_formats[p->key.out].name, (long long)g->n, (long long)g->h,
                       (long long)g->w, (long long)g->c, (long long)g->k, (long long)g->r,
                       (long long)g->s, (long long)g->c, (long long)g->stride, (long long)g->pad);
        tell(name, p->text, context);
    }
}
