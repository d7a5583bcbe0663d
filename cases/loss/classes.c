/* Labels and masks of a language model's loss, with results that are exact in every format.

   A label is a whole number, and half has those up to 2048 alone. A masked logit is -infinity,
   which no finite number replaces: -1e4 wins against a logit of -12288. In each row one logit lies
   so far above all others that their exponentials are 0 in fp32: the softmax is 1 there and 0
   elsewhere. So the loss is 0 where this is the label's, and its gradient is 0 everywhere; for any
   other label the loss would be the distance, and gradients 1 and -1. */
#include <math.h>

#include "case.h"

enum { CLASSES = 4099, LABELS = 5 };

static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};

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
            hc_check_tensor(check, hc_tensor2(formats[k], LABELS, CLASSES, NULL));
        struct hc_tensor labels = hc_check_vector(check, HC_I32, LABELS);
        for (int64_t i = 0; i < hc_tensor_count(&logits); i++)
            hc_tensor_set(&logits, i, i % CLASSES == label[i / CLASSES] ? 0 : -200);
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
        struct hc_tensor logits = hc_check_tensor(check, hc_tensor2(formats[k % 3], 4, 4, NULL));
        struct hc_tensor labels = hc_check_vector(check, HC_I32, 4);
        for (int i = 0; i < 16; i++)
            hc_tensor_set(&logits, i, i / 4 == i % 4 ? score[k / 3] : -(double)INFINITY);
        for (int i = 0; i < 4; i++)
            hc_tensor_set(&labels, i, i);
        claim_nothing_to_learn(check, &logits, &labels);
    }
}

static const struct hc_case cases[] = {
    {.name = "loss/labels-of-a-large-vocabulary",
     .title = "labels beyond 256 and 2048 name their classes, whatever the logits' format is",
     .source = "deepspeedai/DeepSpeed issue 5701, '[BUG] Mixed-precision: fp16 will cast input_ids "
               "into torch.cuda.HalfTensor instead of Long or Int.', "
               "https://github.com/deepspeedai/DeepSpeed/issues/5701",
     .level = HC_STANDARD,
     .run = large_vocabulary},
    {.name = "loss/masked-logits-get-nothing",
     .title = "a logit of -infinity has no part in loss and gradient, however small the others are",
     .source = "flashinfer-ai/flashinfer PR 4401, 'fix(attention): handle extreme negative logits "
               "in masked softmax', https://github.com/flashinfer-ai/flashinfer/pull/4401",
     .level = HC_STANDARD,
     .run = masked},
};

HC_CASES(loss_classes, cases);
