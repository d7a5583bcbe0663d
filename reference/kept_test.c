/* What all elements of a block or a channel have in common, computed once, is what is computed
   each time: the largest magnitude, and two sums. */
#include "reference/testing.h"

enum { ROWS = 5, MOST_CHANNELS = 100, MOST_VALUES = 8 * ROWS * MOST_CHANNELS };

static struct hc_exact want[MOST_VALUES];
static struct hc_exact got[MOST_VALUES];
static uint8_t codes[ROOM * ROOM];

/* All elements of all outputs. */
static int value_all(const struct hc_call *call, struct hc_exact *to)
{
    int n = 0;
    for (int out = 0; out < hc_ops[call->op].outputs; out++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[out]); i++)
            to[n++] = reference(call, out, i);
    return n;
}

/* What is kept is what is computed each time. */
static void same_values(const struct hc_call *call, const char *what)
{
    int n = value_all(call, want);
    hc_reference_begin(call);
    (void)value_all(call, got);
    for (int i = 0; i < n; i++)
        cr_assert(want[i].hi == got[i].hi && want[i].lo == got[i].lo, "%s: value %d", what, i);
    hc_reference_end();
}

/* x of 32 x 32 numbers, each another one, in blocks of rows x columns under a rule of two levels:
   of each element the reference asks for the amax of its block and of the tensor. */
static struct hc_call quantize(int rows, int columns)
{
    struct hc_call call = {.op = HC_OP_quantize, .params.quantize = {.rule = HC_SCALE_NVFP4_TE}};
    call.params.quantize.rows = rows;
    call.params.quantize.columns = columns;
    call.in[HC_QUANTIZE_X] = hc_tensor2(HC_FP32, 32, 32, memory[0]);
    call.out[HC_QUANTIZE_CODES] = hc_tensor2(HC_E2M1, 32, 32, codes);
    call.out[HC_QUANTIZE_SCALES] =
        hc_tensor2(HC_UE4M3, rows ? 32 / rows : 1, columns ? 32 / columns : 1, codes);
    call.out[HC_QUANTIZE_TENSOR] = call.out[HC_QUANTIZE_AMAX] = vector(1, 1);
    for (int i = 0; i < 32 * 32; i++)
        memory[0][i] = (float)((i * 37 % 1024 + 1) * (i % 2 ? 1 : -1));
    return call;
}

Test(amax, looked_for_once_it_is_the_one_that_is_looked_for_each_time)
{
    static const int blocks[][2] = {{0, 0}, {1, 16}, {4, 4}, {32, 1}, {1, 0}, {16, 16}};
    for (int b = 0; b < 6; b++) {
        struct hc_call call = quantize(blocks[b][0], blocks[b][1]);
        same_values(&call, "as it is");
        call.params.quantize.transpose = true;
        same_values(&call, "transposed");
        call.params.quantize.hadamard = true;
        same_values(&call, "multiplied");
    }
}

Test(amax, it_is_looked_for_again_once_the_call_may_have_changed)
{
    struct hc_call call = quantize(0, 0);
    hc_reference_begin(&call);
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 1024);
    hc_reference_end();
    memory[0][5] = 4096;
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 4096);
    memory[0][5] = 5000;
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 5000);
    hc_reference_begin(&call);
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 5000);
    memory[0][5] = 6000;
    hc_reference_begin(&call);
    cr_assert_eq(value(&call, HC_QUANTIZE_AMAX, 0), 6000);
    struct hc_call other = call;
    memory[0][5] = 7000;
    cr_assert_eq(value(&other, HC_QUANTIZE_AMAX, 0), 7000);
    hc_reference_end();
}

static struct hc_tensor matrix(int slot, int64_t channels)
{
    return hc_tensor2(HC_FP32, ROWS, channels, memory[slot]);
}

static struct hc_call training(int64_t channels)
{
    struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {.eps = 1e-5, .momentum = 0.1}};
    call.in[HC_BN_X] = matrix(0, channels);
    for (int i = 1; i < hc_ops[call.op].inputs; i++)
        call.in[i] = vector(i, channels);
    for (int o = 0; o < hc_ops[call.op].outputs; o++)
        call.out[o] = vector(HC_MAX_IN + o, channels);
    call.out[HC_BN_Y] = matrix(HC_MAX_IN, channels);
    return call;
}

