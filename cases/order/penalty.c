/* A gradient penalty under a loss scale. What is not linear in the gradient needs it unscaled. */
#include "cases/fixture/scaling.h"

#include <math.h>

/* (||g|| - 1)^2, each operation in the format. */
static enum hc_status penalty(struct hc_check *check, const struct hc_tensor *g, double *got)
{
    enum hc_format format = g->format;
    struct hc_tensor t = hc_check_vector(check, format, 1);
    struct hc_tensor one = hc_check_vector(check, format, 1);
    struct hc_call dot = {.op = HC_OP_dot,
                          .in = {[HC_REDUCE_X] = *g, [HC_DOT_Y] = *g},
                          .out = {[HC_REDUCE_OUT] = t},
                          .params.reduce = {HC_FP32}};
    struct hc_call root = {.op = HC_OP_sqrt, .in = {[HC_X] = t}, .out = {[HC_OUT] = t}};
    struct hc_call less = {
        .op = HC_OP_sub, .in = {[HC_X] = t, [HC_Y] = one}, .out = {[HC_OUT] = t}};
    struct hc_call square = {
        .op = HC_OP_mul, .in = {[HC_X] = t, [HC_Y] = t}, .out = {[HC_OUT] = t}};
    hc_tensor_set(&one, 0, 1);
    enum hc_status status = hc_do(check, &dot);
    if (status == HC_OK)
        status = hc_do(check, &root);
    if (status == HC_OK)
        status = hc_do(check, &less);
    if (status == HC_OK)
        status = hc_do(check, &square);
    *got = hc_tensor_get(&t, 0);
    return status;
}

/* Four gradients of 1/2 have norm 1 and no penalty; at S = 65536 the penalty is 65535^2, infinite
   in half. */
static void scaled(struct hc_check *check)
{
    static const double scales[] = {1, 2, 256, 65536};
    for (int i = 0; i < 4; i++) {
        struct hc_tensor g = hc_check_vector(check, HC_FP32, 4);
        struct hc_tensor s = hc_check_vector(check, HC_FP32, 4);
        struct hc_tensor u = hc_check_vector(check, HC_FP32, 4);
        struct hc_tensor half = hc_check_vector(check, HC_FP16, 4);
        double wrong;
        double narrow;
        double right;
        bool found;
        for (int e = 0; e < 4; e++) {
            hc_tensor_set(&g, e, 0.5);
            hc_tensor_set(&half, e, scales[i] * 0.5);
        }
        if (hc_scale_into(check, &g, scales[i], &s) != HC_OK ||
            hc_unscale_into(check, &s, scales[i], true, &u, &found) != HC_OK ||
            penalty(check, &s, &wrong) != HC_OK || penalty(check, &half, &narrow) != HC_OK ||
            penalty(check, &u, &right) != HC_OK)
            return;
        double want = (scales[i] - 1) * (scales[i] - 1);
        hc_say(check, "S = %-6g penalty on S g: %-12.6g in half %-10.6g unscaled first: %g",
               scales[i], wrong, narrow, right);
        hc_claim_within(check, "buggy arm: (S - 1)^2", want, wrong, 0x1p-22 * want);
        hc_claim_true(check, "buggy arm in half: infinite where S is not small",
                      isinf(narrow) == (scales[i] >= 256));
        hc_claim_value(check, "fixed arm: 0", 0, right);
    }
}

static const struct hc_case cases[] = {
    {.name = "order/gradient-penalty",
     .title = "a penalty (|g| - 1)^2 on scaled gradients is (S - 1)^2 where it should be 0, and "
              "infinite in half; on unscaled gradients it is 0",
     .source = "https://github.com/NVIDIA/apex/issues/654; pytorch docs, Automatic Mixed Precision "
               "examples, 'Gradient penalty'",
     .run = scaled},
};

HC_CASES(order_penalty, cases);
