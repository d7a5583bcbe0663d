/* Convolutions through the stand-ins and by our own kernel, compared with MPFR. Then an attribute
   is altered on its way to cuDNN: each alteration must show. */
#include <signal.h>
#include <string.h>

#include "kernels/cuda/library/conv_testing.h"

Test(cuda_conv, convolutions_of_integers_come_out_exactly_in_every_shape_and_format)
{
    static const enum hc_format h[] = {HC_FP32, HC_FP16, HC_BF16};
    begin();
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int f = 0; f < 27; f++) {
            enum hc_op op = HC_OP_conv2d + f / 9;
            struct hc_call call = convolution(op, shapes[i], h[f % 3], h[f / 3 % 3]);
            cr_assert_eq(run(&call, 0), 0, "%s, shape %zu, %s to %s: %s", hc_ops[op].name, i,
                         hc_formats[h[f % 3]].name, hc_formats[h[f / 3 % 3]].name, hc_message());
        }
    end();
}

/* The attribute that is set in another's place, or whose first value is one more. */
static int from, to, grown;

static int changed_set(void *descriptor, int name, int type, int64_t count, const void *values)
{
    int64_t more[4];
    if (name == grown && type == HC_DNN_TYPE_INT64) {
        memcpy(more, values, (size_t)count * sizeof more[0]);
        more[0]++;
        values = more;
    }
    return hc_dnn_set(descriptor,
                      name == from ? to
                      : name == to ? from
                                   : name,
                      type, count, values);
}

Test(cuda_conv, swapped_and_wrong_descriptors_of_a_convolution_show)
{
    static const int swaps[][2] = {
        {HC_DNN_CONVOLUTION_STRIDES, HC_DNN_CONVOLUTION_PRE_PADDINGS},
        {HC_DNN_CONVOLUTION_STRIDES, HC_DNN_CONVOLUTION_DILATIONS},
        {HC_DNN_FORWARD_FIRST + 3, HC_DNN_FORWARD_FIRST + 4},
        {HC_DNN_BWD_DATA_FIRST + 4, HC_DNN_BWD_DATA_FIRST + 5},
        {HC_DNN_BWD_FILTER_FIRST + 3, HC_DNN_BWD_FILTER_FIRST + 5},
        {HC_DNN_TENSOR_DIMENSIONS, HC_DNN_TENSOR_STRIDES},
    };
    static const enum hc_op ops[] = {
        HC_OP_conv2d, HC_OP_conv2d, HC_OP_conv2d, HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter,
        HC_OP_conv2d};
    for (size_t i = 0; i < sizeof swaps / sizeof swaps[0]; i++) {
        struct hc_call call = convolution(ops[i], shapes[1], HC_FP32, HC_FP32);
        begin();
        altered.cudnn_set = changed_set;
        from = to = grown = 0;
        cr_assert_eq(run(&call, 0), 0);
        end();
        begin();
        altered.cudnn_set = changed_set;
        from = swaps[i][0];
        to = swaps[i][1];
        cr_assert_neq(run(&call, 0), 0, "swap %zu", i);
        end();
    }
}

Test(cuda_conv, a_padding_or_stride_of_one_more_shows)
{
    static const int names[] = {HC_DNN_CONVOLUTION_STRIDES, HC_DNN_CONVOLUTION_PRE_PADDINGS,
                                HC_DNN_CONVOLUTION_DILATIONS};
    for (size_t i = 0; i < 9; i++) {
        struct hc_call call = convolution(HC_OP_conv2d + i / 3, shapes[0], HC_FP32, HC_FP32);
        begin();
        altered.cudnn_set = changed_set;
        from = to = 0;
        grown = names[i % 3];
        cr_assert_neq(run(&call, 0), 0, "%s, attribute %d", hc_ops[call.op].name, grown);
        end();
    }
}

Test(cuda_conv, scratch_of_one_byte_less_is_written_beside, .signal = SIGABRT)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP16, HC_FP16);
    begin();
    (void)run(&call, 1);
    end();
}

Test(cuda_conv, on_a_tensor_that_is_not_aligned_is_our_own_kernels)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP16, HC_FP16);
    int64_t n = hc_tensor_count(&call.in[HC_CONV_X]);
    uint16_t *beside = (uint16_t *)call.in[HC_CONV_X].data + 1;
    begin();
    memmove(beside, call.in[HC_CONV_X].data, (size_t)n * sizeof *beside);
    call.in[HC_CONV_X].data = beside;
    altered.cudnn_execute = NULL;
    cr_assert_eq(run(&call, 0), 0, "%s", hc_message());
    end();
}

static int never(int kind, void **descriptor)
{
    (void)kind;
    (void)descriptor;
    return HC_DNN_NOT_SUPPORTED;
}

Test(cuda_conv, into_another_format_is_our_own_kernels_and_cudnn_is_not_asked)
{
    struct hc_call call = convolution(HC_OP_conv2d_bwd_filter, shapes[0], HC_FP16, HC_FP32);
    struct hc_call same = convolution(HC_OP_conv2d_bwd_filter, shapes[0], HC_FP16, HC_FP16);
    begin();
    altered.cudnn_create_descriptor = never;
    cr_assert_eq(run(&call, 0), 0, "%s", hc_message());
    cr_assert_eq(run(&same, 0), -1, "cuDNN is asked for one of a single format");
    end();
}

/* Every engine has the note that it uses Winograd's transform. */
static int all_winograd(const void *descriptor, int name, int type, int64_t capacity,
                        int64_t *count, void *values)
{
    int status = hc_dnn_get(descriptor, name, type, capacity, count, values);
    if (name == HC_DNN_ENGINE_NOTES && status == 0) {
        *count = 1;
        *(int *)values = HC_DNN_NOTE_WINOGRAD;
    }
    return status;
}

Test(cuda_conv, without_a_plan_is_our_own_kernels_and_exact_in_every_shape_and_format)
{
    static const enum hc_format h[] = {HC_FP32, HC_FP16, HC_BF16};
    begin();
    altered.cudnn_get = all_winograd;
    altered.cudnn_execute = NULL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int f = 0; f < 27; f++) {
            enum hc_op op = HC_OP_conv2d + f / 9;
            struct hc_call call = convolution(op, shapes[i], h[f % 3], h[f / 3 % 3]);
            cr_assert_eq(run(&call, 0), 0, "%s, shape %zu, %s to %s: %s", hc_ops[op].name, i,
                         hc_formats[h[f % 3]].name, hc_formats[h[f / 3 % 3]].name, hc_message());
        }
    end();
}
