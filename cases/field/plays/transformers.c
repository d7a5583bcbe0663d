/* What the parts of a transformer lose where a sum goes through 16 bits on its way, on the ops of
   the backend: the gradient of attention, of a head whose rows come in chunks, and of an
   embedding.

   The gradient of attention's scores is dS = P (dP - D), where D is the sum of dy and o. In exact
   arithmetic each row of it sums to 0, since the weights P sum to 1 and D is the mean of dP. But o
   was rounded into 16 bits when it was stored. Then D is off by what o lost, the row sums to minus
   that, and the same error goes into the gradient of each of its keys. The two other gradients are
   sums over all tokens. A kernel that reads a sum of 16 bits, adds to it and writes it back has no
   sum in fp32 at all, whatever it adds in.

   The rule of thumb: keep each sum over tokens in fp32 until the last of them is in. */
#include "cases/fixture/bug.h"

#include <math.h>

#include "op/later.h"
#include "op/params.h"

enum { KEYS = 256, TOKENS = 512, ROWS = 8192, CHUNK = 8 };

static const double few = 0x1.48p-7; /* 0.01 in bf16 */

static struct hc_tensor column(struct hc_check *check, enum hc_format format, int64_t n)
{
    struct hc_tensor t = {.format = format, .rank = 3, .shape = {1, n, 1}};
    return hc_check_tensor(check, t);
}

static void fill(struct hc_tensor *t, double x)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, x);
}

/* One query of 0 before 256 keys of 1: all weights are 1/256, and dq is the sum of its row of dS.
   *size: of the magnitudes in it. */
static bool sum_scores(struct hc_check *check, enum hc_format stored, double *sum, double *size)
{
    struct hc_call forward = {.op = HC_OP_attention};
    struct hc_call back = {.op = HC_OP_attention_backward};
    struct hc_tensor o = column(check, stored, 1);
    hc_params_usual(forward.op, &forward.params);
    hc_params_usual(back.op, &back.params);
    forward.in[HC_ATTENTION_Q] = column(check, HC_FP32, 1);
    forward.in[HC_ATTENTION_K] = column(check, HC_FP32, KEYS);
    forward.in[HC_ATTENTION_V] = column(check, HC_FP32, KEYS);
    forward.out[HC_ATTENTION_Y] = column(check, HC_FP32, 1);
    forward.out[HC_ATTENTION_LSE] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 1, NULL));
    fill(&forward.in[HC_ATTENTION_Q], 0);
    fill(&forward.in[HC_ATTENTION_K], 1);
    fill(&forward.in[HC_ATTENTION_V], 1);
    hc_tensor_set(&forward.in[HC_ATTENTION_V], KEYS / 2, 2);
    struct hc_call cast = {
        .op = HC_OP_cast, .in = {[HC_X] = forward.out[HC_ATTENTION_Y]}, .out = {[HC_OUT] = o}};
    back.in[HC_ATTENTION_BWD_Q] = forward.in[HC_ATTENTION_Q];
    back.in[HC_ATTENTION_BWD_K] = forward.in[HC_ATTENTION_K];
    back.in[HC_ATTENTION_BWD_V] = forward.in[HC_ATTENTION_V];
    back.in[HC_ATTENTION_BWD_O] = o;
    back.in[HC_ATTENTION_BWD_LSE] = forward.out[HC_ATTENTION_LSE];
    back.in[HC_ATTENTION_BWD_DY] = column(check, HC_FP32, 1);
    back.out[HC_ATTENTION_BWD_DQ] = column(check, HC_FP32, 1);
    back.out[HC_ATTENTION_BWD_DK] = column(check, HC_FP32, KEYS);
    back.out[HC_ATTENTION_BWD_DV] = column(check, HC_FP32, KEYS);
    fill(&back.in[HC_ATTENTION_BWD_DY], 1);
    if (hc_do(check, &forward) != HC_OK || hc_do(check, &cast) != HC_OK ||
        hc_do(check, &back) != HC_OK)
        return false;
    *sum = hc_tensor_get(&back.out[HC_ATTENTION_BWD_DQ], 0);
    *size = 2.0 * (KEYS - 1) / KEYS / KEYS;
    return true;
}

/* The mean of 255 ones and a 2 is 1 + 2^-8, halfway between two numbers of bf16. In fp32 o is right
   to the bit: sums of integers over 256. All weights have the same relative error, at most 2^-20
   from exp and lse, which makes no sum of 0 another one; each term is rounded once, and they are
   added in any order: (KEYS + 1) 2^-24 of their magnitudes, and less than 1 % for what is left out
   here, in second order. */
static void leans(struct hc_check *check, struct hc_exhibits *shown)
{
    double sum[2];
    double size;
    if (!sum_scores(check, HC_BF16, &sum[0], &size) || !sum_scores(check, HC_FP32, &sum[1], &size))
        return;
    hc_exhibits_add(shown, "sum of a row of dS", HC_FP32, sum[0], sum[1], 0,
                    1.01 * (KEYS + 1) * 0x1p-24 * size);
}

