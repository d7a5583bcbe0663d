/* Plans of convolutions by cuDNN.

   cuDNN has dozens of engines for a convolution, which differ in speed, workspace and rounding:
   some convert the inputs to a narrower format, some round partial sums, some transform the data
   (Winograd, FFT), some add in an order that changes. A claim about the sum needs an engine whose
   sums are sums in fp32. For each shape the plan is therefore the first engine that cuDNN's
   heuristics propose and whose numerical notes are acceptable (conv_choose.c). The heuristics
   measure no times, so that the same cuDNN on the same device makes the same plans. If no proposal
   is acceptable, the plan is empty and a kernel of our own runs the convolution.

   A plan is made by the first call of a shape, which is often the query for scratch, and is kept in
   the queue. A call of a known shape makes no plan and allocates nothing, as the capture of a graph
   needs. */
#ifndef HC_KERNELS_CUDA_LIBRARY_CONV_PLAN_H
#define HC_KERNELS_CUDA_LIBRARY_CONV_PLAN_H

#include <stdbool.h>

#include "kernels/conv_shape.h"
#include "kernels/cuda/library/handles.h"

/* A convolution as cuDNN is asked for it. */
struct hc_conv_key {
    struct hc_conv_shape shape;
    enum hc_format format; /* of its three tensors */
    bool tf32;             /* whether fp32 inputs may be taken as tf32 */
};

/* The alignment of tensors and workspace that plans rely on. */
enum { HC_DNN_ALIGNMENT = 16 };

enum { HC_CONV_PACKS = 4 };

/* Ids of the tensors in a plan. */
enum { HC_CONV_ID_X = 1, HC_CONV_ID_W = 2, HC_CONV_ID_Y = 3 };

/* Pointers to x, w, y and the workspace, and the descriptor in which cuDNN takes them. */
struct hc_conv_pack {
    void *pointers[4];
    void *descriptor;
};

struct hc_conv_plan {
    struct hc_conv_plan *next;  /* made after this one */
    struct hc_conv_plan *chain; /* in the same bucket */
    struct hc_conv_key key;
    void *plan;                               /* NULL: cuDNN has none for this shape */
    int64_t engine;                           /* its global index */
    int mode;                                 /* of the heuristics that proposed it */
    int64_t workspace;                        /* bytes */
    int refused;                              /* proposals before it that were not acceptable */
    char text[256];                           /* describes it for the record */
    struct hc_conv_pack packs[HC_CONV_PACKS]; /* of the latest calls */
    int next_pack;
    void **made; /* descriptors that the plan needs: those of the graph, heuristics with all their
                    proposals, an engine and its knobs, and the plan */
    int count;
    int room; /* of `made` */
};

struct hc_conv_key hc_conv_key_of(const struct hc_call *call);

/* The plan for the key, made by the first call and kept, also when it is empty. NULL with a line
   when it could not be made. */
struct hc_conv_plan *hc_conv_plan(struct hc_libraries *libraries, const struct hc_conv_key *key);

/* The plan's pack for these pointers: one of the latest, or a new one that replaces the oldest.
   Returns a status of cuDNN. */
int hc_conv_pack(const struct hc_library *library, struct hc_conv_plan *plan,
                 void *const pointers[4], void **pack);

void hc_conv_plans_free(struct hc_libraries *libraries);

/* A plan in the making. hc_conv_graph describes the operation and returns the graph's descriptor;
   hc_conv_choose takes an engine for it, or none. After an error all calls do nothing. */
struct hc_conv_builder {
    const struct hc_library *library;
    void *handle;
    void *device; /* see struct hc_libraries */
    struct hc_conv_plan *plan;
    int status;       /* cuDNN's, of the first call that failed; 0: none did */
    const char *what; /* that call */
};
void *hc_conv_make(struct hc_conv_builder *b, int kind);
void hc_conv_set(struct hc_conv_builder *b, void *descriptor, int name, int type, int64_t count,
                 const void *values);
void hc_conv_get(struct hc_conv_builder *b, void *descriptor, int name, int type, int64_t capacity,
                 int64_t *count, void *values);
void hc_conv_finalize(struct hc_conv_builder *b, void *descriptor);
/* Sets the attribute that says for which device a descriptor is: its handle or its description. */
void hc_conv_target(struct hc_conv_builder *b, void *descriptor, int handle, int device);
/* Destroys the descriptors after the first `count`. */
void hc_conv_undo(struct hc_conv_builder *b, int count);
void *hc_conv_graph(struct hc_conv_builder *b);
void hc_conv_choose(struct hc_conv_builder *b, void *graph);

#endif
