/* Batch norm's device kernels, emulated: what the generated cases have no shapes for. */
#include <math.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "kernels/exact/testing.h"
#include "num/rng.h"
#include "op/descriptor.h"

static const enum hc_format h[] = {HC_FP32, HC_BF16, HC_FP16};

/* Aligned to 16, so that vectors are used. */
static struct hc_tensor aligned(struct hc_tensor t)
{
    struct hc_tensor wider =
        made(hc_tensor1(HC_FP32, (int64_t)hc_tensor_bytes(&t) / (int64_t)sizeof(float) + 8, NULL));
    t.data = (char *)wider.data + (16 - (uintptr_t)wider.data % 16);
    return t;
}

static struct hc_tensor filled(struct hc_tensor t, uint64_t stream, double shift)
{
    t = aligned(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, shift + hc_random_normal(11, stream, (uint64_t)i));
    return t;
}

static struct hc_call train(enum hc_format f, int64_t n, int64_t c, double shift)
{
    struct hc_tensor x = hc_tensor4(f, n, 2, 2, c, NULL);
    struct hc_tensor v = hc_tensor1(HC_FP32, c, NULL);
    return (struct hc_call){.op = HC_OP_bn_train,
                            .in = {filled(x, 1, shift), filled(v, 2, 0), filled(v, 3, 0),
                                   filled(v, 4, 0), filled(v, 5, 9)},
                            .out = {filled(x, 0, 0), filled(v, 0, 0), filled(v, 0, 0),
                                    filled(v, 0, 0), filled(v, 0, 0)},
                            .params.bn = {.eps = 1e-5, .momentum = 0.1, .slope = 0.1}};
}

/* The emulated kernels work in any memory. */
static void emulate(const struct hc_call *call)
{
    const struct hc_backend *backend = hc_backend_by_name("cuda-emulated");
    struct hc_queue *queue = NULL;
    struct hc_call ready = *call;
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
    size_t bytes = backend->scratch(queue, call);
    ready.scratch = bytes ? backend->allocate(queue, bytes) : NULL;
    cr_assert_eq(backend->kernel[call->op](queue, &ready), HC_OK, "%s", hc_message());
    backend->release(queue, ready.scratch);
    backend->close(queue);
}

static void assert_same(const struct hc_call *call, const struct hc_tensor *want)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        cr_assert_eq(memcmp(want[o].data, call->out[o].data, hc_tensor_bytes(&want[o])), 0,
                     "%s %s out%d", hc_ops[call->op].name,
                     hc_formats[call->in[HC_BN_X].format].name, o);
}

/* Rows that are neither a slice's nor a group's multiple; one slice, several, several tiles, with
   vectors and without. */
static const struct {
    int64_t images;
    int64_t channels;
} shapes[] = {{3, 4}, {131, 8}, {300, 3}, {70, 136}, {1031, 72}, {1100, 3}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* The mean of a channel is p, which is exact, and the mean of x - p, whose sum is off by n u |x -
   p| with |x - p| at most a hundredth of the mean. The variance's sum is within 19 u
   (kernel/norm.c), its root within half of that and a few roundings. */
Test(cuda_norm, statistics_hold_with_a_mean_far_from_zero)
{
    for (int s = 0; s < SHAPES; s++)
        for (int f = 0; f < 3; f++) {
            struct hc_call call = train(h[f], shapes[s].images, shapes[s].channels, 1000);
            emulate(&call);
            for (int out = HC_BN_SAVED_MEAN; out <= HC_BN_SAVED_INVSTD; out++)
                for (int64_t c = 0; c < shapes[s].channels; c += 1 + c / 3) {
                    struct hc_exact want = hc_reference_value(&call, out, c);
                    double got = hc_tensor_get(&call.out[out], c);
                    cr_assert(fabs(got - want.hi) <= 16 * 0x1p-24 * fabs(want.hi),
                              "out%d[%lld]: %a, want %a", out, (long long)c, got, want.hi);
                }
        }
}

/* Also where it is the pivot. */
Test(cuda_norm, an_infinity_makes_its_channel_s_mean_infinite)
{
    for (int at = 0; at < 12; at += 4) {
        struct hc_call call = train(HC_FP16, 3, 4, 0);
        hc_tensor_set(&call.in[HC_BN_X], at, (double)INFINITY);
        emulate(&call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_BN_SAVED_MEAN], 0), (double)INFINITY);
        cr_assert(isnan(hc_tensor_get(&call.out[HC_BN_SAVED_INVSTD], 0)));
        cr_assert(isfinite(hc_tensor_get(&call.out[HC_BN_SAVED_MEAN], 1)));
    }
}

