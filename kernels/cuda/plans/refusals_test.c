/* What the real cuDNN refuses, and that its stand-in refuses it, too. The graphs are those of
   conv_graph.c, altered on their way to either. */
#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/plans/testing.h"

/* What is altered: one tensor, the one that is written, all of them, or another descriptor. */
enum which { W, X, Y, RESULT, ALL, OTHERS };

enum { LEFT_OUT = -1 };

struct change {
    enum which which;
    int name;
    int at; /* number of the value that changes, or LEFT_OUT: none is set */
    int64_t to;
};

struct row {
    const char *title;
    struct change change[3];
};

static const struct row *row;
static const struct hc_library *below; /* that gets what is altered */
static int tensor;                     /* the last one that was begun */
static enum which result;              /* the tensor that is written */
static int finalized;                  /* descriptors that were finalized */
static int open_one;                   /* the one that is not */

static const struct change *change_of(int name)
{
    for (size_t i = 0; i < sizeof row->change / sizeof row->change[0]; i++) {
        const struct change *c = &row->change[i];
        enum which which = c->which == RESULT ? result : c->which;
        if (c->name == name && (which == OTHERS || which == ALL || (int)which == tensor))
            return c;
    }
    return NULL;
}

static int altered_set(void *descriptor, int name, int type, int64_t count, const void *values)
{
    int64_t integers[4];
    int number;
    tensor += name == HC_DNN_TENSOR_TYPE;
    const struct change *c = change_of(name);
    if (!c)
        return below->cudnn_set(descriptor, name, type, count, values);
    if (c->at == LEFT_OUT)
        return 0;
    if (type == HC_DNN_TYPE_INT64) {
        memcpy(integers, values, (size_t)count * sizeof integers[0]);
        integers[c->at] = c->to;
        values = integers;
    } else {
        number = (int)c->to;
        values = &number;
    }
    return below->cudnn_set(descriptor, name, type, count, values);
}

static int altered_finalize(void *descriptor)
{
    return ++finalized == open_one ? 0 : below->cudnn_finalize(descriptor);
}

/* Whether cuDNN plans the altered graph: x [2, 16, 16, 32], w [32, 3, 3, 32]. */
static bool is_planned(const struct hc_library *library, void *handle, void *device, enum hc_op op,
                       enum hc_format format)
{
    struct hc_library altered = *library;
    struct hc_libraries l = {.library = &altered, .dnn = handle, .device = device};
    struct hc_conv_key key = {.format = format,
                              .shape = {op, 2, 16, 16, 32, 16, 16, 32, 3, 3, 1, 1}};
    below = library;
    altered.cudnn_set = altered_set;
    altered.cudnn_finalize = altered_finalize;
    result = op == HC_OP_conv2d ? Y : op == HC_OP_conv2d_bwd_data ? X : W;
    tensor = -1;
    finalized = 0;
    const struct hc_conv_plan *plan = hc_conv_plan(&l, &key);
    bool planned = plan && plan->plan;
    hc_conv_plans_free(&l);
    return planned;
}

