/* Faults of language models' training that stood in more than one code, each on the backend's own
   ops: sums of attention that leave fp32 between blocks, angles of positions in 16 bits, a mask
   that is a number, squares of fp16, logits in bf16, and a mean of means.

   What they have in common: the op is right, and what it is given, or what is done between two
   calls of it, is not. */
#include "cases/fixture/bug.h"

#include <math.h>

#include "op/later.h"
#include "op/params.h"

enum { QUERIES = 16384, BLOCK = 32, POSITION = 255, HEAD = 4, ROWS = 1024, WIDTH = 64 };

static const double few = 0x1.48p-7; /* 0.01 in bf16 */

static void fill(struct hc_tensor *t, double x)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, x);
}

static struct hc_tensor column(struct hc_check *check, enum hc_format format, int64_t n)
{
    return hc_check_tensor(check, hc_tensor3(format, 1, n, 1, NULL));
}

static void set_option(struct hc_call *call, int option, const void *value)
{
    memcpy(call->params.later + (size_t)option * sizeof(double), value, sizeof(double));
}

/* dv of one key, to which so many queries give `few` each: its weight is 1. */
static double one_block(struct hc_check *check, int64_t queries)
{
    const int64_t all = 0;
    struct hc_call call = {.op = HC_OP_attention_backward};
    hc_params_usual(call.op, &call.params);
    set_option(&call, 1, &all);
    for (int i = HC_ATTENTION_BWD_Q; i <= HC_ATTENTION_BWD_DY; i++) {
        bool keys = i == HC_ATTENTION_BWD_K || i == HC_ATTENTION_BWD_V;
        call.in[i] = column(check, HC_BF16, keys ? 1 : queries);
        if (i == HC_ATTENTION_BWD_LSE)
            call.in[i] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, queries, NULL));
        fill(&call.in[i], i == HC_ATTENTION_BWD_DY ? few : 0);
    }
    call.out[HC_ATTENTION_BWD_DQ] = column(check, HC_BF16, queries);
    call.out[HC_ATTENTION_BWD_DK] = column(check, HC_BF16, 1);
    call.out[HC_ATTENTION_BWD_DV] = column(check, HC_BF16, 1);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_ATTENTION_BWD_DV], 0)
                                        : (double)NAN;
}

/* Blocks of queries, whose sums are added up in bf16. */
static double by_blocks(struct hc_check *check)
{
    struct hc_call add = {.op = HC_OP_add,
                          .in = {[HC_X] = hc_check_vector(check, HC_BF16, 1),
                                 [HC_Y] = hc_check_vector(check, HC_BF16, 1)},
                          .out = {[HC_OUT] = hc_check_vector(check, HC_BF16, 1)}};
    fill(&add.in[HC_X], 0);
    fill(&add.in[HC_Y], one_block(check, BLOCK));
    for (int done = 0; done < QUERIES; done += BLOCK) {
        if (hc_do(check, &add) != HC_OK)
            return (double)NAN;
        hc_tensor_set(&add.in[HC_X], 0, hc_tensor_get(&add.out[HC_OUT], 0));
    }
    return hc_tensor_get(&add.in[HC_X], 0);
}

/* A sum of n numbers of one sign in fp32, in any order, each of which is a product, and into
   bf16. */
static double bound_of(double sum, int64_t n)
{
    double relative = (double)(n + 1) * 0x1p-24;
    return sum * (relative / (1 - relative) + 0x1p-8);
}

static void gathers(struct hc_check *check, struct hc_exhibits *shown)
{
    double sum = QUERIES * few;
    hc_exhibits_add(shown, "dv of 16384 queries, by 32", HC_BF16, by_blocks(check),
                    one_block(check, QUERIES), sum, bound_of(sum, QUERIES));
}

/* One query over three keys: two have the largest score, 0, the third one -8. Values lie between
   -4 and -2, so that half of the sums of two are halfway between two numbers of bf16, and what the
   third key adds always points away from 0. */
struct weighed {
    struct hc_tensor v; /* [1, 3, ROWS] */
    double weight;      /* of the third key beside a 1 */
};

