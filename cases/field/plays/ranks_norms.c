/* A norm over ranks that counts a weight as often as there are ranks that have it.

   The norm of all gradients is the root of a sum of squares over ranks, each of which brings those
   of its own weights. A weight that two ranks have, as the embedding that a pipeline's first stage
   reads and its last one writes with, has the same gradient on both once it is synchronised. Its
   squares belong into the sum once. Counted by each rank, the norm is up to the root of the number
   of ranks too large, and clipping takes so much from every gradient.

   The rule of thumb: the norm must not depend on the number of ranks. */
#include "cases/fixture/bug.h"
#include "cases/fixture/ranks.h"

#include <math.h>

enum { RANKS = 2, ELEMENTS = 8 };

static float sum_of_squares(struct hc_check *check, double g)
{
    float sum = 0;
    struct hc_call call = {.op = HC_OP_sum_squares,
                           .in = {[HC_REDUCE_X] = hc_check_vector(check, HC_FP32, ELEMENTS),
                                  [HC_SUM_SQUARES_PARTIAL] = hc_tensor1(HC_FP32, 1, &sum)},
                           .out = {[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, &sum)},
                           .params.reduce = {HC_FP32}};
    for (int i = 0; i < ELEMENTS; i++)
        hc_tensor_set(&call.in[HC_REDUCE_X], i, g);
    return hc_do(check, &call) == HC_OK ? sum : NAN;
}

/* `owners` ranks bring the squares of the weight that all have, the others bring nothing. */
static double norm(struct hc_check *check, int owners)
{
    static const struct hc_all_reduce sum = {HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false};
    double squares[RANKS] = {0};
    for (int r = 0; r < owners; r++)
        squares[r] = (double)sum_of_squares(check, 10);
    return sqrt(hc_ranks_average1(check, "squares", &sum, HC_FP32, RANKS, squares));
}

/* Squares and sums are whole numbers; the root here is one rounding of fp64, far within fp32's. */
static void counted(struct hc_check *check, struct hc_exhibits *shown)
{
    double buggy = norm(check, RANKS);
    double fixed = norm(check, 1);
    hc_exhibits_add(shown, "gradient norm", HC_FP32, hc_round(HC_FP32, buggy),
                    hc_round(HC_FP32, fixed), sqrt(800), 0x1p-20);
    hc_claim_value(check, "buggy: the norm, sqrt(1600)", 40, buggy);
}

static const struct hc_case cases[] = {
    HC_BUG("field/rank-norms/shared-weight-counted-twice",
           "With an embedding that two pipeline stages share the gradient norm is too large, and "
           "clipping takes too much.",
           "NVIDIA/Megatron-LM PR 7227, 'Fix MFSDP v2 shared gradient norms', "
           "https://github.com/NVIDIA/Megatron-LM/pull/7227 (40 in the place of 28.284); "
           "NVIDIA-NeMo/RL PR 3788; ROCm/TransformerEngine PR 715 (1.52 and 1.36 times)",
           .play = counted, .fault = "rank-left-out",
           .lesson = "Let one rank bring the squares of a weight that several have, and compare "
                     "the norm with that of one rank."),
};

HC_CASES(field_plays_ranks_norms, cases);
