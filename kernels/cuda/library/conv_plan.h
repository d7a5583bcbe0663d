/* Plans of convolutions: for each shape the first engine that cuDNN's heuristics propose and whose
   numerical notes we accept. The heuristics time nothing: the same cuDNN on the same device makes the
   same plans. */
#ifndef HC_KERNELS_CUDA_LIBRARY_CONV_PLAN_H
#define HC_KERNELS_CUDA_LIBRARY_CONV_PLAN_H

#include <stdbool.h>

#include "kernels/conv_shape.h"
#include "kernels/cuda/library/handles.h"

/* A convolution as cuDNN is asked for it. */
struct hc_conv_key {
    struct hc_conv_shape shape;
    enum hc_format in;
    enum hc_format out; /* what cuDNN writes: the inputs' format or fp32 */
    bool tf32;          /* may be used */
};

/* What cuDNN must find tensors and workspace aligned to. */
enum { HC_DNN_ALIGNMENT = 16 };

/* A graph of six, heuristics and their proposals, an engine, its knobs, a plan. */
enum {
    HC_CONV_PROPOSALS = 16,
    HC_CONV_KNOBS = 16,
    HC_CONV_DESCRIPTORS = 6 + 1 + HC_CONV_PROPOSALS + 1 + HC_CONV_KNOBS + 1,
    HC_CONV_PACKS = 4,
};

/* Names of the tensors in a plan. */
enum { HC_CONV_ID_X = 1, HC_CONV_ID_W = 2, HC_CONV_ID_Y = 3 };

/* Pointers of x, w, y and the workspace, as cuDNN wants to have them. */
struct hc_conv_pack {
    void *pointers[4];
    void *descriptor;
};

struct hc_conv_plan {
    struct hc_conv_plan *next;  /* in the order of making */
    struct hc_conv_plan *chain; /* of the same bucket */
    struct hc_conv_key key;
    void *plan;                               /* NULL: cuDNN has none for this shape */
    int64_t engine;                           /* its global index */
    int64_t workspace;                        /* bytes */
    int refused;                              /* proposals passed over before it */
    char text[192];                           /* what was chosen, for the record */
    struct hc_conv_pack packs[HC_CONV_PACKS]; /* of the latest calls */
    int next_pack;
    void *made[HC_CONV_DESCRIPTORS]; /* what the plan rests on */
    int count;
};

struct hc_conv_key hc_conv_key_of(const struct hc_call *call);

/* Made when it is first asked for, and kept; NULL with a line when that failed. One without `plan` is
   kept, too. Nothing is allocated for a key that has been asked for. */
struct hc_conv_plan *hc_conv_plan(struct hc_libraries *libraries, const struct hc_conv_key *key);

/* The plan's pack for these pointers: one of the latest, or a new one in place of the oldest. A status of
   cuDNN's. */
int hc_conv_pack(const struct hc_library *library, struct hc_conv_plan *plan,
                 void *const pointers[4], void **pack);

void hc_conv_plans_free(struct hc_libraries *libraries);

/* The making of a plan: conv_graph.c describes the operation (graph is the last of its descriptors),
   conv_choose.c takes an engine for it, or none. A status of cuDNN's. */
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
void hc_conv_get(struct hc_conv_builder *b, void *descriptor, int name, int type, int64_t capacity,
                 int64_t *count, void *values);
void hc_conv_finalize(struct hc_conv_builder *b, void *descriptor);
/* Destroys what was made after the first `count`. */
void hc_conv_undo(struct hc_conv_builder *b, int count);
void *hc_conv_graph(struct hc_conv_builder *b);
void hc_conv_choose(struct hc_conv_builder *b, void *graph);

#endif