Test(cuda_norm, equal_numbers_have_no_variance)
{
    struct hc_call call = train(HC_FP32, 131, 8, 0);
    for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_BN_X]); i++)
        hc_tensor_set(&call.in[HC_BN_X], i, 0.1);
    emulate(&call);
    for (int64_t c = 0; c < 8; c++) {
        cr_assert_eq(hc_tensor_get(&call.out[HC_BN_SAVED_MEAN], c), (double)0.1F);
        cr_assert(fabs(hc_tensor_get(&call.out[HC_BN_SAVED_INVSTD], c) * sqrt((double)1e-5F) - 1) <
                  0x1p-23);
    }
}

Test(cuda_norm, with_leaky_relu_in_one_op_the_bits_are_those_of_two)
{
    for (int s = 0; s < SHAPES; s++)
        for (int f = 0; f < 3; f++) {
            struct hc_call fused = train(h[f], shapes[s].images, shapes[s].channels, 0);
            struct hc_call alone = fused;
            fused.op = HC_OP_bn_leaky_train;
            for (int o = 0; o < 5; o++)
                alone.out[o] = filled(fused.out[o], 0, 0);
            struct hc_call leaky = {.op = HC_OP_leaky_relu,
                                    .in = {alone.out[HC_BN_Y]},
                                    .out = {alone.out[HC_BN_Y]},
                                    .params.leaky = {0.1}};
            emulate(&fused);
            emulate(&alone);
            emulate(&leaky);
            assert_same(&fused, alone.out);

            struct hc_tensor dy = filled(fused.in[HC_BN_X], 7, 0);
            struct hc_tensor dz = filled(fused.in[HC_BN_X], 0, 0);
            struct hc_tensor y = filled(fused.in[HC_BN_X], 8, 0);
            leaky = (struct hc_call){
                .op = HC_OP_leaky_relu_bwd, .in = {y, dy}, .out = {dz}, .params.leaky = {0.1}};
            struct hc_tensor x = fused.in[HC_BN_X];
            struct hc_tensor gamma = fused.in[HC_BN_GAMMA];
            struct hc_tensor mean = fused.out[HC_BN_SAVED_MEAN];
            struct hc_tensor invstd = fused.out[HC_BN_SAVED_INVSTD];
            struct hc_call back = {.op = HC_OP_bn_leaky_bwd,
                                   .in = {x, y, dy, gamma, mean, invstd},
                                   .out = {filled(x, 0, 0), filled(mean, 0, 0), filled(mean, 0, 0)},
                                   .params.bn = {.slope = 0.1}};
            struct hc_call norm = {
                .op = HC_OP_bn_bwd,
                .in = {x, dz, gamma, mean, invstd},
                .out = {filled(x, 0, 0), filled(mean, 0, 0), filled(mean, 0, 0)}};
            emulate(&leaky);
            emulate(&norm);
            emulate(&back);
            assert_same(&back, norm.out);
        }
}

/* Runs both calls on one queue, the second right behind the first, or apart. Returns the number of
   launches of the kernel elementwise. */
