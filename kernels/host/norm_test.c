#include <math.h>

#include "kernels/host/testing.h"

static const enum hc_format h[] = {HC_FP32, HC_BF16, HC_FP16};

static struct hc_tensor filled(struct hc_tensor t, uint64_t stream, double shift)
{
    t = made(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, shift + hc_random_normal(11, stream, (uint64_t)i));
    return t;
}

static struct hc_call train(enum hc_format f, int64_t n, int64_t c, double shift)
{
    struct hc_tensor x = hc_tensor4(f, n, 2, 3, c, NULL);
    struct hc_tensor v = hc_tensor1(HC_FP32, c, NULL);
    return (struct hc_call){.op = HC_OP_bn_train,
                            .in = {filled(x, 1, shift), filled(v, 2, 0), filled(v, 3, 0),
                                   filled(v, 4, 0), filled(v, 5, 9)},
                            .out = {made(x), made(v), made(v), made(v), made(v)},
                            .params.bn = {.eps = 1e-5, .momentum = 0.1}};
}

static struct hc_call backward(enum hc_format f, int64_t n, int64_t c)
{
    struct hc_tensor x = hc_tensor4(f, n, 2, 3, c, NULL);
    struct hc_tensor v = hc_tensor1(HC_FP32, c, NULL);
    return (struct hc_call){
        .op = HC_OP_bn_bwd,
        .in = {filled(x, 1, 0), filled(x, 2, 0), filled(v, 3, 0), filled(v, 4, 0), filled(v, 5, 5)},
        .out = {made(x), made(v), made(v)}};
}

/* A sample of an output against the reference. */
static void assert_near(const struct hc_call *call, int out, double relative)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->out[out]); i += 1 + i / 7) {
        struct hc_exact want = hc_reference_value(call, out, i);
        double got = hc_tensor_get(&call->out[out], i);
        cr_assert(fabs(got - want.hi) <= relative * fabs(want.hi), "out%d[%lld]: %a, want %a", out,
                  (long long)i, got, want.hi);
    }
}

/* With M rows the sum of squares has M terms that are not negative, each within 3 u, added with at
   most M roundings: its root is within (M + 3) u / 2 and a few u. The mean's error is that of the
   sum of x - p, M u |x - p| with |x - p| a thousandth of the mean, and its own rounding. Sums of x
   and x^2 themselves would be a thousand and a million times worse than one rounding. */
Test(norm, statistics_hold_against_the_reference_with_a_mean_far_from_zero)
{
    static const int64_t channels[] = {1, 3, 16, 32, 64, 65, 130};
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++)
        for (int f = 0; f < 3; f++) {
            struct hc_call call = train(h[f], 50 + 40 * (int64_t)c, channels[c], 1000);
            double rows = 6 * (50 + 40 * (double)c);
            struct hc_queue *queue = queue_of(2, "portable");
            queue->loops = hc_host_loops_best();
            call_host(queue, &call);
            assert_near(&call, 1, 4 * 0x1p-24);
            assert_near(&call, 2, (rows / 2 + 8) * 0x1p-24);
            hc_backend_by_name("host")->close(queue);
        }
}

Test(norm, bits_depend_neither_on_threads_nor_on_the_instruction_set)
{
    static const int64_t channels[] = {1, 5, 16, 32, 64, 100, 256};
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++)
        for (int f = 0; f < 3; f++) {
            struct hc_call forward = train(h[f], 131, channels[c], 0);
            struct hc_call back = backward(h[f], 131, channels[c]);
            assert_one_result(&forward);
            assert_one_result(&back);
        }
}

/* The ops in parts compute what those of the whole batch compute on the way: on one rank alone the
   mean and both sums have the same bits. */
Test(norm, the_parts_of_one_rank_have_the_bits_of_the_whole_on_all_threads_and_loops)
{
    static const int64_t channels[] = {1, 5, 16, 64, 100};
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++)
        for (int f = 0; f < 3; f++) {
            struct hc_call forward = train(h[f], 131, channels[c], 0);
            struct hc_call back = backward(h[f], 131, channels[c]);
            struct hc_tensor v = hc_tensor1(HC_FP32, channels[c], NULL);
            struct hc_call moments = {
                .op = HC_OP_bn_moments, .in = {forward.in[HC_BN_X]}, .out = {made(v), made(v)}};
            struct hc_call sums = {.op = HC_OP_bn_bwd_sums,
                                   .in = {back.in[HC_BN_BWD_X], back.in[HC_BN_BWD_DY],
                                          back.in[HC_BN_BWD_MEAN], back.in[HC_BN_BWD_INVSTD]},
                                   .out = {made(v), made(v)}};
            struct hc_call apply = {.op = HC_OP_bn_bwd_apply,
                                    .in = {back.in[HC_BN_BWD_X], back.in[HC_BN_BWD_DY],
                                           back.in[HC_BN_BWD_GAMMA], back.in[HC_BN_BWD_MEAN],
                                           back.in[HC_BN_BWD_INVSTD], filled(v, 6, 0),
                                           filled(v, 7, 0)},
                                    .out = {made(back.in[HC_BN_BWD_X])}};
            assert_one_result(&moments);
            assert_one_result(&sums);
            assert_one_result(&apply);
            struct hc_queue *queue = queue_of(2, "portable");
            call_host(queue, &forward);
            call_host(queue, &back);
            hc_backend_by_name("host")->close(queue);
            cr_assert_arr_eq(moments.out[HC_BN_MOMENTS_MEAN].data,
                             forward.out[HC_BN_SAVED_MEAN].data, hc_tensor_bytes(&v));
            assert_same(&sums, &back.out[HC_BN_BWD_DGAMMA], "sums");
        }
}

