/* Which rows count as correct when there are ties, infinities and NaN among the logits. */
#include "case.h"

#include <math.h>

enum { CLASSES = 3, VALUES = 5, ROWS = VALUES * VALUES * VALUES };

/* The index of the first of the largest logits, NaN not counted; -1 if all are NaN. */
static int best(const double *z)
{
    int at = -1;
    for (int j = CLASSES - 1; j >= 0; j--)
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
    all.in[HC_XENT_LOGITS] = hc_check_tensor(check, hc_tensor2(HC_FP16, ROWS, CLASSES, NULL));
    all.in[HC_XENT_LABELS] = hc_check_vector(check, HC_I32, ROWS);
    all.out[HC_XENT_LOSS] = hc_check_vector(check, HC_FP32, 1);
    all.out[HC_XENT_CORRECT] = hc_check_vector(check, HC_FP32, 1);
    for (int label = 0; label < CLASSES; label++) {
        struct hc_comparisons c = {.what = "rows", .checked = ROWS};
        int want = 0;
        for (int row = 0; row < ROWS; row++) {
            const double z[CLASSES] = {values[row % VALUES], values[row / VALUES % VALUES],
                                       values[row / VALUES / VALUES]};
            struct hc_call one = all;
            for (int j = 0; j < CLASSES; j++)
                hc_tensor_set(&all.in[HC_XENT_LOGITS], (int64_t)row * CLASSES + j, z[j]);
            hc_tensor_set(&all.in[HC_XENT_LABELS], row, label);
            one.in[HC_XENT_LOGITS] = hc_tensor2(
                HC_FP16, 1, CLASSES, (uint16_t *)all.in[HC_XENT_LOGITS].data + row * CLASSES);
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
        hc_say(check, "label %d: %d of %d rows are correct", label, want, ROWS);
    }
}

/* Logits that are neighbours in their format, near 1 and near 1024, in both orders. */
static void neighbours(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    for (int k = 0; k < 12; k++) {
        enum hc_format format = formats[k % 3];
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
    {.name = "loss/right-is-the-first-of-the-largest",
     .title = "a row counts as correct if its label is the first of its largest logits; a NaN is "
              "never the largest",
     .source = "contract of xent in src/op/loss.h",
     .level = HC_QUICK,
     .run = every_row},
    {.name = "loss/right-tells-neighbours-apart",
     .title = "of two logits that are neighbours in their format the larger one is the prediction",
     .source = "contract of xent in src/op/loss.h; vllm-project/vllm-xpu-kernels PR 473, where "
               "scores tie after a cast to bf16",
     .level = HC_STANDARD,
     .run = neighbours},
};

HC_CASES(loss_right, cases);
