#include "check/opcase.h"

static void run(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_add};
    for (int i = 0; i < 2; i++)
        call.in[i] = hc_check_vector(check, HC_FP16, 64);
    call.out[0] = hc_check_vector(check, HC_FP16, 64);
    for (int64_t i = 0; i < 64; i++) {
        hc_tensor_put(&call.in[0], i, (double)i);
        hc_tensor_put(&call.in[1], i, 1.0 / (double)(i + 1));
    }
    hc_claim_call(check, &call);
}

static const struct hc_case cases[] = {
    {.name = "op/add/fp16/64/ramp", .title = "add in fp16", .source = "op/call.h", .run = run},
};

static const struct hc_case_table table = {cases, 1};

const struct hc_case_table *hc_op_cases(void)
{
    return &table;
}