Test(norm, sums_dots_and_squares_have_one_result_too)
{
    static const int64_t lengths[] = {0, 1, 63, 64, 65, 2049, 50000};
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
        for (int f = 0; f < 3; f++) {
            struct hc_tensor x = hc_tensor1(h[f], lengths[l], NULL);
            struct hc_call call = {.op = HC_OP_dot,
                                   .in = {filled(x, 1, 0), filled(x, 2, 0)},
                                   .out = {made(hc_tensor1(HC_FP32, 1, NULL))},
                                   .params.reduce.accumulator = HC_FP32};
            assert_one_result(&call);
            call.op = HC_OP_sum;
            assert_one_result(&call);
            call.op = HC_OP_sum_squares;
            call.in[HC_BN_GAMMA] = filled(hc_tensor1(HC_FP32, 1, NULL), 3, 5);
            assert_one_result(&call);
        }
}

/* The op in one against its two ops one after the other, on the same loops. In the backward pass y
   has every code. */
static void assert_leaky_is_two_ops(enum hc_format f, int64_t channels, const char *loops)
{
    struct hc_queue *queue = queue_of(2, loops);
    if (!queue)
        return;
    int64_t images = channels > 1000 ? 2 : 131;
    struct hc_call fused = train(f, images, channels, 0);
    struct hc_call alone = fused;
    fused.op = HC_OP_bn_leaky_train;
    fused.params.bn.slope = 0.1;
    for (int o = 0; o < 5; o++)
        alone.out[o] = made(fused.out[o]);
    struct hc_call leaky = {.op = HC_OP_leaky_relu,
                            .in = {alone.out[HC_BN_Y]},
                            .out = {alone.out[HC_BN_Y]},
                            .params.leaky = {0.1}};
    call_host(queue, &fused);
    call_host(queue, &alone);
    call_host(queue, &leaky);
    assert_same(&fused, alone.out, loops);
    fused.op = HC_OP_bn_leaky_infer;
    alone.op = HC_OP_bn_infer;
    call_host(queue, &fused);
    call_host(queue, &alone);
    call_host(queue, &leaky);
    assert_same(&fused, alone.out, loops);

    struct hc_call norm = backward(f, images, channels);
    struct hc_tensor y = random_bits(norm.in[HC_BN_BWD_X], 9);
    struct hc_tensor dz = made(norm.in[HC_BN_BWD_DY]);
    leaky = (struct hc_call){.op = HC_OP_leaky_relu_bwd,
                             .in = {y, norm.in[HC_BN_BWD_DY]},
                             .out = {dz},
                             .params.leaky = {0.1}};
    fused = (struct hc_call){.op = HC_OP_bn_leaky_bwd,
                             .in = {norm.in[HC_BN_BWD_X], y, norm.in[HC_BN_BWD_DY],
                                    norm.in[HC_BN_BWD_GAMMA], norm.in[HC_BN_BWD_MEAN],
                                    norm.in[HC_BN_BWD_INVSTD]},
                             .out = {made(norm.out[HC_BN_BWD_DX]), made(norm.out[HC_BN_BWD_DGAMMA]),
                                     made(norm.out[HC_BN_BWD_DBETA])},
                             .params.bn.slope = 0.1};
    norm.in[HC_BN_BWD_DY] = dz;
    call_host(queue, &leaky);
    call_host(queue, &norm);
    call_host(queue, &fused);
    assert_same(&fused, norm.out, loops);
    fused.out[HC_BN_BWD_DX].format = norm.out[HC_BN_BWD_DX].format =
        f == HC_FP32 ? HC_FP16 : HC_FP32; /* dz has another place */
    fused.out[HC_BN_BWD_DX] = made(fused.out[HC_BN_BWD_DX]);
    norm.out[HC_BN_BWD_DX] = made(norm.out[HC_BN_BWD_DX]);
    call_host(queue, &norm);
    call_host(queue, &fused);
    assert_same(&fused, norm.out, loops);
    hc_backend_by_name("host")->close(queue);
}

Test(norm, with_leaky_relu_in_one_op_the_bits_are_those_of_two)
{
    static const int64_t channels[] = {1, 5, 64, 100, 5000}; /* the last goes to exact */
    for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++)
        for (int f = 0; f < 3; f++)
            for (int v = 0; v < 3; v++)
                assert_leaky_is_two_ops(h[f], channels[c], loop_names[v]);
}
