/* What the files of the stand-in for cuDNN share: a descriptor is a list of attributes. */
#ifndef HC_KERNELS_CUDA_EMULATE_DNN_H
#define HC_KERNELS_CUDA_EMULATE_DNN_H

#include <stdbool.h>

#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/emulate/sum.h"

struct hc_emulated_stream;

struct hc_dnn_handle {
    struct hc_emulated_stream *stream;
};

enum { HC_DNN_ATTRIBUTES = 8, HC_DNN_VALUES = 4 };

struct hc_dnn_attribute {
    int name;
    int type;
    int64_t count;
    union {
        int64_t integer[HC_DNN_VALUES];
        int number[HC_DNN_VALUES];
        float real[HC_DNN_VALUES];
        void *pointer[HC_DNN_VALUES];
    } value;
};

struct hc_dnn_descriptor {
    int kind;
    int engine; /* of a configuration and an engine */
    int count;
    struct hc_dnn_attribute attribute[HC_DNN_ATTRIBUTES];
};

/* An engine of the stand-in: its notes, and how it sums. */
struct hc_dnn_engine {
    int64_t index;
    int notes;
    int note[2];
    enum hc_format
        partial; /* fp32: it sums on the matrix unit. Else its partial sums are rounded. */
    bool tf32;   /* fp32 inputs go to the unit as well */
    bool compiles;
};
enum { HC_DNN_ENGINES = 5 };

/* The descriptor that an attribute holds; NULL if it was not set, or to something else. */
struct hc_dnn_descriptor *hc_dnn_child(const struct hc_dnn_descriptor *d, int name);

/* One convolution, read from the descriptors of an operation. */
struct hc_dnn_tensor {
    enum hc_format format;
    int64_t id;
    int64_t alignment;
    int64_t extent[4]; /* N, C, H, W; K, C, R, S */
    int64_t stride[4];
};
struct hc_dnn_operation {
    int kind;
    struct hc_dnn_tensor w, x, y;
    int64_t before[2], after[2], stride[2], dilation[2];
};

/* 0, or the status of finalizing the operation. */
int hc_dnn_read(const struct hc_dnn_descriptor *d, struct hc_dnn_operation *operation);

/* The operation of a plan, of a configuration or of a graph. */
const struct hc_dnn_descriptor *hc_dnn_operation_of(const struct hc_dnn_descriptor *plan);

/* The bytes of workspace that the operation's plans need for the sums in fp32. */
int64_t hc_dnn_workspace(const struct hc_dnn_operation *operation);

#endif
