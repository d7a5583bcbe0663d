/* The loss at extremes: infinities and NaN, many classes, ties. */
#include <math.h>

#include "case.h"

/* The loss and its gradient at extremes, whatever the seed. A NaN logit makes the loss and its
   row's gradient NaN. A gradient that the loss scale lifts beyond half's range is infinite, which
   is what a scaler checks for. */

enum { ROWS = 3, CLASSES = 4 };

static struct hc_call call_of(struct hc_check *check, enum hc_op op, enum hc_format format)
{
    struct hc_call call = {.op = op};
    const struct hc_tensor logits = hc_tensor2(format, ROWS, CLASSES, NULL);
    call.in[HC_XENT_LOGITS] = hc_check_tensor(check, logits);
    call.in[HC_XENT_LABELS] = hc_check_vector(check, HC_I32, ROWS);
    for (int i = 0; i < ROWS; i++)
        hc_tensor_set(&call.in[HC_XENT_LABELS], i, i);
    if (op == HC_OP_xent) {
        call.out[HC_XENT_DLOGITS] = hc_check_vector(check, HC_FP32, 1);
        return call;
    }
    call.in[HC_XENT_UPSTREAM] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_XENT_DLOGITS] = hc_check_tensor(check, logits);
    hc_tensor_set(&call.in[HC_XENT_UPSTREAM], 0, 1);
    return call;
}

static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32};

/* A NaN in each element in turn. */
static void nan_stays(struct hc_check *check)
{
    for (int k = 0; k < 3 * ROWS * CLASSES; k++) {
        int at = k / 3;
        struct hc_call loss = call_of(check, HC_OP_xent, formats[k % 3]);
        struct hc_call gradient = call_of(check, HC_OP_xent_bwd, formats[k % 3]);
        hc_tensor_set(&loss.in[HC_XENT_LOGITS], at, (double)NAN);
        hc_tensor_set(&gradient.in[HC_XENT_LOGITS], at, (double)NAN);
        if (hc_do(check, &loss) != HC_OK || hc_do(check, &gradient) != HC_OK)
            return;
        hc_claim_value(check, "loss", (double)NAN, hc_tensor_get(&loss.out[HC_XENT_LOSS], 0));
        for (int i = 0; i < ROWS * CLASSES; i++)
            hc_claim_true(check, "a gradient is NaN in the row of the NaN alone",
                          isnan(hc_tensor_get(&gradient.out[HC_XENT_DLOGITS], i)) ==
                              (i / CLASSES == at / CLASSES));
    }
}

/* Equal logits: the gradient is 1/4 s, and -3/4 s at the label. At s = 2^19 the smaller one is
   2^17, twice the largest half; at s = 2^16 the larger one is 49,152, which half holds.
   Exponentials may be off by 2 ulp, so finite results are held to 1 %. */
static void beyond_half(struct hc_check *check)
{
    static const double scale[] = {0x1p16, 0x1p19};
    for (int k = 0; k < 2; k++) {
        struct hc_call call = call_of(check, HC_OP_xent_bwd, HC_FP16);
        call.params.xent.sum = true;
        hc_tensor_set(&call.in[HC_XENT_UPSTREAM], 0, scale[k]);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < ROWS * CLASSES; i++) {
            double want = i % CLASSES == i / CLASSES ? -0.75 * scale[k] : 0.25 * scale[k];
            double got = hc_tensor_get(&call.out[HC_XENT_DLOGITS], i);
            if (k == 0)
                hc_claim_within(check, "a gradient within half", want, got, fabs(want) / 100);
            else
                hc_claim_value(check, "a gradient beyond half", copysign((double)INFINITY, want),
                               got);
        }
    }
}

/* Labels and masks of a language model's loss, with results that are exact in every format.

   A label is a whole number, and half has those up to 2048 alone. A masked logit is -infinity,
   which no finite number replaces: -1e4 wins against a logit of -12288. In each row one logit lies
   so far above all others that their exponentials are 0 in fp32: the softmax is 1 there and 0
   elsewhere. So the loss is 0 where this is the label's, and its gradient is 0 everywhere; for any
   other label the loss would be the distance, and gradients 1 and -1. */

enum { MANY = 4099, LABELS = 5 };

static const enum hc_format widest_first[] = {HC_FP32, HC_FP16, HC_BF16};

/* Claims that the loss over the rows is 0, that all rows are right, and that no gradient is else
   than 0. The caller has set the logits. */
