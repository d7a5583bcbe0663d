/* Dropout by a byte an element: what a statistic sees and no element does. */
#include "case.h"
#include "op/later.h"
#include "op/params.h"

/* Each of the 256 bytes 4096 times. floor(255 0.9) = 229 and what lies below are kept: 230 of 256,
   which is 0.8984, while the rest is divided by 0.9. */
static void bytes(struct hc_check *check)
{
    enum { TIMES = 4096, BYTES = 256, KEPT = 230 };
    struct hc_call call = {.op = HC_OP_dropout_bits};
    int64_t kept = 0;
    call.in[HC_DROPOUT_X] = hc_check_vector(check, HC_FP32, TIMES * BYTES);
    call.in[HC_DROPOUT_BITS] = hc_check_vector(check, HC_I32, TIMES * BYTES);
    call.out[HC_DROPOUT_Y] = hc_check_vector(check, HC_FP32, TIMES * BYTES);
    hc_params_usual(call.op, &call.params);
    for (int64_t i = 0; i < TIMES * BYTES; i++) {
        hc_tensor_set(&call.in[HC_DROPOUT_X], i, 9); /* 9 / 0.9 is 10 */
        hc_tensor_set(&call.in[HC_DROPOUT_BITS], i, (double)(i * 37 % BYTES));
    }
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int64_t i = 0; i < TIMES * BYTES; i++)
        kept += hc_tensor_get(&call.out[HC_DROPOUT_Y], i) != 0;
    (void)hc_claim_value(check, "kept", TIMES * KEPT, (double)kept);
    (void)hc_claim_within(check, "y", 10, hc_tensor_get(&call.out[HC_DROPOUT_Y], 0), 0x1p-19);
}

static const struct hc_case cases[] = {
    {"transformer/dropout-of-bytes",
     "of 2^20 bytes those below 230 are kept, 0.8984 of them, and 9 becomes 10",
     "flash-attention, csrc/flash_attn/src/dropout.h and flash_api.cpp", .level = HC_STANDARD,
     .run = bytes},
};

HC_CASES(transformer_dropout, cases);