static struct weighed values(struct hc_check *check)
{
    struct weighed w = {hc_check_tensor(check, hc_tensor3(HC_BF16, 1, 3, ROWS, NULL)), exp(-8)};
    for (int64_t i = 0; i < 3 * (int64_t)ROWS; i++)
        hc_tensor_set(&w.v, i, -2 - (double)(hc_splitmix(1, (uint64_t)i) >> 57) / 64);
    return w;
}

/* The mean error of a row, in ulps of numbers between 2 and 4 in bf16; what is below 0 points away
   from 0. */
static double mean_error(const struct weighed *w, const struct hc_tensor *y)
{
    double sum = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        double of_three = hc_tensor_get(&w->v, i) + hc_tensor_get(&w->v, ROWS + i) +
                          w->weight * hc_tensor_get(&w->v, 2 * (int64_t)ROWS + i);
        sum += (hc_tensor_get(y, i) - of_three / (2 + w->weight)) * 64;
    }
    return sum / ROWS;
}

/* Weights times values as they leave a product in bf16, before they are divided. */
static double lean_of_product(struct hc_check *check, const struct weighed *w)
{
    struct hc_call product = {
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_BF16, 1, 3, NULL)),
               [HC_GEMM_B] = hc_tensor2(HC_BF16, 3, ROWS, w->v.data)},
        .out = {[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_BF16, 1, ROWS, NULL))},
        .params.gemm = {.alpha = 1}};
    struct hc_call wide = {.op = HC_OP_cast,
                           .in = {[HC_X] = hc_tensor1(HC_BF16, ROWS, NULL)},
                           .out = {[HC_OUT] = hc_check_vector(check, HC_FP32, ROWS)}};
    struct hc_call over = {
        .op = HC_OP_div,
        .in = {[HC_X] = wide.out[HC_OUT], [HC_Y] = hc_check_vector(check, HC_FP32, ROWS)},
        .out = {[HC_OUT] = hc_check_vector(check, HC_FP32, ROWS)}};
    struct hc_call store = {.op = HC_OP_cast,
                            .in = {[HC_X] = over.out[HC_OUT]},
                            .out = {[HC_OUT] = hc_check_vector(check, HC_BF16, ROWS)}};
    fill(&product.in[HC_GEMM_A], 1);
    hc_tensor_set(&product.in[HC_GEMM_A], 2, w->weight);
    fill(&over.in[HC_Y], 2 + w->weight);
    wide.in[HC_X].data = product.out[HC_GEMM_OUT].data;
    bool ran = hc_do(check, &product) == HC_OK && hc_do(check, &wide) == HC_OK &&
               hc_do(check, &over) == HC_OK && hc_do(check, &store) == HC_OK;
    return ran ? mean_error(w, &store.out[HC_OUT]) : (double)NAN;
}

static double lean_of_attention(struct hc_check *check, const struct weighed *w)
{
    const int64_t all = 0;
    const double scale = 1;
    struct hc_call call = {
        .op = HC_OP_attention,
        .in = {[HC_ATTENTION_Q] = column(check, HC_BF16, 1),
               [HC_ATTENTION_K] = column(check, HC_BF16, 3),
               [HC_ATTENTION_V] = w->v},
        .out = {[HC_ATTENTION_Y] = hc_check_tensor(check, hc_tensor3(HC_BF16, 1, 1, ROWS, NULL)),
                [HC_ATTENTION_LSE] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 1, NULL))}};
    hc_params_usual(call.op, &call.params);
    set_option(&call, 0, &scale);
    set_option(&call, 1, &all);
    fill(&call.in[HC_ATTENTION_Q], 1);
    fill(&call.in[HC_ATTENTION_K], 0);
    hc_tensor_set(&call.in[HC_ATTENTION_K], 2, -8);
    return hc_do(check, &call) == HC_OK ? mean_error(w, &call.out[HC_ATTENTION_Y]) : (double)NAN;
}

