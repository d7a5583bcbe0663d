/* The CPU's bf16 instructions, of which a machine may have two kinds, one or none. On small
   integers every sum of products is exact, so that they owe the bits of fp32 products, which
   onednn_test.c holds against integer arithmetic. */
#include "kernels/host/native/native.h"

#include <math.h>

#include "kernels/host/testing.h"

static const char *const kinds[] = {"amx", "avx512bf16"};
enum { KINDS = 2 };

static struct hc_tensor integers(struct hc_tensor t, uint64_t stream)
{
    t = made(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, (double)(hc_random(5, stream, (uint64_t)i) % 7) - 3);
    return t;
}

static struct hc_tensor normal(struct hc_tensor t, uint64_t stream)
{
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, hc_random_normal(3, stream, (uint64_t)i));
    return t;
}

struct shape {
    int n, h, c, k, r, stride, pad;
};

/* Channels and filters around a tile, all strides and paddings, filters beyond the image. */
static const struct shape shapes[] = {
    {3, 5, 1, 1, 3, 1, 1},   {13, 9, 3, 5, 3, 1, 1},   {9, 8, 16, 32, 3, 2, 1},
    {2, 9, 4, 3, 5, 3, 2},   {9, 6, 24, 10, 5, 2, 2},  {3, 7, 40, 24, 1, 1, 0},
    {5, 2, 96, 80, 3, 1, 1}, {11, 8, 17, 19, 1, 2, 0}, {3, 4, 32, 33, 3, 1, 1},
    {1, 4, 5, 7, 2, 1, 2},   {1, 4, 48, 5, 2, 2, 3},   {2, 3, 64, 9, 1, 2, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const enum hc_op ops[] = {HC_OP_conv2d, HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter};

static struct hc_call conv_in(enum hc_format f, enum hc_op op, const struct shape *g,
                              enum hc_format result)
{
    int p = (g->h + 2 * g->pad - g->r) / g->stride + 1;
    struct hc_tensor x = hc_tensor4(f, g->n, g->h, g->h, g->c, NULL);
    struct hc_tensor w = hc_tensor4(f, g->k, g->r, g->r, g->c, NULL);
    struct hc_tensor y = hc_tensor4(f, g->n, p, p, g->k, NULL);
    struct hc_call call = {.op = op, .params.conv = {.stride = g->stride, .pad = g->pad}};
    struct hc_tensor out = op == HC_OP_conv2d ? y : op == HC_OP_conv2d_bwd_data ? x : w;
    call.in[HC_CONV_FIRST] = integers(op == HC_OP_conv2d_bwd_data ? y : x, 1);
    call.in[HC_CONV_SECOND] = integers(op == HC_OP_conv2d_bwd_filter ? y : w, 2);
    out.format = result;
    call.out[HC_CONV_RESULT] = made(out);
    return call;
}

static struct hc_call conv(enum hc_op op, const struct shape *g, enum hc_format result)
{
    return conv_in(HC_BF16, op, g, result);
}

static void call_with(const char *kind, int threads, const struct hc_call *call)
{
    struct hc_queue *queue = queue_of(threads, "portable");
    cr_assert_eq(hc_native_set(kind), HC_OK);
    call_host(queue, call);
    hc_backend_by_name("host")->close(queue);
}

/* Every kind that runs here gives these bits, with any number of threads. */
static void assert_all(const struct hc_call *call, const struct hc_tensor *want)
{
    for (int i = 0; i < KINDS; i++)
        for (int threads = 1; threads <= 3; threads++) {
            if (hc_native_set(kinds[i]) != HC_OK)
                continue;
            call_with(kinds[i], threads, call);
            assert_same(call, want, kinds[i]);
        }
}

static void assert_as_in_fp32(const struct hc_call *call)
{
    struct hc_tensor want[HC_MAX_OUT] = {made(call->out[HC_FIRST])};
    call_with("off", 2, call);
    memcpy(want[0].data, call->out[HC_FIRST].data, hc_tensor_bytes(&want[0]));
    assert_all(call, want);
}

Test(native, convolutions_of_integers_are_exact)
{
    for (int s = 0; s < SHAPES; s++)
        for (int o = 0; o < 3; o++) {
            struct hc_call call = conv(ops[o], &shapes[s], s % 2 ? HC_BF16 : HC_FP32);
            assert_as_in_fp32(&call);
        }
}

/* Backward, pixels fall into grids by what remains of the stride: no more than there are pixels. */
Test(native, a_stride_beyond_the_image_costs_no_more_than_its_pixels, .timeout = 60)
{
    static const struct shape wide[] = {
        {2, 3, 5, 7, 2, 5, 1}, {3, 1, 33, 7, 1, 4, 0}, {1, 2, 2, 2, 1, INT32_MAX, 0}};
    for (size_t s = 0; s < sizeof wide / sizeof *wide; s++)
        for (int o = 0; o < 3; o++) {
            struct hc_call call = conv(ops[o], &wide[s], HC_FP32);
            assert_as_in_fp32(&call);
        }
}

Test(native, products_of_integer_matrices_are_exact)
{
    static const int sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {64, 10, 512}, {130, 33, 17}, {3, 4, 0}};
    for (int v = 0; v < 20; v++) {
        int m = sizes[v / 4][0];
        int n = sizes[v / 4][1];
        int k = sizes[v / 4][2];
        bool ta = v & 1;
        bool tb = v & 2;
        struct hc_call call = {
            .op = HC_OP_gemm,
            .in = {integers(hc_tensor2(HC_BF16, ta ? k : m, ta ? m : k, NULL), 1),
                   integers(hc_tensor2(HC_BF16, tb ? n : k, tb ? k : n, NULL), 2),
                   integers(hc_tensor1(HC_BF16, n, NULL), 3)},
            .out = {made(hc_tensor2(v % 3 ? HC_FP32 : HC_BF16, m, n, NULL))},
            .params.gemm = {.transpose_a = ta, .transpose_b = tb, .alpha = 2, .beta = -3}};
        assert_as_in_fp32(&call);
    }
}

Test(native, sums_that_round_do_not_depend_on_the_number_of_threads)
{
    for (int i = 0; i < KINDS; i++)
        for (int s = 0; s < SHAPES; s++)
            for (int o = 0; o < 3 && hc_native_set(kinds[i]) == HC_OK; o++) {
                struct hc_call call = conv(ops[o], &shapes[s], HC_FP32);
                struct hc_tensor first = made(call.out[HC_CONV_RESULT]);
                call.in[HC_CONV_FIRST] = normal(call.in[HC_CONV_FIRST], 1);
                call.in[HC_CONV_SECOND] = normal(call.in[HC_CONV_SECOND], 2);
                call_with(kinds[i], 1, &call);
                memcpy(first.data, call.out[HC_CONV_RESULT].data, hc_tensor_bytes(&first));
                for (int threads = 2; threads <= 4; threads++) {
                    call_with(kinds[i], threads, &call);
                    assert_same(&call, &first, "threads");
                }
            }
}

/* Where exact has an infinity or a NaN, and nowhere else. */
static void assert_special(const struct hc_call *call, const char *kind)
{
    struct hc_tensor want[HC_MAX_OUT];
    want_exact(call, want);
    call_with(kind, 2, call);
    for (int64_t i = 0; i < hc_tensor_count(want); i++) {
        double w = hc_tensor_get(want, i);
        double got = hc_tensor_get(&call->out[HC_FIRST], i);
        cr_assert(isnan(w) == isnan(got) && (!isinf(w) || w == got), "%s %s [%lld] want %g, got %g",
                  kind, hc_ops[call->op].name, (long long)i, w, got);
    }
}

Test(native, an_infinity_meets_no_zero_of_the_padding)
{
    for (int i = 0; i < KINDS; i++)
        for (int s = 0; s < SHAPES; s++)
            for (int o = 0; o < 3 && hc_native_set(kinds[i]) == HC_OK; o++) {
                struct hc_call call = conv(ops[o], &shapes[s], HC_BF16);
                struct hc_tensor *second = &call.in[HC_CONV_SECOND];
                int64_t n = hc_tensor_count(second);
                call.in[HC_CONV_FIRST] = normal(call.in[HC_CONV_FIRST], 1);
                *second = normal(*second, 2);
                for (int64_t k = 0; k < 3; k++)
                    hc_tensor_set(second, k * 7 % n, k == 1 ? (double)NAN : (double)INFINITY);
                assert_special(&call, kinds[i]);
            }
}

/* Convolutions in fp16 that AMX makes of two parts of each number. The filter's gradient of the
   last adds up a large filter's sums over more than one product. */
static const struct shape split_shapes[] = {{3, 5, 32, 32, 3, 1, 1},  {9, 6, 64, 32, 3, 2, 1},
                                            {5, 4, 32, 96, 1, 1, 0},  {20, 3, 32, 64, 2, 1, 2},
                                            {17, 7, 96, 32, 5, 3, 2}, {70, 3, 96, 96, 3, 1, 1}};
enum { SPLIT_SHAPES = sizeof split_shapes / sizeof *split_shapes };

static bool splits(const struct hc_call *call)
{
    cr_assert_eq(hc_native_set("amx"), HC_OK);
    return hc_native_takes(call);
}

/* Of 9 bits, so that their low parts are not 0; with signs, so that no sum reaches 2^24. */
static struct hc_tensor nine_bits(struct hc_tensor t, uint64_t stream)
{
    for (int64_t i = 0; i < hc_tensor_count(&t); i++) {
        uint64_t bits = hc_random(9, stream, (uint64_t)i);
        hc_tensor_set(&t, i, (double)(257 + 2 * (bits % 40)) * (bits >> 63 ? -1 : 1));
    }
    return t;
}

Test(native, convolutions_of_fp16_integers_with_low_parts_are_exact)
{
    if (hc_native_set("amx") != HC_OK)
        return;
    for (int s = 0; s < SPLIT_SHAPES; s++)
        for (int o = 0; o < 3; o++) {
            struct hc_call call = conv_in(HC_FP16, ops[o], &split_shapes[s], HC_FP32);
            struct hc_tensor want[HC_MAX_OUT] = {made(call.out[HC_FIRST])};
            call.in[HC_CONV_FIRST] = nine_bits(call.in[HC_CONV_FIRST], 1);
            call.in[HC_CONV_SECOND] = nine_bits(call.in[HC_CONV_SECOND], 2);
            cr_assert(splits(&call));
            call_with("off", 2, &call);
            memcpy(want[0].data, call.out[HC_FIRST].data, hc_tensor_bytes(&want[0]));
            for (int threads = 1; threads <= 3; threads++) {
                call_with("amx", threads, &call);
                assert_same(&call, want, "amx");
            }
        }
}

/* Of all bits of fp16, subnormal numbers too; or all of one sign, with the largest low parts. */
static struct hc_tensor eleven_bits(struct hc_tensor t, uint64_t stream, bool subnormal)
{
    for (int64_t i = 0; i < hc_tensor_count(&t); i++) {
        uint64_t bits = hc_random(13, stream, (uint64_t)i);
        hc_tensor_set_bits(&t, i, subnormal ? bits & 0x8bff : 0x3807 | (bits & 0x03f8));
    }
    return t;
}

/* No further from the sum than a sum in any order may be: (k - 1) u of the terms' magnitudes. */
Test(native, sums_of_fp16_products_hold_the_bound_of_any_order)
{
    if (hc_native_set("amx") != HC_OK)
        return;
    for (int v = 0; v < 2 * 3 * SPLIT_SHAPES; v++) {
        struct hc_call call = conv_in(HC_FP16, ops[v / 2 % 3], &split_shapes[v / 6], HC_FP32);
        call.in[HC_CONV_FIRST] = eleven_bits(call.in[HC_CONV_FIRST], 1, v % 2);
        call.in[HC_CONV_SECOND] = eleven_bits(call.in[HC_CONV_SECOND], 2, v % 2);
        call_with("amx", 2, &call);
        for (int64_t i = 0; i < hc_tensor_count(&call.out[HC_FIRST]); i += 1 + i / 5) {
            struct hc_exact want = hc_reference_value(&call, 0, i);
            double got = hc_tensor_get(&call.out[HC_FIRST], i);
            double bound = (hc_call_length(&call) - 1) * 0x1p-24 * want.magnitude;
            cr_assert(fabs(got - want.hi) <= bound, "%s [%lld] want %a, got %a, bound %a",
                      hc_ops[call.op].name, (long long)i, want.hi, got, bound);
        }
    }
}

/* In either tensor: some infinities, or NaN. */
Test(native, infinities_of_fp16_are_the_definitions)
{
    for (int v = 0; v < 4 * 3 * SPLIT_SHAPES && hc_native_set("amx") == HC_OK; v++) {
        struct hc_call call = conv_in(HC_FP16, ops[v / 4 % 3], &split_shapes[v / 12], HC_FP16);
        struct hc_tensor *of = &call.in[v % 2 ? HC_CONV_FIRST : HC_CONV_SECOND];
        call.in[HC_CONV_FIRST] = normal(call.in[HC_CONV_FIRST], 1);
        call.in[HC_CONV_SECOND] = normal(call.in[HC_CONV_SECOND], 2);
        for (int64_t k = 0; k < 3; k++)
            hc_tensor_set(of, k * 97 % hc_tensor_count(of),
                          v / 2 % 2 ? (double)NAN : (double)INFINITY);
        assert_special(&call, "amx");
    }
}

/* 2^-127 is subnormal: with instructions of bf16 it is 0, and 0 times an infinity is NaN. */
Test(native, what_flushes_is_declared)
{
    struct hc_tensor one = hc_tensor2(HC_BF16, 1, 1, NULL);
    struct hc_call call = {.op = HC_OP_gemm,
                           .in = {made(one), made(one)},
                           .out = {made(one)},
                           .params.gemm = {.alpha = 1}};
    const struct hc_backend *host = hc_backend_by_name("host");
    for (int i = 0; i <= KINDS; i++) {
        const char *kind = i < KINDS ? kinds[i] : "off";
        if (hc_native_set(kind) != HC_OK)
            continue;
        bool flushes = hc_backend_accumulator(host, &call).flushes;
        cr_assert_eq(flushes, i < KINDS);
        hc_tensor_set(&call.in[HC_GEMM_A], 0, 0x1p-127);
        hc_tensor_set(&call.in[HC_GEMM_B], 0, 0x1p100);
        call_with(kind, 1, &call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_GEMM_OUT], 0), flushes ? 0 : 0x1p-27);
        hc_tensor_set(&call.in[HC_GEMM_B], 0, (double)INFINITY);
        call_with(kind, 1, &call);
        cr_assert_eq(isnan(hc_tensor_get(&call.out[HC_GEMM_OUT], 0)), flushes);
    }
    call.in[HC_GEMM_A].format = call.in[HC_GEMM_B].format = HC_FP32;
    cr_assert_not(hc_backend_accumulator(host, &call).flushes);
}

Test(native, a_unit_that_is_not_there_is_refused)
{
    cr_assert_eq(hc_native_set("fp8"), HC_INVALID);
    cr_assert(strstr(hc_message(), "native is on, off, amx or avx512bf16"), "%s", hc_message());
}