static int64_t run_both(const struct hc_call *first, const struct hc_call *second, bool apart)
{
    const struct hc_backend *backend = hc_backend_by_name("cuda-emulated");
    const struct hc_call *const calls[] = {first, second};
    struct hc_queue *queue = NULL;
    void *scratch[2];
    char byte = 0;
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
    for (int i = 0; i < 2; i++)
        scratch[i] = backend->allocate(queue, backend->scratch(queue, calls[i]) + 1);
    for (int i = 0; i < 2; i++) {
        struct hc_call ready = *calls[i];
        ready.scratch = scratch[i];
        cr_assert_eq(backend->kernel[ready.op](queue, &ready), HC_OK, "%s", hc_message());
        if (apart)
            cr_assert_eq(backend->download(queue, &byte, scratch[i], 1), HC_OK);
    }
    for (int i = 0; i < 2; i++)
        backend->release(queue, scratch[i]);
    int64_t sums = queue->launched[HC_DK_elementwise];
    backend->close(queue);
    return sums;
}

static struct hc_tensor copied(const struct hc_tensor *t)
{
    struct hc_tensor copy = aligned(*t);
    memcpy(copy.data, t->data, hc_tensor_bytes(t));
    return copy;
}

static struct hc_call sum_of(struct hc_tensor x, struct hc_tensor y, struct hc_tensor out)
{
    return (struct hc_call){.op = HC_OP_add, .in = {x, y}, .out = {out}};
}

static void assert_equal(const struct hc_tensor *want, const struct hc_tensor *got)
{
    cr_assert_eq(memcmp(want->data, got->data, hc_tensor_bytes(want)), 0, "%s [%lld, .., %lld]",
                 hc_formats[want->format].name, (long long)want->shape[0],
                 (long long)want->shape[3]);
}

Test(cuda_norm, a_sum_right_behind_it_is_done_in_its_launch_with_the_same_bits)
{
    for (int s = 0; s < SHAPES; s++)
        for (int f = 0; f < 3; f++) {
            struct hc_call norm = train(h[f], shapes[s].images, shapes[s].channels, 0);
            norm.op = HC_OP_bn_leaky_train;
            struct hc_tensor y = norm.out[HC_BN_Y];
            struct hc_tensor skip = filled(y, 21, 0);
            struct hc_call sum = sum_of(y, skip, filled(y, 0, 0));
            cr_assert_eq(run_both(&norm, &sum, true), 1);
            struct hc_tensor want_y = copied(&y);
            struct hc_tensor want = copied(&sum.out[HC_OUT]);
            memset(y.data, 0xff, hc_tensor_bytes(&y));
            memset(sum.out[HC_OUT].data, 0xff, hc_tensor_bytes(&y));
            cr_assert_eq(run_both(&norm, &sum, false), 0);
            assert_equal(&want_y, &y);
            assert_equal(&want, &sum.out[HC_OUT]);
            sum = sum_of(skip, y, skip); /* in place */
            cr_assert_eq(run_both(&norm, &sum, false), 0);
            assert_equal(&want, &skip);
        }
}

Test(cuda_norm, a_sum_right_before_its_gradient_is_done_in_its_launch_with_the_same_bits)
{
    for (int s = 0; s < SHAPES; s++)
        for (int f = 0; f < 3; f++) {
            struct hc_call norm = train(h[f], shapes[s].images, shapes[s].channels, 0);
            struct hc_tensor x = norm.in[HC_BN_X];
            struct hc_tensor v = norm.out[HC_BN_SAVED_MEAN];
            struct hc_tensor dy = filled(x, 31, 0);
            struct hc_call sum = sum_of(dy, filled(x, 32, 0), dy);
            struct hc_call back = {.op = HC_OP_bn_leaky_bwd,
                                   .in = {x, filled(x, 33, 0), dy, norm.in[HC_BN_GAMMA],
                                          filled(v, 34, 0), filled(v, 35, 1)},
                                   .out = {filled(x, 0, 0), filled(v, 0, 0), filled(v, 0, 0)},
                                   .params.bn = {.slope = 0.1}};
            struct hc_tensor before = copied(&dy);
            cr_assert_eq(run_both(&sum, &back, true), 1);
            struct hc_tensor want[] = {copied(&dy), copied(&back.out[HC_BN_BWD_DX]),
                                       copied(&back.out[HC_BN_BWD_DGAMMA]),
                                       copied(&back.out[HC_BN_BWD_DBETA])};
            memcpy(dy.data, before.data, hc_tensor_bytes(&dy));
            cr_assert_eq(run_both(&sum, &back, false), 0);
            assert_equal(&want[0], &dy);
            assert_same(&back, want + 1);
        }
}