/* An error of one rounding is at most half an ulp, of either sign. If it is spread evenly, so many
   have a mean of deviation 1 / sqrt(12 n), which is exceeded four times in 16,000 draws. */
static void leans(struct hc_check *check, struct hc_exhibits *shown)
{
    struct weighed w = values(check);
    hc_exhibits_add(shown, "mean error of o in ulps", HC_FP64, lean_of_product(check, &w),
                    lean_of_attention(check, &w), 0, 4 / sqrt(12.0 * ROWS));
}

/* x = (1, 0) is turned at a position to (cos, sin). Its angle is a product of that format. */
static bool turn_one(struct hc_check *check, enum hc_format format, double frequency,
                     double turned[2])
{
    struct hc_call product = {.op = HC_OP_mul,
                              .in = {[HC_X] = hc_check_vector(check, format, 1),
                                     [HC_Y] = hc_check_vector(check, format, 1)},
                              .out = {[HC_OUT] = hc_check_vector(check, format, 1)}};
    struct hc_call call = {
        .op = HC_OP_rotary_halves,
        .in = {[HC_ROTARY_X] = hc_check_tensor(check, hc_tensor3(HC_FP32, 1, 1, 2, NULL)),
               [HC_ROTARY_CO] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 2, NULL)),
               [HC_ROTARY_SI] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 2, NULL))},
        .out = {[HC_ROTARY_Y] = hc_check_tensor(check, hc_tensor3(HC_FP32, 1, 1, 2, NULL))}};
    fill(&product.in[HC_X], POSITION);
    fill(&product.in[HC_Y], frequency);
    if (hc_do(check, &product) != HC_OK)
        return false;
    double angle = hc_tensor_get(&product.out[HC_OUT], 0);
    fill(&call.in[HC_ROTARY_CO], cos(angle));
    fill(&call.in[HC_ROTARY_SI], sin(angle));
    hc_tensor_set(&call.in[HC_ROTARY_X], 0, 1);
    hc_tensor_set(&call.in[HC_ROTARY_X], 1, 0);
    if (hc_do(check, &call) != HC_OK)
        return false;
    turned[0] = hc_tensor_get(&call.out[HC_ROTARY_Y], 0);
    turned[1] = hc_tensor_get(&call.out[HC_ROTARY_Y], 1);
    return true;
}

/* The frequency is a number of fp32, and its product with 255 is rounded once there: the angle is
   off by half an ulp. Cosine and sine are rounded once, and turning multiplies by 1 and adds a
   product with 0. */
static void turns(struct hc_check *check, struct hc_exhibits *shown)
{
    const double frequency = (double)(float)pow(10000, -1.0 / 16);
    const double angle = POSITION * frequency;
    const double bound = angle * 0x1p-24 + 3 * 0x1p-24;
    double wrong[2];
    double right[2];
    if (!turn_one(check, HC_BF16, frequency, wrong) || !turn_one(check, HC_FP32, frequency, right))
        return;
    hc_exhibits_add(shown, "cosine at position 255", HC_FP32, wrong[0], right[0], cos(angle),
                    bound);
    hc_exhibits_add(shown, "sine", HC_FP32, wrong[1], right[1], sin(angle), bound);
}

/* The weight of the one key that is seen, whose score is -20000, beside one of score 0 that is
   not. */
static double weight_of(struct hc_check *check, double mask)
{
    struct hc_call call = {
        .op = HC_OP_softmax_general,
        .in = {[HC_SOFTMAX_X] = hc_check_tensor(check, hc_tensor3(HC_FP32, 1, 1, 2, NULL)),
               [HC_SOFTMAX_MASK] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 2, NULL))},
        .out = {[HC_SOFTMAX_Y] = hc_check_tensor(check, hc_tensor3(HC_FP32, 1, 1, 2, NULL))}};
    hc_params_usual(call.op, &call.params);
    hc_tensor_set(&call.in[HC_SOFTMAX_X], 0, -20000);
    hc_tensor_set(&call.in[HC_SOFTMAX_X], 1, 0);
    hc_tensor_set(&call.in[HC_SOFTMAX_MASK], 0, 0);
    hc_tensor_set(&call.in[HC_SOFTMAX_MASK], 1, mask);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_SOFTMAX_Y], 0) : (double)NAN;
}

