/* On small integers every sum of products is exact, so any order gives the one right result. The
   expectation is integer arithmetic, and the claim is equal bits. */
#include <math.h>

#include "kernels/host/testing.h"

static struct hc_tensor integers(struct hc_tensor t, uint64_t stream)
{
    t = made(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, (double)(hc_random(5, stream, (uint64_t)i) % 7) - 3);
    return t;
}

struct shape {
    int n, h, c, k, r, stride, pad;
};

static const struct shape shapes[] = {
    {1, 5, 1, 1, 3, 1, 1},      {13, 9, 3, 5, 3, 1, 1},   {33, 8, 16, 32, 3, 2, 1},
    {40, 4, 64, 128, 3, 2, 1},  {9, 6, 24, 10, 5, 2, 2},  {35, 7, 40, 24, 1, 1, 0},
    {70, 2, 96, 80, 3, 1, 1},   {11, 8, 17, 19, 1, 2, 0}, {37, 2, 256, 260, 1, 1, 0},
    {17, 3, 130, 150, 3, 1, 1}, {16, 2, 3, 5, 5, 1, 2},   {19, 7, 4, 6, 3, 2, 2},
};

/* Calls f on each term x[i] * w[j] of y[o]. */
static void each_term(const struct shape *g, int p,
                      void (*f)(const int64_t at[3], struct hc_call *), struct hc_call *call)
{
    for (int n = 0; n < g->n; n++)
        for (int i = 0; i < p * p; i++)
            for (int t = 0; t < g->r * g->r; t++) {
                int row = i / p * g->stride - g->pad + t / g->r;
                int col = i % p * g->stride - g->pad + t % g->r;
                if (row < 0 || col < 0 || row >= g->h || col >= g->h)
                    continue;
                for (int k = 0; k < g->k; k++)
                    for (int c = 0; c < g->c; c++) {
                        int64_t at[] = {((int64_t)(n * g->h + row) * g->h + col) * g->c + c,
                                        ((int64_t)k * g->r * g->r + t) * g->c + c,
                                        ((int64_t)n * p * p + i) * g->k + k};
                        f(at, call);
                    }
            }
}

static int32_t *sums;

static int32_t whole(const struct hc_tensor *t, int64_t i)
{
    return (int32_t)hc_tensor_get(t, i);
}

static void forward(const int64_t at[3], struct hc_call *call)
{
    sums[at[2]] += whole(&call->in[HC_CONV_FIRST], at[0]) * whole(&call->in[HC_CONV_SECOND], at[1]);
}

static void to_data(const int64_t at[3], struct hc_call *call)
{
    sums[at[0]] += whole(&call->in[HC_CONV_FIRST], at[2]) * whole(&call->in[HC_CONV_SECOND], at[1]);
}

static void to_filter(const int64_t at[3], struct hc_call *call)
{
    sums[at[1]] += whole(&call->in[HC_CONV_FIRST], at[0]) * whole(&call->in[HC_CONV_SECOND], at[2]);
}

static struct hc_call conv(enum hc_op op, const struct shape *g, enum hc_format format)
{
    int p = (g->h + 2 * g->pad - g->r) / g->stride + 1;
    struct hc_tensor x = hc_tensor4(format, g->n, g->h, g->h, g->c, NULL);
    struct hc_tensor w = hc_tensor4(format, g->k, g->r, g->r, g->c, NULL);
    struct hc_tensor y = hc_tensor4(format, g->n, p, p, g->k, NULL);
    struct hc_call call = {.op = op, .params.conv = {.stride = g->stride, .pad = g->pad}};
    call.in[HC_CONV_FIRST] = integers(op == HC_OP_conv2d_bwd_data ? y : x, 1);
    call.in[HC_CONV_SECOND] = integers(op == HC_OP_conv2d_bwd_filter ? y : w, 2);
    call.out[HC_CONV_RESULT] = made(op == HC_OP_conv2d ? y : op == HC_OP_conv2d_bwd_data ? x : w);
    return call;
}