/* The second call sees what the first made, or something else altogether. */
Test(cuda_norm, a_sum_that_it_cannot_do_is_done_behind_it)
{
    struct hc_call norm = train(HC_FP16, 131, 8, 0);
    struct hc_tensor y = norm.out[HC_BN_Y];
    struct hc_tensor other = filled(y, 22, 0);
    struct hc_tensor wide = y;
    wide.format = HC_FP32;
    struct hc_tensor shorter = hc_tensor1(HC_FP16, 8, y.data);
    const struct hc_call sums[] = {
        sum_of(y, y, filled(y, 0, 0)),
        sum_of(other, other, filled(y, 0, 0)),
        sum_of(y, other, filled(wide, 0, 0)),
        sum_of(shorter, hc_tensor1(HC_FP16, 8, other.data), hc_tensor1(HC_FP16, 8, other.data)),
        sum_of(y, norm.in[HC_BN_X], filled(y, 0, 0)),
        sum_of(y, other, norm.in[HC_BN_X]),
    };
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        struct hc_tensor x = copied(&norm.in[HC_BN_X]);
        struct hc_tensor saved = copied(&other);
        int64_t apart = run_both(&norm, &sums[i], true);
        struct hc_tensor want = copied(&sums[i].out[HC_OUT]);
        memcpy(norm.in[HC_BN_X].data, x.data, hc_tensor_bytes(&x));
        memcpy(other.data, saved.data, hc_tensor_bytes(&saved));
        int64_t sum = run_both(&norm, &sums[i], false);
        cr_expect_eq(apart, 1);
        cr_expect_eq(sum, i < 4 ? 1 : 0, "%zu", i);
        assert_equal(&want, &sums[i].out[HC_OUT]);
        memcpy(norm.in[HC_BN_X].data, x.data, hc_tensor_bytes(&x));
        memcpy(other.data, saved.data, hc_tensor_bytes(&saved));
    }
}

/* A tensor of the same values, an element behind a vector's border. */
static struct hc_tensor moved(struct hc_tensor t)
{
    size_t bytes = hc_tensor_bytes(&t);
    struct hc_tensor at = aligned(t);
    at.data = (char *)at.data + hc_formats[t.format].bytes;
    memcpy(at.data, t.data, bytes);
    return at;
}

/* From `by` elements behind t's first. */
static struct hc_tensor behind(struct hc_tensor t, int64_t by)
{
    t.data = (char *)t.data + by * (int64_t)hc_formats[t.format].bytes;
    return t;
}

/* Of two images more than t has, for tensors that overlap. */
static struct hc_tensor longer(struct hc_tensor t, uint64_t stream)
{
    struct hc_tensor more = t;
    more.shape[0] += 2;
    more = filled(more, stream, 0);
    t.data = more.data;
    return t;
}

/* The bytes from `first` on are the same, whether the calls are apart or not. */
static void assert_order(const struct hc_call *first, const struct hc_call *second,
                         const char *what)
{
    const struct hc_call *const calls[] = {first, second};
    struct hc_tensor before[32];
    struct hc_tensor want[32];
    for (int pass = 0; pass < 2; pass++) {
        int n = 0;
        for (int i = 0; i < 2; i++)
            for (int s = 0; s < hc_slot_count(calls[i]->op); s++, n++) {
                const struct hc_tensor *t = hc_slot_tensor_const(calls[i], s);
                if (pass == 0)
                    before[n] = copied(t);
                else
                    memcpy(t->data, before[n].data, hc_tensor_bytes(t));
            }
        (void)run_both(first, second, pass == 0);
        n = 0;
        for (int i = 0; i < 2; i++)
            for (int s = 0; s < hc_slot_count(calls[i]->op); s++, n++) {
                const struct hc_tensor *t = hc_slot_tensor_const(calls[i], s);
                if (pass == 0)
                    want[n] = copied(t);
                else
                    cr_assert_eq(memcmp(want[n].data, t->data, hc_tensor_bytes(t)), 0,
                                 "%s: call %d, slot %d", what, i, s);
            }
    }
}