static struct hc_call gradients(int64_t channels)
{
    struct hc_call call = {.op = HC_OP_bn_leaky_bwd, .params.bn = {.slope = 0.125}};
    for (int i = 0; i < hc_ops[call.op].inputs; i++)
        call.in[i] = vector(i, channels);
    call.in[HC_BN_LEAKY_BWD_X] = matrix(HC_BN_LEAKY_BWD_X, channels);
    call.in[HC_BN_LEAKY_BWD_Y] = matrix(HC_BN_LEAKY_BWD_Y, channels);
    call.in[HC_BN_LEAKY_BWD_DY] = matrix(HC_BN_LEAKY_BWD_DY, channels);
    for (int o = 0; o < hc_ops[call.op].outputs; o++)
        call.out[o] = vector(HC_MAX_IN + o, channels);
    call.out[HC_BN_BWD_DX] = matrix(HC_MAX_IN + HC_BN_BWD_DX, channels);
    return call;
}

static struct hc_call logits(int64_t columns)
{
    struct hc_call call = {.op = HC_OP_xent_bwd};
    call.in[HC_XENT_LOGITS] = matrix(HC_XENT_LOGITS, columns);
    call.in[HC_XENT_LABELS] = vector(HC_XENT_LABELS, ROWS);
    call.in[HC_XENT_UPSTREAM] = vector(HC_XENT_UPSTREAM, 1);
    call.out[HC_XENT_DLOGITS] = matrix(HC_MAX_IN, columns);
    return call;
}

static void fill(int by)
{
    for (int slot = 0; slot < HC_MAX_IN; slot++)
        for (int i = 0; i < ROWS * MOST_CHANNELS; i++)
            memory[slot][i] = (float)((i * by + slot * 29) % 101 - 40 * (slot == 0)) / 16;
}

static void expect_the_same(const struct hc_call *call, const char *what)
{
    same_values(call, what);
    hc_reference_begin(call);
    (void)value_all(call, got);
    fill(53);
    hc_reference_begin(call);
    (void)value_all(call, got);
    hc_reference_end();
    int n = value_all(call, want);
    for (int i = 0; i < n; i++)
        cr_assert(want[i].hi == got[i].hi && want[i].lo == got[i].lo, "%s: new value %d", what, i);
}

/* With 100 channels, some of which have one place. */
Test(channel, sums_that_are_added_up_once_are_those_that_are_added_up_each_time)
{
    static const int64_t channels[] = {1, 3, MOST_CHANNELS};
    for (int k = 0; k < 3; k++) {
        struct hc_call train = training(channels[k]);
        struct hc_call backward = gradients(channels[k]);
        struct hc_call loss = logits(channels[k]);
        fill(37);
        expect_the_same(&loss, "xent_bwd");
        fill(37);
        expect_the_same(&train, "bn_train");
        fill(37);
        expect_the_same(&backward, "bn_leaky_bwd");
    }
}

/* Of twice as many bits, too, and of the other op's sums. */
Test(channel, neither_another_precision_nor_another_call_takes_them)
{
    struct hc_call call = gradients(3);
    struct hc_call other = call;
    struct hc_exact twice;
    struct hc_exact outside;
    float dy[ROWS * 3];
    fill(37);
    hc_references[call.op](&(struct hc_element){&call, HC_BN_BWD_DX, 4}, 1000, &outside);
    hc_reference_begin(&call);
    (void)reference(&call, HC_BN_BWD_DX, 4);
    hc_references[call.op](&(struct hc_element){&call, HC_BN_BWD_DX, 4}, 1000, &twice);
    cr_assert(twice.hi == outside.hi && twice.lo == outside.lo);
    for (int i = 0; i < ROWS * 3; i++)
        dy[i] = (float)(i + 1);
    other.in[HC_BN_LEAKY_BWD_DY].data = dy;
    double got = value(&other, HC_BN_BWD_DBETA, 1);
    hc_reference_end();
    cr_assert_eq(got, value(&other, HC_BN_BWD_DBETA, 1));
    cr_assert_neq(got, value(&call, HC_BN_BWD_DBETA, 1));
}