static void claim_nothing_to_learn(struct hc_check *check, const struct hc_tensor *logits,
                                   const struct hc_tensor *labels)
{
    double rows = (double)logits->shape[0];
    struct hc_call loss = {.op = HC_OP_xent};
    struct hc_call gradient = {.op = HC_OP_xent_bwd};
    loss.in[HC_XENT_LOGITS] = gradient.in[HC_XENT_LOGITS] = *logits;
    loss.in[HC_XENT_LABELS] = gradient.in[HC_XENT_LABELS] = *labels;
    loss.out[HC_XENT_LOSS] = hc_check_vector(check, HC_FP32, 1);
    loss.out[HC_XENT_CORRECT] = hc_check_vector(check, HC_FP32, 1);
    gradient.in[HC_XENT_UPSTREAM] = hc_check_vector(check, HC_FP32, 1);
    hc_tensor_set(&gradient.in[HC_XENT_UPSTREAM], 0, rows);
    gradient.out[HC_XENT_DLOGITS] = hc_check_tensor(check, *logits);
    if (hc_do(check, &loss) != HC_OK || hc_do(check, &gradient) != HC_OK)
        return;
    hc_claim_value(check, "loss", 0, hc_tensor_get(&loss.out[HC_XENT_LOSS], 0));
    hc_claim_value(check, "rows that are right", rows,
                   hc_tensor_get(&loss.out[HC_XENT_CORRECT], 0));
    struct hc_comparisons c = {.what = "gradients", .checked = hc_tensor_count(logits)};
    for (int64_t i = 0; i < c.checked; i++) {
        double got = hc_tensor_get(&gradient.out[HC_XENT_DLOGITS], i);
        if (got != 0)
            hc_comparisons_wrong(&c, "row %d, class %d: want 0, got %g",
                                 (int)(i / logits->shape[1]), (int)(i % logits->shape[1]), got);
    }
    hc_claim_comparisons(check, &c);
}

/* Classes that have no half or no bf16 number. */
static void large_vocabulary(struct hc_check *check)
{
    static const int32_t label[LABELS] = {257, 999, 2049, 2101, 4097};
    for (int k = 0; k < 3; k++) {
        struct hc_tensor logits =
            hc_check_tensor(check, hc_tensor2(widest_first[k], LABELS, MANY, NULL));
        struct hc_tensor labels = hc_check_vector(check, HC_I32, LABELS);
        for (int64_t i = 0; i < hc_tensor_count(&logits); i++)
            hc_tensor_set(&logits, i, i % MANY == label[i / MANY] ? 0 : -200);
        for (int i = 0; i < LABELS; i++)
            hc_tensor_set(&labels, i, label[i]);
        claim_nothing_to_learn(check, &logits, &labels);
    }
}

/* Four positions of which one is not masked, each in turn, and its score lies below what some
   programs mask with. */
static void masked(struct hc_check *check)
{
    static const double score[] = {0, -200, -12288};
    for (int k = 0; k < 9; k++) {
        struct hc_tensor logits =
            hc_check_tensor(check, hc_tensor2(widest_first[k % 3], 4, 4, NULL));
        struct hc_tensor labels = hc_check_vector(check, HC_I32, 4);
        for (int i = 0; i < 16; i++)
            hc_tensor_set(&logits, i, i / 4 == i % 4 ? score[k / 3] : -(double)INFINITY);
        for (int i = 0; i < 4; i++)
            hc_tensor_set(&labels, i, i);
        claim_nothing_to_learn(check, &logits, &labels);
    }
}

/* Which rows count as correct when there are ties, infinities and NaN among the logits. */

enum { FEW_CLASSES = 3, VALUES = 5, ROWS_RIGHT = VALUES * VALUES * VALUES };

/* The index of the first of the largest logits, NaN not counted; -1 if all are NaN. */
static int best(const double *z)
{
    int at = -1;
    for (int j = FEW_CLASSES - 1; j >= 0; j--)
        if (!isnan(z[j]) && (at < 0 || z[j] >= z[at]))
            at = j;
    return at;
}

/* Every combination of three of these logits with every label, each row alone, and all rows in one
   call. */
