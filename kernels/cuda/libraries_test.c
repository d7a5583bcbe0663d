/* gemm and the convolutions through the stand-ins: small integers, whose sums are exact in fp32 in any
   order, against MPFR. And what the libraries are asked for, altered on its way: each alteration must
   show. */
#include <signal.h>
#include <string.h>

#include "kernels/cuda/conv_plan.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/library.h"
#include "kernels/cuda/libraries.h"
#include "kernels/exact/testing.h"

/* The stand-ins behind a library that alters what it is asked for. */
static struct hc_library altered;
static struct hc_queue *queue;

static void begin(void)
{
    cr_assert_eq(hc_backend_by_name("cuda-emulated")->open(&queue, 1), HC_OK, "%s", hc_message());
    altered = hc_library_emulated;
    queue->libraries->library = &altered;
}

static void end(void)
{
    hc_backend_by_name("cuda-emulated")->close(queue);
}

/* Runs the call with as much scratch as is asked for, between the backend's guards, less `missing`.
   Returns how many elements are not the reference's, or -1 where the call failed. */
static int64_t run(struct hc_call *call, size_t missing)
{
    const struct hc_backend *backend = hc_backend_by_name("cuda-emulated");
    size_t bytes = backend->scratch(queue, call);
    int64_t wrong = 0;
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    call->scratch = bytes ? backend->allocate(queue, bytes - missing) : NULL;
    enum hc_status status = backend->kernel[call->op](queue, call);
    backend->release(queue, call->scratch);
    call->scratch = NULL;
    if (status != HC_OK)
        return -1;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++)
        wrong += hc_decode(call->out[0].format, wanted(call, 0, i)) !=
                 hc_tensor_get(&call->out[0], i); /* +0 is -0 */
    return wrong;
}

/* Zeroed memory of its own, aligned as cuDNN is told. */
static struct hc_tensor aligned(struct hc_tensor t)
{
    struct hc_tensor room = made(hc_tensor1(t.format, hc_tensor_count(&t) + 16, NULL));
    t.data = (char *)room.data + (16 - (uintptr_t)room.data % 16) % 16;
    return t;
}

static struct hc_tensor integers(struct hc_tensor shape, int64_t salt)
{
    struct hc_tensor t = aligned(shape);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_put(&t, i, (double)((i * 3 + salt * 7 + i * i % 17) % 9 - 4));
    return t;
}

static struct hc_tensor matrix(enum hc_format format, int64_t rows, int64_t columns, bool turned,
                               int64_t salt)
{
    return integers(turned ? hc_tensor2(format, columns, rows, NULL)
                           : hc_tensor2(format, rows, columns, NULL),
                    salt);
}

struct formats {
    enum hc_format in, c, out;
};

/* m = 4, n = 3, k = 5 unless said otherwise; variant: bit 0 turns A, bit 1 B, 2 adds C, 3 one row. */
static struct hc_call product(struct formats f, int64_t k, int variant)
{
    struct hc_call call = {.op = HC_OP_gemm,
                           .params.gemm = {.transpose_a = variant & 1,
                                           .transpose_b = variant & 2,
                                           .alpha = 2,
                                           .beta = variant & 4 ? -3 : 0}};
    call.in[0] = matrix(f.in, 4, k, variant & 1, 1);
    call.in[1] = matrix(f.in, k, 3, variant & 2, 2);
    call.out[0] = made(hc_tensor2(f.out, 4, 3, NULL));
    if (variant & 4)
        call.in[2] = variant & 8 ? integers(hc_tensor1(f.c, 3, NULL), 3)
                                 : integers(hc_tensor2(f.c, 4, 3, NULL), 3);
    return call;
}