Test(cuda_norm, tensors_of_a_sum_may_overlap_those_of_batch_norm)
{
    struct hc_call norm = train(HC_FP16, 70, 136, 0);
    struct hc_tensor x = norm.in[HC_BN_X];
    struct hc_tensor y = norm.out[HC_BN_Y] = longer(x, 41);
    struct hc_tensor other = filled(x, 42, 0);
    struct hc_call sum = sum_of(y, behind(y, 64), filled(x, 0, 0));
    assert_order(&norm, &sum, "y and skip");
    sum = sum_of(y, behind(other, 0), behind(y, 64));
    assert_order(&norm, &sum, "y and the sum");

    struct hc_tensor v = norm.out[HC_BN_SAVED_MEAN];
    struct hc_tensor dx = longer(x, 43);
    struct hc_tensor dy = filled(x, 44, 0);
    struct hc_call back = {.op = HC_OP_bn_bwd,
                           .in = {x, dy, norm.in[HC_BN_GAMMA], filled(v, 34, 0), filled(v, 35, 1)},
                           .out = {dx, filled(v, 0, 0), filled(v, 0, 0)}};
    sum = sum_of(behind(dx, 64), other, dy);
    assert_order(&sum, &back, "dx and an addend");
    back.in[HC_BN_BWD_X] = dy;
    sum = sum_of(filled(x, 45, 0), other, dy);
    assert_order(&sum, &back, "x and dy");
}

Test(cuda_norm, tensors_of_a_sum_need_not_be_aligned)
{
    for (int f = 0; f < 3; f++) {
        struct hc_call norm = train(h[f], 131, 8, 0);
        struct hc_tensor x = norm.in[HC_BN_X];
        struct hc_tensor v = norm.out[HC_BN_SAVED_MEAN];
        struct hc_tensor other = moved(filled(x, 46, 0));
        struct hc_tensor dy = filled(x, 0, 0);
        struct hc_call sum = sum_of(norm.out[HC_BN_Y], other, filled(x, 0, 0));
        struct hc_call back = {
            .op = HC_OP_bn_bwd,
            .in = {x, dy, norm.in[HC_BN_GAMMA], filled(v, 34, 0), filled(v, 35, 1)},
            .out = {filled(x, 0, 0), filled(v, 0, 0), filled(v, 0, 0)}};
        (void)run_both(&norm, &sum, false);
        sum = sum_of(norm.out[HC_BN_Y], filled(x, 47, 0), moved(filled(x, 0, 0)));
        (void)run_both(&norm, &sum, false);
        sum = sum_of(other, filled(x, 48, 0), dy);
        (void)run_both(&sum, &back, false);
    }
}

/* The emulation ends the program where a vector is not aligned. */
Test(cuda_norm, a_tensor_that_is_not_aligned_is_read_and_written_by_elements)
{
    for (int f = 0; f < 3; f++) {
        struct hc_call call = train(h[f], 131, 8, 0);
        struct hc_call infer = call;
        infer.op = HC_OP_bn_infer;
        memset(infer.out, 0, sizeof infer.out);
        infer.out[HC_BN_Y] = filled(call.in[HC_BN_X], 0, 0);
        struct hc_call same = infer;
        emulate(&infer);
        same.in[HC_BN_X] = moved(infer.in[HC_BN_X]);
        same.out[HC_BN_Y] = filled(infer.out[HC_BN_Y], 0, 0);
        emulate(&same);
        assert_same(&same, infer.out);
        same = infer;
        same.out[HC_BN_Y] = moved(filled(infer.out[HC_BN_Y], 0, 0));
        emulate(&same);
        assert_same(&same, infer.out);
        call.in[HC_BN_X] = moved(call.in[HC_BN_X]);
        emulate(&call);
        call.out[HC_BN_Y] = moved(call.out[HC_BN_Y]);
        emulate(&call);
    }
}