static void every_row(struct hc_check *check)
{
    const double values[VALUES] = {0, 1, (double)INFINITY, -(double)INFINITY, (double)NAN};
    struct hc_call all = {.op = HC_OP_xent};
    all.in[HC_XENT_LOGITS] =
        hc_check_tensor(check, hc_tensor2(HC_FP16, ROWS_RIGHT, FEW_CLASSES, NULL));
    all.in[HC_XENT_LABELS] = hc_check_vector(check, HC_I32, ROWS_RIGHT);
    all.out[HC_XENT_LOSS] = hc_check_vector(check, HC_FP32, 1);
    all.out[HC_XENT_CORRECT] = hc_check_vector(check, HC_FP32, 1);
    for (int label = 0; label < FEW_CLASSES; label++) {
        struct hc_comparisons c = {.what = "rows", .checked = ROWS_RIGHT};
        int want = 0;
        for (int row = 0; row < ROWS_RIGHT; row++) {
            const double z[FEW_CLASSES] = {values[row % VALUES], values[row / VALUES % VALUES],
                                           values[row / VALUES / VALUES]};
            struct hc_call one = all;
            for (int j = 0; j < FEW_CLASSES; j++)
                hc_tensor_set(&all.in[HC_XENT_LOGITS], (int64_t)row * FEW_CLASSES + j, z[j]);
            hc_tensor_set(&all.in[HC_XENT_LABELS], row, label);
            one.in[HC_XENT_LOGITS] =
                hc_tensor2(HC_FP16, 1, FEW_CLASSES,
                           (uint16_t *)all.in[HC_XENT_LOGITS].data + row * FEW_CLASSES);
            one.in[HC_XENT_LABELS] =
                hc_tensor1(HC_I32, 1, (int32_t *)all.in[HC_XENT_LABELS].data + row);
            if (hc_do(check, &one) != HC_OK)
                return;
            int right = best(z) == label;
            double got = hc_tensor_get(&one.out[HC_XENT_CORRECT], 0);
            want += right;
            if (got != right)
                hc_comparisons_wrong(&c, "[%g, %g, %g], label %d: want %d, got %g", z[0], z[1],
                                     z[2], label, right, got);
        }
        hc_claim_comparisons(check, &c);
        if (hc_do(check, &all) != HC_OK)
            return;
        hc_claim_value(check, "of all rows", want, hc_tensor_get(&all.out[HC_XENT_CORRECT], 0));
        hc_say(check, "label %d: %d of %d rows are correct", label, want, ROWS_RIGHT);
    }
}

/* Logits that are neighbours in their format, near 1 and near 1024, in both orders. */
static void neighbours(struct hc_check *check)
{
    for (int k = 0; k < 12; k++) {
        enum hc_format format = widest_first[k % 3];
        double low = k / 6 ? 1024 : 1;
        int larger = k / 3 % 2;
        struct hc_call call = {.op = HC_OP_xent};
        call.in[HC_XENT_LOGITS] = hc_check_tensor(check, hc_tensor2(format, 2, 2, NULL));
        call.in[HC_XENT_LABELS] = hc_check_vector(check, HC_I32, 2);
        call.out[HC_XENT_LOSS] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_XENT_CORRECT] = hc_check_vector(check, HC_FP32, 1);
        for (int i = 0; i < 4; i++)
            hc_tensor_set_bits(&call.in[HC_XENT_LOGITS], i,
                               hc_encode(format, low, 0, HC_NEAREST) + (i % 2 == larger));
        for (int i = 0; i < 2; i++)
            hc_tensor_set(&call.in[HC_XENT_LABELS], i, larger);
        if (hc_do(check, &call) != HC_OK)
            return;
        hc_claim_value(check, "rows that are right", 2,
                       hc_tensor_get(&call.out[HC_XENT_CORRECT], 0));
    }
}

static const struct hc_case cases[] = {
    {"loss/nan-stays",
     "a logit that is NaN makes the loss NaN, and of the gradients those of its row",
     "contract in src/op/loss.h", .level = HC_QUICK, .run = nan_stays},
    {"loss/gradient-beyond-half",
     "a gradient that the loss scale lifts beyond half's range is infinite",
     "pytorch torch/amp/grad_scaler.py: the scale backs off when it finds an infinity",
     .level = HC_QUICK, .run = beyond_half},
    {"loss/labels-of-a-large-vocabulary",
     "labels beyond 256 and 2048 name their classes, whatever the logits' format is",
     "deepspeedai/DeepSpeed issue 5701, '[BUG] Mixed-precision: fp16 will cast input_ids into "
     "torch.cuda.HalfTensor instead of Long or Int.', "
     "https://github.com/deepspeedai/DeepSpeed/issues/5701",
     .level = HC_STANDARD, .run = large_vocabulary},
    {"loss/masked-logits-get-nothing",
     "a logit of -infinity has no part in loss and gradient, however small the others are",
     "flashinfer-ai/flashinfer PR 4401, 'fix(attention): handle extreme negative logits in masked "
     "softmax', https://github.com/flashinfer-ai/flashinfer/pull/4401",
     .level = HC_STANDARD, .run = masked},
    {"loss/right-is-the-first-of-the-largest",
     "a row counts as correct if its label is the first of its largest logits; a NaN is never the "
     "largest",
     "contract of xent in src/op/loss.h", .level = HC_QUICK, .run = every_row},
    {"loss/right-tells-neighbours-apart",
     "of two logits that are neighbours in their format the larger one is the prediction",
     "contract of xent in src/op/loss.h; vllm-project/vllm-xpu-kernels PR 473, where scores tie "
     "after a cast to bf16",
     .level = HC_STANDARD, .run = neighbours},
};

HC_CASES(loss_ends, cases);
