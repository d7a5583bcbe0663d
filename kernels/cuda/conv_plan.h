/* Plans of convolutions: for each shape the first engine that cuDNN's heuristics propose and whose
   numerical notes we accept. The heuristics time nothing: the same cuDNN on the same device makes the
   same plans. */
#ifndef HC_KERNELS_CUDA_CONV_PLAN_H
#define HC_KERNELS_CUDA_CONV_PLAN_H

#include <stdbool.h>

#include "kernels/cuda/libraries.h"

/* A convolution as cuDNN is asked for it: extents as in hc_conv, `out` what it writes. */
struct hc_conv_shape {
    enum hc_op op;
    enum hc_format in;
    enum hc_format out;
    int64_t n, h, w, c;
    int64_t p, q, k;
    int64_t r, s;
    int64_t stride, pad;
    bool tf32; /* may be used */
};

/* What cuDNN must find tensors and workspace aligned to. */
enum { HC_DNN_ALIGNMENT = 16 };

/* A graph of six, heuristics and their proposals, an engine, a plan. */
enum { HC_CONV_PROPOSALS = 16, HC_CONV_DESCRIPTORS = 6 + 1 + HC_CONV_PROPOSALS + 2 };

/* Names of the tensors in a plan. */
enum { HC_CONV_X = 1, HC_CONV_W = 2, HC_CONV_Y = 3 };

struct hc_conv_plan {
    struct hc_conv_plan *next;
    struct hc_conv_shape shape;
    void *plan;                      /* NULL: cuDNN has none for this shape */
    int64_t engine;                  /* its global index */
    int64_t workspace;               /* bytes */
    void *made[HC_CONV_DESCRIPTORS]; /* what the plan rests on */
    int count;
};

struct hc_conv_shape hc_conv_shape_of(const struct hc_call *call);

/* Made when it is first asked for, and kept; NULL with a line when that failed. One without `plan` is
   kept, too. */
struct hc_conv_plan *hc_conv_plan(struct hc_libraries *libraries,
                                  const struct hc_conv_shape *shape);

void hc_conv_plans_free(struct hc_libraries *libraries);

/* The descriptors of the shape's operation graph; graph is the last. For conv_graph.c and
   conv_plan.c alone. A status of cuDNN's. */
struct hc_conv_builder {
    const struct hc_library *library;
    void *handle;
    struct hc_conv_plan *plan;
    int status;       /* of the first call that failed; 0: none did */
    const char *what; /* that call */
};
void *hc_conv_make(struct hc_conv_builder *b, int kind);
void hc_conv_set(struct hc_conv_builder *b, void *descriptor, int name, int type, int64_t count,
                 const void *values);
void hc_conv_finalize(struct hc_conv_builder *b, void *descriptor);
void *hc_conv_graph(struct hc_conv_builder *b);

#endif