/* exp(0) over itself is 1 to the bit. */
static void hides(struct hc_check *check, struct hc_exhibits *shown)
{
    hc_exhibits_add(shown, "weight of the key that is seen", HC_FP32, weight_of(check, -10000),
                    weight_of(check, -(double)INFINITY), 1, 0);
}

/* 300 / sqrt(mean of 300^2): squares and their mean in fp16, or by the op. */
static double squares_in_half(struct hc_check *check)
{
    struct hc_call square = {.op = HC_OP_mul,
                             .in = {[HC_X] = hc_check_vector(check, HC_FP16, 1),
                                    [HC_Y] = hc_check_vector(check, HC_FP16, 1)},
                             .out = {[HC_OUT] = hc_check_vector(check, HC_FP16, 1)}};
    struct hc_call root = {.op = HC_OP_sqrt,
                           .in = {[HC_X] = square.out[HC_OUT]},
                           .out = {[HC_OUT] = hc_check_vector(check, HC_FP16, 1)}};
    struct hc_call over = {.op = HC_OP_div,
                           .in = {[HC_X] = square.in[HC_X], [HC_Y] = root.out[HC_OUT]},
                           .out = {[HC_OUT] = hc_check_vector(check, HC_FP16, 1)}};
    fill(&square.in[HC_X], 300);
    fill(&square.in[HC_Y], 300);
    bool ran = hc_do(check, &square) == HC_OK && hc_do(check, &root) == HC_OK &&
               hc_do(check, &over) == HC_OK;
    return ran ? hc_tensor_get(&over.out[HC_OUT], 0) : (double)NAN;
}

static double norm_of_half(struct hc_check *check)
{
    struct hc_call call = {
        .op = HC_OP_rms_norm,
        .in = {[HC_RMS_X] = hc_check_tensor(check, hc_tensor2(HC_FP16, 1, WIDTH, NULL)),
               [HC_RMS_W] = hc_check_vector(check, HC_FP16, WIDTH)},
        .out = {[HC_RMS_Y] = hc_check_tensor(check, hc_tensor2(HC_FP16, 1, WIDTH, NULL))}};
    hc_params_usual(call.op, &call.params);
    fill(&call.in[HC_RMS_X], 300);
    fill(&call.in[HC_RMS_W], 1);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_RMS_Y], 0) : (double)NAN;
}

/* An eps of 1e-6 is 1.2e-11 of the mean square. What fp32 does to it in any order, 70 units, is far
   below half an ulp of fp16, which the last rounding costs. */
static void squares(struct hc_check *check, struct hc_exhibits *shown)
{
    hc_exhibits_add(shown, "300 over its rms", HC_FP16, squares_in_half(check), norm_of_half(check),
                    1, 0x1p-11);
}

static struct hc_tensor logits(struct hc_check *check, enum hc_format format, int64_t rows)
{
    return hc_check_tensor(check, hc_tensor2(format, rows, 2, NULL));
}

/* Two classes of logits (8, 1) . (1, 1/32) and (8, 1) . (1, 0), of which the first is right. */
static double loss_of_stored(struct hc_check *check, struct hc_tensor x, struct hc_tensor w,
                             struct hc_tensor target)
{
    struct hc_call head = {.op = HC_OP_gemm,
                           .in = {[HC_GEMM_A] = x, [HC_GEMM_B] = w},
                           .out = {[HC_GEMM_OUT] = logits(check, HC_BF16, 1)},
                           .params.gemm = {.transpose_b = true, .alpha = 1}};
    struct hc_call call = {.op = HC_OP_cross_entropy_general,
                           .in = {[HC_CE_Z] = head.out[HC_GEMM_OUT],
                                  [HC_CE_TARGET] = target,
                                  [HC_CE_W] = hc_check_vector(check, HC_FP32, 2)},
                           .out = {[HC_CE_LOSS] = hc_check_vector(check, HC_FP32, 1),
                                   [HC_CE_ROWS] = hc_check_vector(check, HC_FP32, 1),
                                   [HC_CE_LSE] = hc_check_vector(check, HC_FP32, 1)}};
    call.out[HC_CE_LOSS].rank = 0;
    hc_params_usual(call.op, &call.params);
    fill(&call.in[HC_CE_W], 1);
    return hc_do(check, &head) == HC_OK && hc_do(check, &call) == HC_OK
               ? hc_tensor_get(&call.out[HC_CE_LOSS], 0)
               : (double)NAN;
}