Test(libraries, products_of_integers_come_out_exactly_in_every_layout_and_format)
{
    static const enum hc_format h[] = {HC_FP32, HC_FP16, HC_BF16};
    begin();
    for (int i = 0; i < 27 * 16 * 2; i++) {
        struct formats f = {h[i % 3], h[i / 3 % 3], h[i / 9 % 3]};
        struct hc_call call = product(f, i / 27 / 16 ? 0 : 5, i / 27 % 16);
        cr_assert_eq(run(&call, 0), 0, "%s, %s to %s, variant %d: %s", hc_formats[f.in].name,
                     hc_formats[f.c].name, hc_formats[f.out].name, i / 27 % 16, hc_message());
    }
    end();
}

/* What one alteration makes of the call. */
static struct {
    int swap, lda, ldb, ldc, compute;
} change;

static int changed_gemm(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                        const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                        const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    return hc_blas_gemm_ex(handle, change.swap ? tb : ta, change.swap ? ta : tb, m, n, k, alpha, a,
                           a_type, lda + change.lda, b, b_type, ldb + change.ldb, beta, c, c_type,
                           ldc + change.ldc, compute + change.compute, algorithm);
}

Test(libraries, swapped_transposes_and_wrong_leading_dimensions_of_a_product_show)
{
    struct formats single = {HC_FP32, HC_FP32, HC_FP32};
    begin();
    altered.cublas_gemm_ex = changed_gemm;
    for (int i = 0; i < 5; i++) {
        struct hc_call call = product(single, 5, 1);
        /* Room for what a leading dimension too large reaches. */
        call.in[0].data = integers(hc_tensor1(HC_FP32, 64, NULL), 1).data;
        call.in[1].data = integers(hc_tensor1(HC_FP32, 64, NULL), 2).data;
        call.out[0].data = made(hc_tensor1(HC_FP32, 64, NULL)).data;
        memset(&change, 0, sizeof change);
        cr_assert_eq(run(&call, 0), 0);
        change.swap = i == 0;
        change.lda = i == 1 ? 1 : i == 4 ? -1 : 0;
        change.ldb = i == 2;
        change.ldc = i == 3;
        cr_assert_neq(run(&call, 0), 0, "alteration %d", i);
    }
    end();
}

/* 1 + 2^-12 is no value of tf32, 2049 none of fp16. */
Test(libraries, a_product_that_may_lose_precision_does)
{
    struct hc_call call = product((struct formats){HC_FP32, HC_FP32, HC_FP32}, 5, 0);
    begin();
    hc_tensor_put(&call.in[0], 0, 1 + 0x1p-12);
    cr_assert_eq(run(&call, 0), 0);
    altered.cublas_gemm_ex = changed_gemm;
    memset(&change, 0, sizeof change);
    change.compute = HC_BLAS_COMPUTE_32F - HC_BLAS_COMPUTE_32F_PEDANTIC;
    cr_assert_gt(run(&call, 0), 0);

    change.compute = 0;
    call = product((struct formats){HC_FP16, HC_FP16, HC_FP32}, 5, 0);
    for (int64_t i = 0; i < 20; i++)
        hc_tensor_put(&call.in[0], i, i % 5 == 0 ? 2048 : 1);
    for (int64_t i = 0; i < 15; i++)
        hc_tensor_put(&call.in[1], i, 1);
    cr_assert_eq(run(&call, 0), 0);
    (void)hc_blas_set_math_mode(queue->libraries->blas, 0);
    cr_assert_gt(run(&call, 0), 0);
    end();
}

Test(libraries, a_stream_that_is_set_after_the_workspace_shows)
{
    struct hc_call call = product((struct formats){HC_FP32, HC_FP32, HC_FP32}, 5, 0);
    begin();
    (void)hc_blas_set_stream(queue->libraries->blas, NULL);
    cr_assert_eq(run(&call, 0), -1);
    end();
}

/* n, h, w, c, k, r, s, stride, pad */
static const int shapes[][9] = {
    {2, 5, 4, 3, 6, 3, 3, 1, 1}, {1, 6, 7, 2, 5, 3, 3, 2, 1}, {2, 4, 4, 7, 8, 1, 1, 1, 0},
    {1, 7, 5, 4, 3, 2, 3, 3, 0}, {1, 3, 3, 1, 1, 3, 3, 1, 0}, {1, 2, 2, 9, 2, 3, 3, 1, 2},
    {1, 8, 8, 3, 4, 1, 1, 2, 0}, {0, 4, 4, 2, 3, 3, 3, 1, 1}, {2, 4, 4, 0, 3, 3, 3, 1, 1},
    {2, 4, 4, 3, 0, 3, 3, 1, 1},
};