static const struct row rows[] = {
    {"nothing", {{W, 0, 0, 0}}},
    {"rows that lie apart", {{X, HC_DNN_TENSOR_STRIDES, 0, 16384}}},
    {"the result in fp32", {{RESULT, HC_DNN_TENSOR_TYPE, 0, HC_DNN_FP32}}},
    {"the result in bf16", {{RESULT, HC_DNN_TENSOR_TYPE, 0, HC_DNN_BF16}}},
    {"the result in fp16", {{RESULT, HC_DNN_TENSOR_TYPE, 0, HC_DNN_FP16}}},
    {"x in bf16", {{X, HC_DNN_TENSOR_TYPE, 0, HC_DNN_BF16}}},
    {"sums in bf16", {{OTHERS, HC_DNN_CONVOLUTION_COMPUTE, 0, HC_DNN_BF16}}},
    {"a row of y more", {{Y, HC_DNN_TENSOR_DIMENSIONS, 2, 17}}},
    {"a row of y less", {{Y, HC_DNN_TENSOR_DIMENSIONS, 2, 15}}},
    {"an image of y less", {{Y, HC_DNN_TENSOR_DIMENSIONS, 0, 1}}},
    {"channels of y less", {{Y, HC_DNN_TENSOR_DIMENSIONS, 1, 8}}},
    {"a channel of w less", {{W, HC_DNN_TENSOR_DIMENSIONS, 1, 31}}},
    {"stride 0", {{OTHERS, HC_DNN_CONVOLUTION_STRIDES, 0, 0}}},
    {"stride 2", {{OTHERS, HC_DNN_CONVOLUTION_STRIDES, 0, 2}}},
    {"dilation 0", {{OTHERS, HC_DNN_CONVOLUTION_DILATIONS, 0, 0}}},
    {"padding -1", {{OTHERS, HC_DNN_CONVOLUTION_PRE_PADDINGS, 0, -1}}},
    {"three dimensions", {{OTHERS, HC_DNN_CONVOLUTION_SPATIAL_DIMENSIONS, 0, 3}}},
    {"no image", {{X, HC_DNN_TENSOR_DIMENSIONS, 0, 0}}},
    {"pixels that overlap", {{X, HC_DNN_TENSOR_STRIDES, 3, 64}}},
    {"a stride of -1", {{X, HC_DNN_TENSOR_STRIDES, 0, -1}}},
    {"alignment 2", {{ALL, HC_DNN_TENSOR_ALIGNMENT, 0, 2}}},
    {"alignment 3", {{ALL, HC_DNN_TENSOR_ALIGNMENT, 0, 3}}},
    {"alignment 6", {{ALL, HC_DNN_TENSOR_ALIGNMENT, 0, 6}}},
    {"alignment 0", {{ALL, HC_DNN_TENSOR_ALIGNMENT, 0, 0}}},
    {"no extents", {{X, HC_DNN_TENSOR_DIMENSIONS, LEFT_OUT, 0}}},
    {"no strides", {{X, HC_DNN_TENSOR_STRIDES, LEFT_OUT, 0}}},
    {"no alignment", {{X, HC_DNN_TENSOR_ALIGNMENT, LEFT_OUT, 0}}},
    {"no stride", {{OTHERS, HC_DNN_CONVOLUTION_STRIDES, LEFT_OUT, 0}}},
    {"no padding", {{OTHERS, HC_DNN_CONVOLUTION_PRE_PADDINGS, LEFT_OUT, 0}}},
    {"no w",
     {{OTHERS, HC_DNN_FORWARD_FIRST + 3, LEFT_OUT, 0},
      {OTHERS, HC_DNN_BWD_DATA_FIRST + 3, LEFT_OUT, 0},
      {OTHERS, HC_DNN_BWD_FILTER_FIRST + 3, LEFT_OUT, 0}}},
    {"no operation", {{OTHERS, HC_DNN_GRAPH_OPERATIONS, LEFT_OUT, 0}}},
};

static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};

Test(refusals, of_the_real_cudnn_are_those_of_its_stand_in)
{
    const struct hc_library *library = real();
    void *device = device_of(library, devices[DEVICE_a100].json);
    void *handle = NULL;
    int refused = 0;
    open_one = 0;
    cr_assert_eq(hc_dnn_create(&handle), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int f = 0; f < 9; f++) {
            enum hc_op op = HC_OP_conv2d + f % 3;
            row = &rows[i];
            bool theirs = is_planned(library, NULL, device, op, formats[f / 3]);
            bool ours = is_planned(&hc_library_emulated, handle, NULL, op, formats[f / 3]);
            cr_expect_eq(theirs, ours, "%s: %s of %s: cuDNN %s, its stand-in %s", row->title,
                         hc_ops[op].name, hc_formats[formats[f / 3]].name,
                         theirs ? "plans it" : "refuses", ours ? "plans it" : "refuses");
            refused += !theirs;
            cr_assert(i > 1 || theirs, "%s", hc_message());
        }
    cr_assert_gt(refused, 200, "%d", refused);
    (void)library->cudnn_destroy_descriptor(device);
    (void)hc_dnn_destroy(handle);
}

/* The stand-in does not ask in which state a descriptor is: the real library does. The first six
   are three tensors, the convolution, the operation and the graph. */
Test(refusals, of_the_real_cudnn_are_descriptors_that_are_not_finalized)
{
    const struct hc_library *library = real();
    void *device = device_of(library, devices[DEVICE_a100].json);
    row = &rows[0];
    for (open_one = 0; open_one <= 6; open_one++)
        cr_expect_eq(is_planned(library, NULL, device, HC_OP_conv2d, HC_FP32), open_one == 0,
                     "descriptor %d is open", open_one);
    (void)library->cudnn_destroy_descriptor(device);
}
