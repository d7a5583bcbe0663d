#include "kernels/host/testing.h"

static const enum hc_format h[] = {HC_FP32, HC_BF16, HC_FP16};

/* Lengths around the widths of vectors and blocks, and beyond what one thread does alone. */
static const int64_t lengths[] = {0,  1,  2,  3,  7,  8,   9,   15,  16,   17,   31,
                                  33, 63, 64, 65, 66, 127, 129, 130, 2047, 2049, 20011};

static struct hc_call of(enum hc_op op, int64_t n, const enum hc_format *formats)
{
    struct hc_call call = {.op = op};
    int inputs = hc_ops[op].inputs;
    for (int i = 0; i < inputs; i++)
        call.in[i] = random_bits(hc_tensor1(formats[i], n, NULL), (uint64_t)i);
    call.out[HC_OUT] = made(hc_tensor1(formats[inputs], n, NULL));
    return call;
}

Test(elementwise, ieee_operations_have_the_bits_of_exact)
{
    static const enum hc_op ops[] = {HC_OP_add, HC_OP_sub,  HC_OP_mul,
                                     HC_OP_div, HC_OP_sqrt, HC_OP_fma};
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (int f = 0; f < 3; f++)
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                enum hc_format formats[] = {h[f], h[f], h[f], h[f]};
                struct hc_call call = of(ops[o], lengths[l], formats);
                assert_exact_bits(&call);
            }
}

Test(elementwise, fp64_goes_to_exact)
{
    enum hc_format formats[] = {HC_FP64, HC_FP64, HC_FP64, HC_FP64};
    struct hc_call call = of(HC_OP_fma, 100, formats);
    assert_exact_bits(&call);
}

Test(elementwise, casts_have_the_bits_of_exact_between_all_formats_and_in_all_directions)
{
    for (int from = 0; from < HC_I32; from++)
        for (int to = 0; to <= HC_I32; to++)
            for (int d = 0; d < 2 * HC_DIRECTION_COUNT; d++) {
                enum hc_format formats[] = {(enum hc_format)from, (enum hc_format)to};
                struct hc_call call = of(HC_OP_cast, 131, formats);
                call.params.cast.direction = (enum hc_direction)(d / 2);
                call.params.cast.saturate = d % 2;
                assert_exact_bits(&call);
            }
}

/* Values halfway between neighbours of each format, a little to either side of that, and at the
   ends of the formats. */
Test(elementwise, casts_from_fp64_have_the_bits_of_exact_at_ties_and_ends)
{
    static const double ends[] = {
        65504,    65520,      0x1.fffffffffffffp15, 0x1p-25,  0x1p-24,        0x1p-133,
        0x1p-134, 0x1.fep127, 0x1.ffp127,           0x1p-149, 0x1.fffffep127, 0x1.ffffffp127,
        0,        INFINITY};
    enum { CODES = 500, ENDS = sizeof ends / sizeof ends[0], VALUES = 3 * (CODES + ENDS) };
    static double values[VALUES];
    for (int to = 0; to < 3; to++) {
        for (int i = 0; i < CODES + ENDS; i++) {
            int bits = hc_formats[h[to]].precision;
            double value = i < CODES ? ldexp(2 * (i % 8) + 1 + ldexp(1, bits), i % 90 - bits - 45)
                                     : ends[i - CODES];
            values[3 * i] = i % 2 ? value : -value;
            values[3 * i + 1] = nextafter(values[3 * i], 0);
            values[3 * i + 2] = nextafter(values[3 * i], INFINITY);
        }
        struct hc_call call = {.op = HC_OP_cast,
                               .in = {vector_of(HC_FP64, VALUES, values)},
                               .out = {made(hc_tensor1(h[to], VALUES, NULL))}};
        assert_exact_bits(&call);
    }
}

Test(elementwise, leaky_relu_and_axpy_have_the_bits_of_exact)
{
    for (int f = 0; f < 9; f++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            enum hc_format mixed[] = {h[f / 3], h[f % 3], h[(f + 1) % 3]};
            enum hc_format one[] = {h[f % 3], h[f % 3], h[f % 3]};
            struct hc_call forward = of(HC_OP_leaky_relu, lengths[l], mixed);
            struct hc_call backward = of(HC_OP_leaky_relu_bwd, lengths[l], one);
            struct hc_call axpy = of(HC_OP_axpy, lengths[l], mixed);
            forward.params.leaky.slope = backward.params.leaky.slope = 0.1;
            axpy.params.axpy.alpha = -0.3;
            assert_exact_bits(&forward);
            assert_exact_bits(&backward);
            assert_exact_bits(&axpy);
        }
}

static struct hc_tensor scalar(double value)
{
    return vector_of(HC_FP32, 1, &value);
}

Test(elementwise, scale_and_unscale_have_the_bits_of_exact)
{
    for (int f = 0; f < 9; f++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            struct hc_call call = {
                .op = HC_OP_scale,
                .in = {random_bits(hc_tensor1(h[f / 3], lengths[l], NULL), 1), scalar(512.3)},
                .out = {made(hc_tensor1(h[f % 3], lengths[l], NULL))}};
            assert_exact_bits(&call);
            call.op = HC_OP_unscale;
            call.in[HC_UNSCALE_FOUND_INF] = scalar(0);
            call.out[HC_UNSCALE_NEW_FOUND_INF] = scalar(-1);
            call.params.unscale.reciprocal = f & 1;
            assert_exact_bits(&call);
        }
}

Test(elementwise, one_infinity_anywhere_is_found)
{
    for (int64_t at = 0; at < 20011; at += at < 130 ? 1 : 997) {
        struct hc_call call = {.op = HC_OP_unscale,
                               .in = {made(hc_tensor1(HC_FP16, 20011, NULL)), scalar(2), scalar(0)},
                               .out = {made(hc_tensor1(HC_FP16, 20011, NULL)), scalar(-1)}};
        struct hc_queue *queue = queue_of(2, "portable");
        queue->loops = hc_host_loops_best();
        call_host(queue, &call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_NEW_FOUND_INF], 0), 0);
        hc_tensor_set_bits(&call.in[HC_UNSCALE_X], at, 0xfc00);
        call_host(queue, &call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_NEW_FOUND_INF], 0), 1, "at %lld",
                     (long long)at);
        hc_backend_by_name("host")->close(queue);
    }
}

Test(elementwise, an_output_may_be_an_input)
{
    enum hc_format formats[] = {HC_FP16, HC_FP16, HC_FP16, HC_FP16};
    struct hc_call call = of(HC_OP_fma, 5000, formats);
    struct hc_tensor want[HC_MAX_OUT];
    struct hc_queue *queue = queue_of(2, "portable");
    queue->loops = hc_host_loops_best();
    want_exact(&call, want);
    call.out[HC_OUT] = call.in[HC_Y];
    call_host(queue, &call);
    assert_same(&call, want, "in place");
    hc_backend_by_name("host")->close(queue);
}