static struct hc_call convolution(enum hc_op op, const int s[9], enum hc_format in,
                                  enum hc_format out)
{
    struct hc_tensor x = hc_tensor4(in, s[0], s[1], s[2], s[3], NULL);
    struct hc_tensor w = hc_tensor4(in, s[4], s[5], s[6], s[3], NULL);
    struct hc_tensor y = hc_tensor4(in, s[0], (s[1] + 2 * s[8] - s[5]) / s[7] + 1,
                                    (s[2] + 2 * s[8] - s[6]) / s[7] + 1, s[4], NULL);
    struct hc_tensor role[3][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
    struct hc_tensor *t = role[op - HC_OP_conv2d];
    struct hc_call call = {.op = op, .params.conv = {.stride = s[7], .pad = s[8]}};
    t[2].format = out;
    call.in[0] = integers(t[0], 1);
    call.in[1] = integers(t[1], 2);
    call.out[0] = aligned(t[2]);
    return call;
}

Test(libraries, convolutions_of_integers_come_out_exactly_in_every_shape_and_format)
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

Test(libraries, plans_are_of_the_one_engine_that_sums_in_fp32_and_are_made_once)
{
    begin();
    for (int f = 0; f < 6; f++) {
        struct hc_call call =
            convolution(HC_OP_conv2d + f / 2, shapes[0], f % 2 ? HC_FP16 : HC_FP32, HC_FP32);
        struct hc_conv_shape shape = hc_conv_shape_of(&call);
        struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &shape);
        cr_assert(plan && plan->plan);
        cr_assert_eq(plan->engine, 0);
        cr_assert_eq(hc_conv_plan(queue->libraries, &shape), plan);
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

Test(libraries, swapped_and_wrong_descriptors_of_a_convolution_show)
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

Test(libraries, a_padding_or_stride_of_one_more_shows)
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

Test(libraries, scratch_of_one_byte_less_is_written_beside, .signal = SIGABRT)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP32, HC_FP16);
    begin();
    (void)run(&call, 1);
    end();
}

Test(libraries, a_tensor_that_is_not_aligned_is_refused)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP16, HC_FP16);
    begin();
    call.in[0].data = (char *)call.in[0].data + 2;
    cr_assert_eq(run(&call, 0), -1);
    end();
}

/* Where the real libraries are: cuDNN looks over our descriptors without a device, too, up to the
   operation. */
Test(libraries, the_real_cudnn_takes_the_operations_and_refuses_wrong_ones)
{
    const struct hc_library *library;
    if (hc_library_load(&library) != HC_OK) {
        cr_assert_not_null(strstr(hc_message(), "cuda: no libcu"), "%s", hc_message());
        cr_skip_test("%s", hc_message());
    }
    for (int i = 0; i < 18; i++) {
        static const enum hc_format h[] = {HC_FP32, HC_FP16, HC_BF16};
        bool wrong = i / 9;
        struct hc_call call = convolution(HC_OP_conv2d + i % 3, shapes[1], h[i / 3 % 3], HC_FP32);
        struct hc_conv_plan plan = {.shape = hc_conv_shape_of(&call)};
        struct hc_conv_builder b = {.library = library, .plan = &plan, .what = ""};
        plan.shape.p += wrong;
        (void)hc_conv_graph(&b);
        cr_assert_neq(b.status, 0, "a graph needs a handle");
        /* Three tensors, the convolution, the operation and, once it is final, the graph. */
        cr_assert_eq(plan.count, wrong ? 5 : 6, "%s: %s", b.what, library->cudnn_text(b.status));
        while (plan.count > 0)
            (void)library->cudnn_destroy_descriptor(plan.made[--plan.count]);
    }
}
