/* The numbers of PyTorch's first thread on training in half.

   Its rules stand to this day: batch norm in fp32, and an fp32 copy of the parameters.

   No cases: that half is not supported on the CPU is a matter of a version; that fp32 batch norm
   and half tensors break the backward pass is an error of types; 15 %, 50 % and twofold speed are
   of machines; "issues with fp16 overflow" has no number (field/activations/t5-ffn-overflow has
   one). */
#include "cases/fixture/quote.h"

#define THREAD                                                                                     \
    "PyTorch forums, 'Training with Half Precision', "                                             \
    "https://discuss.pytorch.org/t/training-with-half-precision/11815"

static const struct hc_case cases[] = {
    HC_QUOTE("seeds/003-half-forum/batch-norm-accumulates-in-fp32",
             "'BatchNormalization layers use float32 for accumulation or you will have convergence "
             "issues'",
             THREAD ", colesbury", .in = "fp16", .formula = "m = 0; b = bf16(0); s = sum(4096, 1)",
             .each = "m = m * 0.99 + 0.01 * fp16(1000); b = b * 0.99 + 0.01 * bf16(1000)",
             .steps = 2000, .show = "m < 999, m, b, s", .says = "1, -, -, -",
             .is = "1, 998.5 exact, 520 exact, 2048 exact", .right = true,
             .lesson = "Running statistics in half stand still short of what they average.",
             .shown_by = "batchnorm/statistics-stall-in-half"),
    HC_QUOTE("seeds/003-half-forum/weight-norm-in-fp32",
             "'Is it the same situation with weight norm? It should use float32?'",
             THREAD ", a question without an answer", .in = "fp16",
             .formula = "s = sum(64, 32 * 32); w = 32 / sqrt(s)",
             .show = "isinf(s), w, fp32(32) / sqrt(fp32(65536))", .says = "1, -, -",
             .is = "1, 0, 0.125 exact", .right = true,
             .lesson = "Yes: 64 weights of 32 have a norm of 256, and a square that half has not.",
             .shown_by = "field/norm-overflow/weight-norm-half"),
    HC_QUOTE("seeds/003-half-forum/keep-a-32-bit-copy",
             "'You also need to be sure to maintain a full 32 bit copy of your parameters'",
             THREAD ", Trevor Standley", .in = "fp32", .formula = "in_half = fp16(1); master = 1",
             .each = "in_half += 1e-4; master += 1e-4", .steps = 1000,
             .show = "in_half == 1, master", .says = "1, -", .is = "1, 1.1000", .right = true,
             .lesson = "1000 updates of 1e-4 are 0.1 on an fp32 master, and nothing in half.",
             .shown_by = "master/drift-over-a-thousand-updates"),
    HC_QUOTE("seeds/003-half-forum/all-parameters-nan",
             "'Typecasting network and data to HalfTensor results in all parameters = NaN'",
             THREAD ", the title of a thread that refers to it", .in = "fp16",
             .formula = "g = [0, 1e-5]; m = 0.1 * g; v = 0.001 * g * g; w = 1",
             .each = "w = w - 1e-3 * ((m / 0.1) / (sqrt(v / 0.001) + 1e-8))", .steps = 1,
             .show = "w", .says = "nan, -", .is = "nan, -inf", .right = true,
             .lesson = "Keep Adam's state in fp32: in half its eps of 1e-8 is 0.",
             .shown_by = "eps/adam-in-half-zero-gradient"),
};

HC_CASES(seeds_003_half_forum, cases);