/* The gradient of a head's weight from so many rows at a time, which is kept in bf16 between. */
static double chunks(struct hc_check *check, int64_t rows)
{
    struct hc_tensor dw = hc_check_tensor(check, hc_tensor2(HC_BF16, 1, 1, NULL));
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_BF16, 1, rows, NULL)),
               [HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(HC_BF16, rows, 1, NULL)),
               [HC_GEMM_C] = dw},
        .out = {[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_BF16, 1, 1, NULL))},
        .params.gemm = {.alpha = 1, .beta = 1}};
    fill(&dw, 0);
    fill(&call.in[HC_GEMM_A], 1);
    fill(&call.in[HC_GEMM_B], few);
    for (int64_t done = 0; done < ROWS; done += rows) {
        if (hc_do(check, &call) != HC_OK)
            return (double)NAN;
        hc_tensor_set(&dw, 0, hc_tensor_get(&call.out[HC_GEMM_OUT], 0));
    }
    return hc_tensor_get(&dw, 0);
}

/* A sum of n numbers in fp32, in any order, and into bf16. */
static double bound_of(double sum, int64_t n)
{
    double relative = (double)n * 0x1p-24;
    return sum * (relative / (1 - relative) + 0x1p-8);
}

static void rounds_chunks(struct hc_check *check, struct hc_exhibits *shown)
{
    double sum = ROWS * few;
    hc_exhibits_add(shown, "8192 rows of 0.01, by 8", HC_BF16, chunks(check, CHUNK),
                    chunks(check, ROWS), sum, bound_of(sum, ROWS));
}

/* The row of a word that comes 512 times: one add after the other, as PyTorch does it on a CPU. */
static double add_up(struct hc_check *check)
{
    struct hc_call add = {.op = HC_OP_add,
                          .in = {[HC_X] = hc_check_vector(check, HC_BF16, 1),
                                 [HC_Y] = hc_check_vector(check, HC_BF16, 1)},
                          .out = {[HC_OUT] = hc_check_vector(check, HC_BF16, 1)}};
    fill(&add.in[HC_X], 0);
    fill(&add.in[HC_Y], few);
    for (int i = 0; i < TOKENS; i++) {
        if (hc_do(check, &add) != HC_OK)
            return (double)NAN;
        hc_tensor_set(&add.in[HC_X], 0, hc_tensor_get(&add.out[HC_OUT], 0));
    }
    return hc_tensor_get(&add.in[HC_X], 0);
}

static double embed_back(struct hc_check *check)
{
    struct hc_call call = {
        .op = HC_OP_embedding_backward,
        .in = {[HC_EMBEDDING_BWD_DY] = hc_check_tensor(check, hc_tensor2(HC_BF16, TOKENS, 1, NULL)),
               [HC_EMBEDDING_BWD_ID] = hc_check_vector(check, HC_I32, TOKENS)},
        .out = {[HC_EMBEDDING_BWD_DW] = hc_check_tensor(check, hc_tensor2(HC_BF16, 2, 1, NULL))}};
    hc_params_usual(call.op, &call.params);
    fill(&call.in[HC_EMBEDDING_BWD_DY], few);
    fill(&call.in[HC_EMBEDDING_BWD_ID], 1);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_EMBEDDING_BWD_DW], 1)
                                        : (double)NAN;
}

static void stands_still(struct hc_check *check, struct hc_exhibits *shown)
{
    double sum = TOKENS * few;
    hc_exhibits_add(shown, "512 tokens of 0.01", HC_BF16, add_up(check), embed_back(check), sum,
                    bound_of(sum, TOKENS));
}

static const struct hc_case cases[] = {
    HC_BUG("field/attention/scores-gradient-from-rounded-o",
           "The gradient of attention's scores leans to one side, and a training in bf16 fails.",
           "arXiv 2510.04212, 'Why Low-Precision Transformer Training Fails: An Analysis on Flash "
           "Attention', which finds the cause in D; the row here is the smallest that shows it",
           .play = leans, .buggy = {.is = "0.003906"}, .fixed = {.is = "0.000000"},
           .fault = "attention-gradient-no-d",
           .lesson = "Take D from o before it is rounded, or keep o in fp32 for the backward pass: "
                     "a row of dS sums to minus what o lost."),
    HC_BUG("field/stagnation/head-gradient-by-chunks",
           "The gradient of a head's weight stops at 32 where it should be 82.",
           "linkedin/Liger-Kernel PR 1391, 'Add FP32 accumulation option to fused scaled cross "
           "entropy', https://github.com/linkedin/Liger-Kernel/pull/1391; axolotl-ai-cloud/axolotl "
           "PR 1601; the numbers are of this row",
           .play = rounds_chunks, .buggy = {.is = "32 exact"}, .fixed = {.is = "82 exact"},
           .fault = "gemm-k-tail-32",
           .again = "field/stagnation/flce-grad-weight-rounded-per-chunk",
           .lesson = "Keep the sum over chunks in fp32, and round it once."),
    HC_BUG("field/stagnation/embedding-gradient-added-in-bf16",
           "A word that comes 512 times gets a gradient of 4 where it should be 5.125.",
           "tenstorrent/tt-metal PR 53386, '[Bug fix] embedding_bw: accumulate repeated indices in "
           "FP32', https://github.com/tenstorrent/tt-metal/pull/53386; flagos-ai/FlagGems PR 309; "
           "the numbers are of this row, and PyTorch 2.15 has them on a CPU",
           .play = stands_still, .buggy = {.is = "4 exact"}, .fixed = {.is = "5.125 exact"},
           .fault = "embedding-gradient-in-bf16",
           .lesson = "Add the rows of one index in fp32: bf16 takes no 0.01 beyond 4."),
};

HC_CASES(field_plays_transformers, cases);
