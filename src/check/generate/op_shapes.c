/* The shapes that the generated cases give to an op. */
#include "check/generate/op_space.h"

static const struct hc_op_shape vectors[] = {
    {"257", HC_QUICK, true, false, {257}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"33", HC_STANDARD, false, false, {33}},
    {"130-in-place", HC_STANDARD, false, true, {130}},
    {"4099", HC_EXHAUSTIVE, true, false, {4099}},
    {.name = NULL},
};

static const struct hc_op_shape sums[] = {
    {"257", HC_QUICK, true, false, {257}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"33-in-place", HC_STANDARD, false, true, {33}},
    {"40", HC_STANDARD, true, false, {40}},
    {"4099", HC_STANDARD, false, false, {4099}},
    {"100003", HC_EXHAUSTIVE, true, false, {100003}},
    {.name = NULL},
};

static const struct hc_op_shape products[] = {
    {"13x9x33", HC_QUICK, true, false, {13, 9, 33}},
    {"0x5x3", HC_STANDARD, false, false, {0, 5, 3}},
    {"5x3x0", HC_STANDARD, false, false, {5, 3, 0}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"65x1x1", HC_STANDARD, false, false, {65, 1, 1}},
    {"1x65x1", HC_STANDARD, false, false, {1, 65, 1}},
    {"1x1x65", HC_STANDARD, false, false, {1, 1, 65}},
    {"8x64x16", HC_STANDARD, false, false, {8, 64, 16}},
    {"5x3x300", HC_STANDARD, false, false, {5, 3, 300}},
    {"65x129x300", HC_EXHAUSTIVE, true, false, {65, 129, 300}},
    {.name = NULL},
};

/* K that blocks of 16, 32 and 128 divide, and do not. */
static const struct hc_op_shape block_products[] = {
    {"13x9x70", HC_QUICK, true, false, {13, 9, 70}},
    {"0x5x3", HC_STANDARD, false, false, {0, 5, 3}},
    {"5x3x0", HC_STANDARD, false, false, {5, 3, 0}},
    {"1x1x1", HC_STANDARD, false, false, {1, 1, 1}},
    {"33x40x128", HC_STANDARD, false, false, {33, 40, 128}},
    {"5x3x300", HC_STANDARD, true, false, {5, 3, 300}},
    {"50x70x260", HC_EXHAUSTIVE, true, false, {50, 70, 260}},
    {.name = NULL},
};

static const struct hc_op_shape convolutions[] = {
    {"2x7x5x6-k10r3", HC_QUICK, true, false, {2, 7, 5, 6, 10, 3, 1, 1}},
    {"2x8x8x3-k5r3-s2", HC_STANDARD, true, false, {2, 8, 8, 3, 5, 3, 2, 1}},
    {"3x4x4x3-k4r2-p2", HC_STANDARD, true, false, {3, 4, 4, 3, 4, 2, 1, 2}},
    {"2x5x5x9-k7r1", HC_STANDARD, false, false, {2, 5, 5, 9, 7, 1, 1, 0}},
    {"1x7x7x8-k16r1-s2", HC_STANDARD, false, false, {1, 7, 7, 8, 16, 1, 2, 0}},
    {"3x6x6x1-k1r3-p0", HC_STANDARD, false, false, {3, 6, 6, 1, 1, 3, 1, 0}},
    {"1x3x3x16-k16r3", HC_STANDARD, false, false, {1, 3, 3, 16, 16, 3, 1, 1}},
    {"2x3x3x32-k32r1", HC_STANDARD, true, false, {2, 3, 3, 32, 32, 1, 1, 0}},
    {"0x4x4x3-k2r3", HC_STANDARD, false, false, {0, 4, 4, 3, 2, 3, 1, 1}},
    {"1x9x9x4-k3r5-s3p2", HC_STANDARD, false, false, {1, 9, 9, 4, 3, 5, 3, 2}},
    {"4x16x16x24-k40r3", HC_EXHAUSTIVE, true, false, {4, 16, 16, 24, 40, 3, 1, 1}},
    {.name = NULL},
};

/* Convolutions as products of matrices. */
static const struct hc_op_shape columns[] = {
    {"2x7x5x6-r3", HC_QUICK, true, false, {2, 7, 5, 6, 0, 3, 1, 1}},
    {"2x8x8x3-r3-s2", HC_STANDARD, true, false, {2, 8, 8, 3, 0, 3, 2, 1}},
    {"3x4x4x3-r2-p2", HC_STANDARD, true, false, {3, 4, 4, 3, 0, 2, 1, 2}},
    {"1x7x7x8-r1-s2", HC_STANDARD, false, false, {1, 7, 7, 8, 0, 1, 2, 0}},
    {"0x4x4x3-r3", HC_STANDARD, false, false, {0, 4, 4, 3, 0, 3, 1, 1}},
    {"1x9x9x4-r5-s3p2", HC_STANDARD, false, false, {1, 9, 9, 4, 0, 5, 3, 2}},
    {"4x16x16x24-r3", HC_EXHAUSTIVE, true, false, {4, 16, 16, 24, 0, 3, 1, 1}},
    {.name = NULL},
};