static void stores(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_tensor x = hc_check_tensor(check, hc_tensor2(HC_BF16, 1, 2, NULL));
    struct hc_tensor w = hc_check_tensor(check, hc_tensor2(HC_BF16, 2, 2, NULL));
    struct hc_tensor target = hc_check_vector(check, HC_I32, 1);
    static const double entry[4] = {8, 0x1p-5, 8, 0};
    for (int i = 0; i < 4; i++)
        hc_tensor_set(&w, i, entry[i]);
    fill(&x, 1);
    fill(&target, 0);
    struct hc_call call = {.op = HC_OP_linear_cross_entropy,
                           .in = {[HC_LCE_X] = x, [HC_LCE_W] = w, [HC_LCE_TARGET] = target},
                           .out = {[HC_LCE_LOSS] = hc_check_vector(check, HC_FP32, 1)}};
    call.out[HC_LCE_LOSS].rank = 0;
    hc_params_usual(call.op, &call.params);
    double wrong = loss_of_stored(check, x, w, target);
    if (hc_do(check, &call) != HC_OK)
        return;
    /* Logits are exact in fp32. A logarithm and an exponential within 4 units of numbers up to 2,
       and three sums of numbers up to 9. */
    hc_exhibits_add(shown, "loss of two logits 1/32 apart", HC_FP32, wrong,
                    hc_tensor_get(&call.out[HC_LCE_LOSS], 0), log1p(exp(-0x1p-5)),
                    (2 * 4 * 2 + 3 * 9) * 0x1p-24);
}

/* The loss of so many rows of equal logits, whose target is the class of weight 1 (log 2 each), or
   which are `sure`: 30 apart. */
static double loss_of_rows(struct hc_check *check, int64_t rows, bool sure, const int64_t *by,
                           double total)
{
    struct hc_call call = {.op = HC_OP_cross_entropy_general,
                           .in = {[HC_CE_Z] = logits(check, HC_FP32, rows),
                                  [HC_CE_TARGET] = hc_check_vector(check, HC_I32, rows),
                                  [HC_CE_W] = hc_check_vector(check, HC_FP32, 2)},
                           .out = {[HC_CE_LOSS] = hc_check_vector(check, HC_FP32, 1),
                                   [HC_CE_ROWS] = hc_check_vector(check, HC_FP32, rows),
                                   [HC_CE_LSE] = hc_check_vector(check, HC_FP32, rows)}};
    call.out[HC_CE_LOSS].rank = 0;
    hc_params_usual(call.op, &call.params);
    set_option(&call, HC_CE_REDUCTION, by);
    set_option(&call, HC_CE_TOTAL, &total);
    fill(&call.in[HC_CE_TARGET], 0);
    fill(&call.in[HC_CE_W], 1);
    for (int64_t i = 0; i < 2 * rows; i++)
        hc_tensor_set(&call.in[HC_CE_Z], i, sure && i % 2 == 0 ? 30 : 0);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_CE_LOSS], 0) : (double)NAN;
}

/* One row of log 2 in a batch of its own, and three that are sure: log(1 + exp(-30)) each, which is
   what is left of 30. A logarithm within 4 units, a few sums of numbers up to 30, and a
   quotient. */