static void assert_integers(enum hc_op op, void (*term)(const int64_t at[3], struct hc_call *))
{
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const struct shape *g = &shapes[s];
        enum hc_format format = s % 2 ? HC_FP16 : HC_FP32;
        struct hc_call call = conv(op, g, format);
        int64_t n = hc_tensor_count(&call.out[HC_CONV_RESULT]);
        sums = calloc((size_t)n, sizeof *sums);
        each_term(g, (g->h + 2 * g->pad - g->r) / g->stride + 1, term, &call);
        for (int threads = 1; threads <= 3; threads++) {
            struct hc_queue *queue = queue_of(threads, "portable");
            call_host(queue, &call);
            for (int64_t i = 0; i < n; i++)
                cr_assert_eq(hc_tensor_bits(&call.out[HC_CONV_RESULT], i),
                             hc_encode(format, sums[i], 0, HC_NEAREST), "%s, shape %zu, %lld",
                             hc_ops[op].name, s, (long long)i);
            hc_backend_by_name("host")->close(queue);
        }
        free(sums);
    }
}

Test(onednn, convolutions_of_integers_are_exact_forward)
{
    assert_integers(HC_OP_conv2d, forward);
}

Test(onednn, convolutions_of_integers_are_exact_backward_to_the_input)
{
    assert_integers(HC_OP_conv2d_bwd_data, to_data);
}

Test(onednn, convolutions_of_integers_are_exact_backward_to_the_filter)
{
    assert_integers(HC_OP_conv2d_bwd_filter, to_filter);
}

static struct hc_tensor normal(struct hc_tensor t, uint64_t stream)
{
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, hc_random_normal(3, stream, (uint64_t)i));
    return t;
}

Test(onednn, sums_that_round_do_not_depend_on_the_number_of_threads)
{
    static const enum hc_op ops[] = {HC_OP_conv2d, HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int o = 0; o < 3; o++) {
            struct hc_call call = conv(ops[o], &shapes[s], HC_FP32);
            struct hc_tensor first = made(call.out[HC_CONV_RESULT]);
            call.in[HC_CONV_FIRST] = normal(call.in[HC_CONV_FIRST], 1);
            call.in[HC_CONV_SECOND] = normal(call.in[HC_CONV_SECOND], 2);
            for (int threads = 1; threads <= 4; threads++) {
                struct hc_queue *queue = queue_of(threads, "portable");
                call_host(queue, &call);
                if (threads == 1)
                    memcpy(first.data, call.out[HC_CONV_RESULT].data, hc_tensor_bytes(&first));
                assert_same(&call, &first, "threads");
                hc_backend_by_name("host")->close(queue);
            }
        }
}

Test(onednn, an_infinity_meets_no_zero_of_the_padding)
{
    static const enum hc_op ops[] = {HC_OP_conv2d, HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int o = 0; o < 3; o++) {
            struct hc_call call = conv(ops[o], &shapes[s], s % 2 ? HC_FP16 : HC_FP32);
            struct hc_tensor want[HC_MAX_OUT];
            struct hc_queue *queue = queue_of(2, "portable");
            for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_CONV_FIRST]); i++)
                hc_tensor_set(&call.in[HC_CONV_FIRST], i, 1);
            for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_CONV_SECOND]); i++)
                hc_tensor_set(&call.in[HC_CONV_SECOND], i, i % 5 ? 1 : INFINITY);
            want_exact(&call, want);
            call_host(queue, &call);
            assert_same(&call, want, "with infinities");
            hc_backend_by_name("host")->close(queue);
        }
}

/* Shapes of the network and of the cases, with padding on each side, and some with filters that lie
   wholly in the padding. */