static const struct hc_op_shape batches[] = {
    {"4x3x5x6", HC_QUICK, true, false, {4, 3, 5, 6}},
    {"1x1x1x3", HC_STANDARD, false, false, {1, 1, 1, 3}},
    {"2x1x1x13", HC_STANDARD, false, false, {2, 1, 1, 13}},
    {"3x7x7x1", HC_STANDARD, false, false, {3, 7, 7, 1}},
    {"2x3x3x0", HC_STANDARD, false, false, {2, 3, 3, 0}},
    {"17x4x4x16", HC_STANDARD, false, false, {17, 4, 4, 16}},
    {"2x3x3x132", HC_STANDARD, false, false, {2, 3, 3, 132}},
    {"3x2x2x5-in-place", HC_STANDARD, false, true, {3, 2, 2, 5}},
    {"8x6x6x40", HC_EXHAUSTIVE, true, false, {8, 6, 6, 40}},
    {.name = NULL},
};

/* Ranks and channels: one rank, two, as many as a node has, and many of them. */
static const struct hc_op_shape ranks[] = {
    {"4x6", HC_QUICK, true, false, {4, 1, 1, 6}},
    {"1x3", HC_STANDARD, false, false, {1, 1, 1, 3}},
    {"2x13", HC_STANDARD, true, false, {2, 1, 1, 13}},
    {"8x0", HC_STANDARD, false, false, {8, 1, 1, 0}},
    {"8x33", HC_STANDARD, true, false, {8, 1, 1, 33}},
    {"64x16", HC_STANDARD, false, false, {64, 1, 1, 16}},
    {"3x5-in-place", HC_STANDARD, false, true, {3, 1, 1, 5}},
    {"1000x70", HC_EXHAUSTIVE, true, false, {1000, 1, 1, 70}},
    {.name = NULL},
};

static const struct hc_op_shape pools[] = {
    {"2x6x9x5-3", HC_QUICK, true, false, {2, 6, 9, 5, 3}},
    {"1x1x1x1-1", HC_STANDARD, false, false, {1, 1, 1, 1, 1}},
    {"1x4x4x3-2", HC_STANDARD, false, false, {1, 4, 4, 3, 2}},
    {"0x4x4x3-2", HC_STANDARD, false, false, {0, 4, 4, 3, 2}},
    {.name = NULL},
};

static const struct hc_op_shape losses[] = {
    {"17x10", HC_QUICK, true, false, {17, 10}},
    {"1x1", HC_STANDARD, false, false, {1, 1}},
    {"5x3", HC_STANDARD, false, false, {5, 3}},
    {"3x129", HC_STANDARD, false, false, {3, 129}},
    {"70x3", HC_STANDARD, false, false, {70, 3}},
    {"70x300", HC_EXHAUSTIVE, false, false, {70, 300}},
    {.name = NULL},
};

/* Rows of a table. */
static const struct hc_op_shape tables[] = {
    {"7", HC_QUICK, true, false, {7}},
    {"1", HC_STANDARD, true, false, {1}},
    {"32", HC_STANDARD, true, false, {32}},
    {"65", HC_STANDARD, true, false, {65}},
    {"5-in-place", HC_STANDARD, true, true, {5}},
    {"1001", HC_STANDARD, false, false, {1001}},
    {.name = NULL},
};

/* Ranks and the length of their vectors: powers of two and others, and vectors that leave chunks of
   a ring empty. */
static const struct hc_op_shape vectors_of_ranks[] = {
    {"4x257", HC_QUICK, true, false, {4, 257}},
    {"1x33", HC_STANDARD, false, false, {1, 33}},
    {"2x40", HC_STANDARD, false, false, {2, 40}},
    {"3x0", HC_STANDARD, false, false, {3, 0}},
    {"7x130", HC_STANDARD, false, false, {7, 130}},
    {"8x5", HC_STANDARD, false, false, {8, 5}},
    {"13x33", HC_STANDARD, true, false, {13, 33}},
    {"64x129", HC_STANDARD, false, false, {64, 129}},
    {"64x4099", HC_EXHAUSTIVE, false, false, {64, 4099}},
    {.name = NULL},
};

static const struct hc_op_shape scalars[] = {
    {"1", HC_QUICK, true, false, {1}},
    {"1-in-place", HC_STANDARD, true, true, {1}},
    {.name = NULL},
};

static const struct hc_op_shape *const by_class[] = {
    [HC_CLASS_ELEMENTWISE] = vectors, [HC_CLASS_REDUCTION] = sums,
    [HC_CLASS_GEMM] = products,       [HC_CLASS_CONV] = convolutions,
    [HC_CLASS_NORM] = batches,        [HC_CLASS_POOL] = pools,
    [HC_CLASS_LOSS] = losses,         [HC_CLASS_OPTIMIZER] = vectors,
    [HC_CLASS_CONTROL] = vectors,     [HC_CLASS_COLLECTIVE] = vectors_of_ranks,
    [HC_CLASS_QUANT] = vectors,
};

/* Ops whose shapes are not those of their class. */
static const struct hc_op_shape *const by_op[HC_OP_COUNT] = {
    [HC_OP_rates] = tables,     [HC_OP_step_log] = tables,       [HC_OP_sum_squares] = sums,
    [HC_OP_bn_combine] = ranks, [HC_OP_clip] = scalars,          [HC_OP_im2col] = columns,
    [HC_OP_col2im] = columns,   [HC_OP_gemm_q] = block_products,
};

const struct hc_op_shape *hc_op_shapes(enum hc_op op)
{
    return by_op[op] ? by_op[op] : by_class[hc_ops[op].class_];
}