static void means(struct hc_check *check, struct hc_exhibits *shown)
{
    const int64_t mean = HC_CE_MEAN;
    const int64_t of_all = HC_CE_OVER_TOTAL;
    double wrong =
        (loss_of_rows(check, 1, false, &mean, 1) + loss_of_rows(check, 3, true, &mean, 1)) / 2;
    double right =
        loss_of_rows(check, 1, false, &of_all, 4) + loss_of_rows(check, 3, true, &of_all, 4);
    double want = (log(2) + 3 * log1p(exp(-30))) / 4;
    hc_exhibits_add(shown, "loss of 1 and 3 tokens", HC_FP32, wrong, right, want,
                    (8 * log(2) + 3 * 4 * 30) / 4 * 0x1p-24);
}

static const struct hc_case cases[] = {
    HC_BUG("field/attention/values-gathered-before-the-sum",
           "The outputs of attention in bf16 are too large on average, and a training fails.",
           "arXiv 2510.04212, 'Why Low-Precision Transformer Training Fails: An Analysis on Flash "
           "Attention', section 3.3, biased rounding error in P V; the numbers are of this row",
           .play = leans, .buggy = {.is = "-0.256"}, .fixed = {.is = "-0.0003"},
           .fault = "attention-gathered-in-bf16",
           .lesson = "Round o once, after the division; or let no two weights of a row be 1."),
    HC_BUG("field/stagnation/attention-dv-by-blocks",
           "The gradient of v stops at 128 where it should be 164.",
           "found by halfcheck in PyTorch 2.15, aten/src/ATen/native/cpu/FlashAttentionKernel.cpp, "
           "which adds blocks of queries up in the gradient's own format; no report is known",
           .play = gathers, .buggy = {.is = "128 exact"}, .fixed = {.is = "164 exact"},
           .fault = "attention-gradient-dv-in-bf16",
           .lesson = "Add blocks of queries up in fp32, and round once."),
    HC_BUG("field/coordinates/rotary-angles-in-bf16",
           "Positions above some hundred are turned by wrong angles.",
           "huggingface/transformers PR 29285 and issue 25681; EleutherAI/gpt-neox issue 1003; "
           "huggingface/candle issue 3520; the numbers are of this row",
           .play = turns, .buggy = {.is = "0.058, -0.998"}, .fixed = {.is = "0.439, -0.898"},
           .fault = "rotary-turned-back",
           .lesson = "Make the angles in fp32, and round their cosines, if anything."),
    HC_BUG("field/masks/finite-mask-above-a-score", "A key that is hidden gets all of the weight.",
           "flashinfer-ai/flashinfer PR 4401, whose mask was -50000; the numbers are of this row",
           .play = hides, .buggy = {.is = "0 exact"}, .fixed = {.is = "1 exact"},
           .fault = "softmax-mask-forgotten",
           .lesson = "Hide with minus infinity: scores may lie below any number."),
    HC_BUG("field/norm-overflow/rms-norm-squares-in-fp16", "A norm of numbers from 256 on is 0.",
           "pytorch/pytorch PR 133085, 'Force upcast in rms_norm'; the numbers are of this row",
           .play = squares, .buggy = {.is = "0 exact"}, .fixed = {.is = "1 exact"},
           .fault = "rms-last-column", .lesson = "Square in fp32, whatever x is."),
    HC_BUG("field/logits/head-stores-bf16", "The loss does not see that one logit is larger.",
           "huggingface/transformers PR 29285, which casts logits to fp32 after the head; the "
           "numbers are of this row",
           .play = stores, .buggy = {.is = "0.6931"}, .fixed = {.is = "0.6776"},
           .fault = "linear-loss-logits-in-bf16",
           .lesson = "A cast after the head is too late: let the head's product give fp32."),
    HC_BUG("field/rank-counts/tokens-of-micro-batches",
           "The loss under gradient accumulation is not that of the whole batch.",
           "huggingface/transformers PR 34191 and issue 35203; pytorch/torchtune issue 1875; the "
           "numbers are of this row",
           .play = means, .buggy = {.is = "0.3466"}, .fixed = {.is = "0.1733"},
           .fault = "cross-entropy-last-class",
           .lesson = "Add up the losses of all tokens, and divide once by their number."),
};

HC_CASES(field_plays_llm, cases);
