/* The loss and its gradient at extremes, whatever the seed. A NaN logit makes the loss and its
   row's gradient NaN. A gradient that the loss scale lifts beyond half's range is infinite, which
   is what a scaler checks for. */
#include <math.h>

#include "case.h"

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

static const struct hc_case cases[] = {
    {.name = "loss/nan-stays",
     .title = "a logit that is NaN makes the loss NaN, and of the gradients those of its row",
     .source = "contract in src/op/loss.h",
     .level = HC_QUICK,
     .run = nan_stays},
    {.name = "loss/gradient-beyond-half",
     .title = "a gradient that the loss scale lifts beyond half's range is infinite",
     .source = "pytorch torch/amp/grad_scaler.py: the scale backs off when it finds an infinity",
     .level = HC_QUICK,
     .run = beyond_half},
};

HC_CASES(loss_ends, cases);
