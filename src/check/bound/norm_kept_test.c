/* Batch norm's bounds, and cross-entropy's, of a call that stays as it is are those of each element
   alone. */
#include <criterion/criterion.h>

#include "check/bound/bound.h"
#include "num/rng.h"
#include "reference.h"

enum { ROWS = 6, CHANNELS = 70, SLOTS = HC_MAX_IN + HC_MAX_OUT };

static float memory[SLOTS][ROWS * CHANNELS];

static void fill(uint64_t seed)
{
    for (uint64_t s = 0; s < SLOTS; s++)
        for (uint64_t i = 0; i < ROWS * CHANNELS; i++)
            memory[s][i] = (float)(2 + hc_random_normal(seed, s, i));
}

/* Every tensor a vector, but for those that have an element for each of x. */
static struct hc_call call_of(enum hc_op op, int matrices_in, int matrix_out)
{
    struct hc_call call = {.op = op, .params.bn = {.eps = 1e-5, .momentum = 0.1, .slope = 0.125}};
    for (int i = 0; i < hc_ops[op].inputs; i++)
        call.in[i] = matrices_in >> i & 1 ? hc_tensor2(HC_FP32, ROWS, CHANNELS, memory[i])
                                          : hc_tensor1(HC_FP32, CHANNELS, memory[i]);
    for (int o = 0; o < hc_ops[op].outputs; o++)
        call.out[o] = o == matrix_out ? hc_tensor2(HC_FP32, ROWS, CHANNELS, memory[HC_MAX_IN + o])
                                      : hc_tensor1(HC_FP32, CHANNELS, memory[HC_MAX_IN + o]);
    return call;
}

static int bound_all(const struct hc_call *call, double *to)
{
    struct hc_accumulator sums = {.precision = 24, .block = 1};
    int n = 0;
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[o]); i++) {
            struct hc_element e = {call, o, i};
            struct hc_exact want = {1, 0, 1};
            to[n++] = hc_bound(&e, &sums, &want);
            to[n++] = hc_bound_any_order(&e, &sums, &want);
        }
    return n;
}

static void expect_the_same(const struct hc_call *call)
{
    static double want[2 * HC_MAX_OUT * ROWS * CHANNELS];
    static double got[2 * HC_MAX_OUT * ROWS * CHANNELS];
    for (uint64_t seed = 1; seed < 4; seed++) {
        fill(seed);
        int n = bound_all(call, want);
        hc_reference_begin(call);
        (void)bound_all(call, got);
        hc_reference_end();
        for (int i = 0; i < n; i++)
            cr_assert(want[i] == got[i], "%s: bound %d of seed %d", hc_ops[call->op].name, i,
                      (int)seed);
    }
}

Test(norm_kept, bounds_of_a_call_that_stays_as_it_is_are_those_of_each_element_alone)
{
    struct hc_call train = call_of(HC_OP_bn_train, 1 << HC_BN_X, HC_BN_Y);
    struct hc_call backward = call_of(
        HC_OP_bn_leaky_bwd,
        1 << HC_BN_LEAKY_BWD_X | 1 << HC_BN_LEAKY_BWD_Y | 1 << HC_BN_LEAKY_BWD_DY, HC_BN_BWD_DX);
    struct hc_call combine =
        call_of(HC_OP_bn_combine, 1 << HC_BN_COMBINE_MEANS | 1 << HC_BN_COMBINE_VARIANCES, -1);
    combine.in[HC_BN_COMBINE_COUNTS] = hc_tensor1(HC_FP32, ROWS, memory[HC_BN_COMBINE_COUNTS]);
    expect_the_same(&train);
    expect_the_same(&backward);
    expect_the_same(&combine);
}

Test(norm_kept, so_are_those_of_cross_entropy)
{
    struct hc_call backward = call_of(HC_OP_xent_bwd, 1 << HC_XENT_LOGITS, HC_XENT_DLOGITS);
    backward.params = (union hc_params){.xent = {.sum = false}};
    expect_the_same(&backward);
}