static const struct shape padded[] = {
    {3, 5, 1, 1, 3, 1, 1},    {2, 9, 3, 5, 3, 1, 1},    {2, 8, 16, 32, 3, 2, 1},
    {2, 6, 24, 10, 5, 2, 2},  {2, 2, 96, 80, 3, 1, 1},  {2, 16, 3, 64, 3, 1, 1},
    {2, 8, 64, 128, 3, 1, 1}, {2, 4, 128, 64, 3, 2, 1}, {2, 13, 17, 33, 3, 1, 2},
    {2, 9, 4, 3, 5, 3, 2},    {1, 7, 32, 32, 7, 1, 3},  {1, 1, 64, 64, 3, 1, 1},
    {2, 4, 5, 7, 2, 1, 2},    {1, 4, 48, 5, 2, 2, 3},   {2, 3, 3, 9, 1, 2, 1},
    {2, 8, 16, 16, 2, 1, 2},  {1, 9, 48, 33, 3, 1, 3},
};

/* Each filter has one weight that is not finite, each at another tap. Exactly the elements that it
   contributes to, by the taps inside the image, are infinite or NaN, as in exact. */
static void an_infinite_weight_stays_inside(enum hc_op op, const struct shape *g,
                                            enum hc_format format)
{
    struct hc_call call = conv(op, g, format);
    struct hc_tensor want[HC_MAX_OUT];
    int64_t taps = (int64_t)g->r * g->r * g->c;
    call.in[HC_CONV_FIRST] = normal(call.in[HC_CONV_FIRST], 1);
    call.in[HC_CONV_SECOND] = normal(call.in[HC_CONV_SECOND], 2);
    for (int64_t k = 0; k < g->k; k++)
        hc_tensor_set(&call.in[HC_CONV_SECOND], k * taps + k * 7 % taps,
                      k % 2 ? (double)INFINITY : (double)NAN);
    want_exact(&call, want);
    struct hc_queue *queue = queue_of(2, "portable");
    call_host(queue, &call);
    for (int64_t i = 0; i < hc_tensor_count(want); i++) {
        double w = hc_tensor_get(want, i);
        double got = hc_tensor_get(&call.out[HC_CONV_RESULT], i);
        cr_assert_eq(isnan(w), isnan(got), "%s %dx%d c%d k%d r%d: [%lld] want %g, got %g",
                     hc_ops[op].name, g->h, g->h, g->c, g->k, g->r, (long long)i, w, got);
        cr_assert(!isinf(w) || w == got);
    }
    hc_backend_by_name("host")->close(queue);
}

Test(onednn, an_infinite_weight_meets_no_zero_of_the_padding_forward)
{
    for (size_t s = 0; s < sizeof padded / sizeof padded[0]; s++) {
        an_infinite_weight_stays_inside(HC_OP_conv2d, &padded[s], HC_FP32);
        an_infinite_weight_stays_inside(HC_OP_conv2d, &padded[s], HC_FP16);
    }
}

Test(onednn, an_infinite_weight_meets_no_zero_of_the_padding_backward_to_the_input)
{
    for (size_t s = 0; s < sizeof padded / sizeof padded[0]; s++)
        an_infinite_weight_stays_inside(HC_OP_conv2d_bwd_data, &padded[s], HC_FP32);
}

Test(onednn, products_of_integer_matrices_are_exact)
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
            .in = {integers(hc_tensor2(HC_FP16, ta ? k : m, ta ? m : k, NULL), 1),
                   integers(hc_tensor2(HC_FP16, tb ? n : k, tb ? k : n, NULL), 2),
                   integers(hc_tensor1(HC_FP16, n, NULL), 3)},
            .out = {made(hc_tensor2(HC_FP32, m, n, NULL))},
            .params.gemm = {.transpose_a = ta, .transpose_b = tb, .alpha = 2, .beta = -3}};
        struct hc_queue *queue = queue_of(1 + v % 3, "portable");
        call_host(queue, &call);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                int sum = 0;
                for (int t = 0; t < k; t++)
                    sum += whole(&call.in[HC_GEMM_A], ta ? t * m + i : i * k + t) *
                           whole(&call.in[HC_GEMM_B], tb ? j * k + t : t * n + j);
                cr_assert_eq(hc_tensor_get(&call.out[HC_GEMM_OUT], i * n + j),
                             2 * sum - 3 * whole(&call.in[HC_GEMM_C], j));
            }
        hc_backend_by_name("host")->close(queue);
    }
}
